# SPDX-License-Identifier: Apache-2.0
"""Find the nights at which a benchmark's time changed.

A series is a slow curve, steps and noise. The curve is constant, a line (drift), a spline or a wave
(season). Steps are added where they explain most (binary segmentation: Vostrikova 1981). A
penalized likelihood (Schwarz 1978, and for steps Zhang and Siegmund 2007) chooses the curve
together with the steps. Then each step is tested inside that model, between its neighbours.

Nights far from those around them are moved closer first (Winsorizing: Tukey 1962), so an outlier
neither hides nor makes a step. The t test allows for correlated neighbouring nights. Nights need
not be normal and may have two states, so a count must agree with it (Fisher's exact test, 1922):
how many nights are beyond half of the change.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Sequence
from copy import copy
from dataclasses import dataclass, replace
from functools import cache
from typing import NamedTuple

import numpy as np
from scipy import special
from scipy.interpolate import BSpline
from scipy.stats import hypergeom

from warpgauge.statistics.log_ratios import Array, Index

# How many change points, and how many alarms, a series of unchanged nights may show in 365 nights.
FALSE_A_YEAR = 0.0005
_LEVEL = FALSE_A_YEAR / 365.0  # a night
# In fewer nights even a step of 10 % is missed too often (simulated: docs/pages/rule.md).
FEWEST_NIGHTS = 10
SHORTEST = 5  # nights on each side of a change point

# Independent tests a night, at most: where a step's neighbours are is chosen by the data, too. Few
# nights are in fewer orders, and a level has about six lengths that differ much: 5, 10, 20 …
_TESTS, _ORDERS = 20, 6
_SURE = 0.99  # confidence that the first night of the new level is between `first` and `last`
_WINDOW = 100  # nights on either side whose scatter a step is judged by
_SMALLEST_ERROR = 1e-6  # the resolution of a time in the history
_ROUNDING = 1e-6  # of a residual, in standard errors

# A night is compared with the median of seven, and is at most three scatters away from it.
_NEAR, _FAR = 3, 3.0
_SIX_SEVENTHS = 1.465  # of normal values are within so many standard deviations
_SD_OF_MEDIAN = 1.4826  # standard deviation by the median absolute deviation, for normal values

_KNOTS = (80, 40, 30, 20, 15, 10)  # nights from knot to knot of a spline
_FEWEST_FOR_LINE, _FEWEST_FOR_SEASON = 20, 60
_FASTEST_WAVE = 20  # nights in its period
_PENALTY = 3.0  # of a step, in units of a coefficient of the curve
_PATIENCE = 3  # steps that may follow the best number of steps: some only pay together


@dataclass(frozen=True)
class ChangePoint:
    """A change: `index` is the likeliest first night of the new level, `change` the log ratio.

    `low` and `high` bound the change, `first` and `last` the index, each with 99 % confidence. If
    not `placed`, it is an alarm: too few nights show whether the change lasts.
    """

    index: int
    change: float
    low: float
    high: float
    first: int
    last: int
    placed: bool = True


def find_all(values: Array, errors: Array) -> list[list[ChangePoint]]:
    """Return each series' change points, and alarms for late steps that are not placed.

    A row of `values` holds the log times of a series' nights (NaN: none), a row of `errors` their
    standard errors (NaN: unknown). If unchanged nights are independent, or each depends only on the
    night before, 365 of them show at most `FALSE_A_YEAR` change points on average, and as many
    alarms, whether they drift or not.
    """
    rows = zip(values, errors, strict=True)
    return [_Series.of(*row).found() if _has_enough(row[0]) else [] for row in rows]


def slow_curves(values: Array, errors: Array) -> Array:
    """Return drifts and seasons around the medians of values without changes (NaN: no time)."""
    curves = np.full_like(values, np.nan)
    for curve, *row in zip(curves, values, errors, strict=True):
        if _has_enough(row[0]):
            series = _Series.of(*row)
            curve[series.at] = series.slow_curve()
    return curves


def _has_enough(values: Array) -> bool:
    return bool(np.count_nonzero(np.isfinite(values)) > SHORTEST)


class _Model:
    """A curve and steps, fitted by weighted least squares to the values of all nights."""

    def __init__(
        self, values: Array, weights: Array, curve: Array, splits: Collection[int]
    ) -> None:
        self.curve, self.splits = curve, sorted(splits)
        self.root = np.sqrt(weights)
        night = np.arange(len(values))[:, None]
        columns = np.concatenate([curve, night >= np.array(self.splits, dtype=int)], axis=1)
        self.basis = np.linalg.qr(columns * self.root[:, None])[0]
        self.residuals = self.root * values
        for _ in range(2):  # the second time removes rounding errors
            self.residuals = self.residuals - self.basis @ (self.basis.T @ self.residuals)
        fitted = _from_each(self.root[:, None] * self.basis)
        self.weight = _from_each(self.root**2) - np.sum(fitted**2, axis=1)

    def add(self, split: int) -> None:
        """Add a step."""
        step = self.root * (np.arange(len(self.root)) >= split)
        step -= self.basis @ (self.basis.T @ step)
        step /= np.linalg.norm(step)
        self.basis = np.column_stack([self.basis, step])
        self.residuals = self.residuals - float(step @ self.residuals) * step
        self.weight = self.weight - _from_each(self.root * step) ** 2
        self.splits = [*self.splits, split]

    @property
    def squares(self) -> float:
        return float(self.residuals @ self.residuals)

    @property
    def freedom(self) -> int:
        return max(len(self.root) - int(self.basis.shape[1]), 1)

    @property
    def wider(self) -> float:
        """The factor by which the variance of means grows as neighbouring residuals correlate.

        It is (1 + r) / (1 - r) for the correlation r (Bartlett 1946), which each fitted coefficient
        lowers by 1 / nights.
        """
        count, squares = len(self.residuals), self.squares
        # Equal nights leave only rounding errors, which are all alike.
        if squares <= count * _ROUNDING**2:
            return 1.0
        products = self.residuals[1:] * self.residuals[:-1]
        within = float(np.sum(products) - np.sum(products[np.array(self.splits, dtype=int) - 1]))
        seen = within / squares + self.basis.shape[1] / count
        r = min(max(float(seen), 0.0), 0.95)  # with 1, nothing could be found
        return (1.0 + r) / (1.0 - r)

    def further_steps(self) -> tuple[Array, Array]:
        """Return the change of a further step at each night, and its weight (1 / variance)."""
        weight = np.maximum(self.weight, 1e-9 * _from_each(self.root**2))
        return _from_each(self.root * self.residuals) / weight, weight

    def furthest(self) -> int | None:
        """Return the night at which a further step explains most, apart from the splits."""
        change, weight = self.further_steps()
        gains = change**2 * weight
        # A step with too few nights at an end is no change point, but would disturb the others.
        gains[0] = 0.0
        for split in self.splits:
            gains[max(split - SHORTEST + 1, 0) : split + SHORTEST] = 0.0
        return int(np.argmax(gains)) if gains.any() else None


def _from_each(values: Array) -> Array:
    """Return the sum from each night to the last one."""
    return np.cumsum(values[::-1], axis=0)[::-1]


class _Test(NamedTuple):
    """A step's p by the t test, and the chance that noise looks like either side.

    It is `by_order` if all orders of the nights are equally likely, and `by_share` if a night is as
    far away as often as the other nights are.
    """

    change: float
    error: float
    freedom: float
    p: float
    by_order: float
    by_share: float


@dataclass(frozen=True)
class _Series:
    """The nights that have a time, with their indices `at`.

    `values` are the `measured` ones without outliers. `least` is the variance that the standard
    errors explain, as a share of that of `weights`.
    """

    values: Array
    measured: Array
    weights: Array
    least: float
    at: Index

    @staticmethod
    def of(values: Array, errors: Array) -> _Series:
        at = np.flatnonzero(np.isfinite(values))
        measured = values[at] - np.median(values[at])  # keeps the digits of squares
        weights, least = _weights(measured, errors[at])
        return _Series(_without_outliers(measured), measured, weights, least, at)

    def found(self) -> list[ChangePoint]:
        curve, splits = self._chosen()
        for _ in range(2):
            for number in range(len(splits)):
                others = {*splits} - {splits[number]}
                splits[number] = self._likelihood(curve, others, splits[number])[0]
        # Steps that are not sure must not cut the levels of others into pieces too short to count.
        sure = [split for split in splits if self._test(curve, splits, split).p <= _LEVEL / _TESTS]
        points = []
        for split in sure:
            start, end = self._neighbours(sure, split)
            is_long = min(split - start, end - split) >= SHORTEST
            if is_long and self._test(curve, sure, split).by_order <= _LEVEL / _ORDERS:
                points.append(self._point(curve, splits, split))
        points += self._alarms(curve, splits, [point.index for point in points])
        return [self._numbered(point) for point in sorted(points, key=lambda one: one.index)]

    def slow_curve(self) -> Array:
        models = [self._model(curve) for curve in _curves(len(self.values))]
        if len(self.values) >= _FEWEST_FOR_SEASON:
            models.append(self._model(_wave(models[1])))
        best = self._best(models)
        return np.asarray(self.values - best.residuals / best.root)

    def _model(self, curve: Array, splits: Collection[int] = ()) -> _Model:
        return _Model(self.values, self.weights, curve, splits)

    def _chosen(self) -> tuple[Array, list[int]]:
        """Return the curve and the steps that explain the nights best."""
        count = len(self.values)
        models = [model for curve in _curves(count) for model in self._path(curve)]
        if count >= _FEWEST_FOR_SEASON:
            line = _curves(count)[1]
            models += self._path(_wave(self._model(line, self._best(models).splits)))
        best = self._best(models)
        return best.curve, sorted(best.splits)

    def _path(self, curve: Array) -> list[_Model]:
        """Return the curve alone, and with steps that are added until more have not paid."""
        model = self._model(curve)
        models, best = [model], 0
        while len(models) <= best + _PATIENCE and model.freedom > 2:
            split = model.furthest()
            if split is None:
                break
            model = copy(model)
            model.add(split)
            models.append(model)
            if self._criterion(model, 1.0) < self._criterion(models[best], 1.0):
                best = len(models) - 1
        return models

    def _criterion(self, model: _Model, wider: float) -> float:
        """The penalized likelihood. Correlated nights are as good as fewer independent ones."""
        count = len(self.values)
        coefficients = int(model.curve.shape[1]) + _PENALTY * len(model.splits)
        smallest = _SMALLEST_ERROR**2 * float(np.mean(self.weights))
        variance = max(model.squares / count, smallest)
        return count / wider * math.log(variance) + coefficients * math.log(count)

    def _best(self, models: Sequence[_Model]) -> _Model:
        best = min(models, key=lambda model: self._criterion(model, 1.0))
        # How nights correlate shows once the steps are out.
        return min(models, key=lambda model: self._criterion(model, best.wider))

    def _neighbours(self, splits: Collection[int], split: int) -> tuple[int, int]:
        """The first night of the level before the split, and the end of the level after it."""
        ends = [0, *splits, len(self.values)]
        return max(end for end in ends if end < split), min(end for end in ends if end > split)

    def _test(self, curve: Array, splits: Collection[int], split: int) -> _Test:
        """Test a split of a model against the model without it."""
        change, weight = (
            float(one[split]) for one in self._model(curve, {*splits} - {split}).further_steps()
        )
        model = self._model(curve, splits)
        start, end = self._neighbours(splits, split)
        # The scatter is that of both sides, or of the side that scatters more (Welch 1947).
        variance = max(self.least, model.squares / model.freedom)
        for first, last in (max(start, split - _WINDOW), split), (split, min(end, split + _WINDOW)):
            nights = (last - first) * model.freedom / len(self.values)
            squares = float(np.sum(model.residuals[first:last] ** 2))
            variance = max(variance, squares / max(nights, 1.0))
        error = math.sqrt(variance * model.wider / weight)
        freedom = max(model.freedom / model.wider, 1.0)
        p = 2.0 * float(special.stdtr(freedom, -abs(change) / error))
        noise = model.residuals / model.root + self.measured - self.values
        by_order = by_share = 0.0
        for first, last, moved in (split, end, change), (start, split, -change):
            beyond = noise * moved > moved**2 / 2.0
            beyond[first:last] = noise[first:last] * moved > -(moved**2) / 2.0
            seen, every = np.count_nonzero(beyond[first:last]), np.count_nonzero(beyond)
            few, count = last - first, len(beyond)
            by_order = max(by_order, hypergeom.sf(seen - 1, count, every, few))
            by_share = max(by_share, special.bdtrc(seen - 1, few, (every - seen) / (count - few)))
        return _Test(change, error, freedom, p, by_order, by_share)

    def _point(
        self, curve: Array, splits: Collection[int], split: int, *, placed: bool = True
    ) -> ChangePoint:
        test = self._test(curve, splits, split)
        reach = test.error * float(special.stdtrit(test.freedom, (1.0 + _SURE) / 2.0))
        _, first, last = self._likelihood(curve, {*splits} - {split}, split)
        low, high = test.change - reach, test.change + reach
        return ChangePoint(split, test.change, low, high, first, last, placed)

    def _likelihood(self, curve: Array, others: set[int], split: int) -> tuple[int, int, int]:
        """Return the split likeliest to be near the true one, and a 99 % range of splits.

        With equal prior probabilities, a split's posterior is proportional to exp(-S/2), where S is
        the weighted sum of squares of the model with it (Smith 1975, "A Bayesian approach to
        inference about a change-point in a sequence of random variables"). With its
        neighbours' posteriors, a split is off by more than a night less often.
        """
        model = self._model(curve, others)
        start, end = self._neighbours(others, split)
        splits = np.arange(start + 1, end)
        change, weight = (one[splits] for one in model.further_steps())
        squares = model.squares - change**2 * weight
        scale = max(float(squares.min()) / model.freedom, self.least)
        chances = np.exp(-(squares - squares.min()) / 2.0 / scale)
        best = np.argmax(np.convolve(chances, [1.0, 2.0, 1.0])[1:-1])
        order = np.argsort(-chances)
        needed = int(np.searchsorted(np.cumsum(chances[order]), _SURE * chances.sum())) + 1
        likely = splits[order[:needed]]
        return int(splits[best]), int(likely.min()), int(likely.max())

    def _alarms(
        self, curve: Array, splits: Sequence[int], placed: Collection[int]
    ) -> list[ChangePoint]:
        """Return alarms for late steps that are not placed, but differ by the t test.

        The newest nights are as measured: whether they are outliers is not known yet. If other
        nights have been as far, it takes more than one to alarm.
        """
        count = len(self.values)
        newest = np.arange(count) > count - SHORTEST
        series = replace(self, values=np.where(newest, self.measured, self.values))
        at = np.arange(max(SHORTEST, count - _WINDOW), count)
        change, weight = (one[at] for one in series._model(curve, splits).further_steps())
        further = int(at[np.argmax(change**2 * weight)])
        alarms = []
        for split in {further, *splits} & {*at.tolist()} - {*placed}:
            test = series._test(curve, {split, *splits}, split)
            if test.p <= _LEVEL / len(at) and test.by_share <= _LEVEL:
                alarms.append(series._point(curve, {split, *splits}, split, placed=False))
        return alarms

    def _numbered(self, point: ChangePoint) -> ChangePoint:
        """Renumber a point by all nights. The change may lie in a night without a time."""
        before = int(self.at[point.first - 1]) + 1 if point.first else int(self.at[0])
        index, last = int(self.at[point.index]), int(self.at[point.last])
        return replace(point, index=index, first=before, last=last)


def _without_outliers(values: Array) -> Array:
    """Return the values, at most three scatters from the median of the seven nights around each.

    If more than a seventh of all nights are far away, they are a state and no outliers.
    """
    padded = np.pad(values, _NEAR, constant_values=np.nan)
    middle = np.nanmedian(np.lib.stride_tricks.sliding_window_view(padded, 2 * _NEAR + 1), axis=1)
    reach = _FAR * float(np.quantile(np.abs(values - middle), 6 / 7)) / _SIX_SEVENTHS
    return np.asarray(np.clip(values, middle - reach, middle + reach))


def _weights(values: Array, errors: Array) -> tuple[Array, float]:
    """Return the inverse variances of nights, and the share that the errors have in a variance.

    A variance is that of the error plus the common scatter. Neither steps nor slow curves move the
    median of second differences, which scatter by sqrt(6) times as much as a night. Errors are at
    least their median: few processes agree by chance.
    """
    known = errors[np.isfinite(errors)]
    least = max(float(np.median(known)) if len(known) else 0.0, _SMALLEST_ERROR)
    own = np.fmax(errors, least) ** 2
    bends = np.abs(np.diff(values, 2))
    scatter = _SD_OF_MEDIAN * float(np.median(bends)) / math.sqrt(6.0)
    weights = 1.0 / (own + max(scatter**2 - float(np.median(own)), 0.0))
    return weights, float(np.mean(own * weights))


@cache
def _curves(count: int) -> list[Array]:
    """Return the columns of a constant, a line and cubic splines over so many nights."""
    night = np.arange(count, dtype=np.float64)
    curves = [np.ones((count, 1))]
    if count >= _FEWEST_FOR_LINE:
        curves.append(np.column_stack([np.ones(count), night - night.mean()]))
    for knots in _KNOTS:
        pieces = round(count / knots)
        if pieces >= 3 and count >= _FEWEST_FOR_SEASON:
            inner = np.linspace(0.0, count - 1.0, pieces + 1)
            ends = [inner[:1].repeat(3), inner, inner[-1:].repeat(3)]
            curves.append(BSpline.design_matrix(night, np.concatenate(ends), 3).toarray())
    return curves


def _wave(model: _Model) -> Array:
    """Return the columns of a line and of the wave that explains most beside a line and its steps.

    The wave may grow and change its frequency steadily, so frequencies in steps are near enough.
    """
    count = len(model.root)
    frequencies = np.arange(0.5 / count, 1.0 / _FASTEST_WAVE, 0.1 / count)
    turns = 2.0 * np.pi * frequencies[:, None] * np.arange(count)
    first, second = (
        wave * model.root - (wave * model.root) @ model.basis @ model.basis.T
        for wave in (np.cos(turns), np.sin(turns))
    )
    first /= np.linalg.norm(first, axis=1, keepdims=True)
    second -= np.sum(first * second, axis=1, keepdims=True) * first
    second /= np.linalg.norm(second, axis=1, keepdims=True)
    gains = (first @ model.residuals) ** 2 + (second @ model.residuals) ** 2
    best = turns[int(np.argmax(gains))]
    waves = np.column_stack([np.cos(best), np.sin(best)])
    return np.column_stack([model.curve, waves, model.curve[:, 1:] * waves])
