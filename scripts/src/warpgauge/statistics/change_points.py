# SPDX-License-Identifier: Apache-2.0
"""Find the nights at which a benchmark's time changed.

Candidates come from E-divisive means (Matteson and James 2014, "A nonparametric approach for
multiple change point analysis of multivariate data"), in windows that overlap by half. They stand
if they pass a test between their neighbours, as in Fleming et al. 2023, "Hunter: using change point
detection to hunt for performance regressions". Four things differ. Each night is weighted by its
own standard error. Neighbouring nights may be correlated, and a drift is not a step. Ranks must
agree with the t test, because nights need not be normal: they may have two states, or outliers. And
the error rate covers all splits together, so the expected number of false change points is known.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cache
from typing import NamedTuple

import numpy as np
from scipy import special

from warpgauge.statistics.log_ratios import Array, Index

# How many change points, and how many alarms, a series of unchanged nights may show in 365 nights.
FALSE_A_YEAR = 0.0005
# In fewer nights even a step of 10 % is missed too often (simulated: statistics.md).
FEWEST_NIGHTS = 10

# Simulated (statistics.md). Splits and ends of windows amount to at most _TESTS independent tests a
# night. Ranks have little power on few nights, so their p may be _RANKS times that of the t test.
_TESTS, _RANKS = 5, 10.0
_SURE = 0.99  # confidence that the first night of the new level is between `first` and `last`
_MOST_RESEMBLANCE = 0.95
_SMALLEST_ERROR = 1e-6  # the resolution of a time in the history
_TIE = 0.01  # of the best likelihood; within it the likeliest single night is taken
_ROUNDING = 1e-6  # of a residual, in standard errors


WINDOW = 100  # nights; their mean has a tenth of the scatter of one night
STEP = WINDOW // 2
# Nights on each side of a split. With fewer, ranks cannot pass even against a whole window.
SHORTEST = 5
_WEAK = 1e-3  # p of a candidate; not strict, as neighbours not yet found widen its scatter
_BLOCK = 16  # windows processed at once; a table of their pairs of nights fits in the cache


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
    p: float
    placed: bool = True


class _Test(NamedTuple):
    change: float
    error: float
    freedom: float
    by_t: float
    by_rank: float
    is_drift: bool

    @property
    def p(self) -> float:
        return max(self.by_t, self.by_rank / _RANKS)


def find_all(values: Array, errors: Array) -> list[list[ChangePoint]]:
    """Return each series' change points, then an alarm if the nights after them differ.

    A row of `values` holds the log times of a series' nights (NaN: none), a row of `errors` their
    standard errors (NaN: unknown). If unchanged nights are independent, or each depends only on the
    night before, 365 of them show at most `FALSE_A_YEAR` change points and as many alarms on
    average.
    """
    series = [_Series.of(*row) for row in zip(values, errors, strict=True)]
    splits = candidates([one.values for one in series], [one.weights for one in series])
    return [one.found(at) for one, at in zip(series, splits, strict=True)]


@dataclass(frozen=True)
class _Series:
    """The nights that have a time, with their indices `at`."""

    values: Array
    weights: Array
    at: Index

    @staticmethod
    def of(values: Array, errors: Array) -> _Series:
        at = np.flatnonzero(np.isfinite(values))
        middle = float(np.median(values[at])) if len(at) else 0.0  # keeps the digits of squares
        return _Series(values[at] - middle, _weights(values[at], errors[at]), at)

    def _numbered(self, point: ChangePoint) -> ChangePoint:
        """Renumber a point by all nights. The change may lie in a night without a time."""
        before = int(self.at[point.first - 1]) + 1 if point.first else int(self.at[0])
        index, last = int(self.at[point.index]), int(self.at[point.last])
        return replace(point, index=index, first=before, last=last)

    def found(self, splits: Sequence[int]) -> list[ChangePoint]:
        standing = self._placed(splits, FALSE_A_YEAR / 365.0 / _TESTS)
        points = [self._point(*one) for one in self._with_neighbours(standing)]
        alarm = self._alarm(standing[-1] if standing else 0, FALSE_A_YEAR / 365.0)
        return [self._numbered(one) for one in (*points, alarm) if one is not None]

    def _placed(self, splits: Sequence[int], level: float) -> list[int]:
        """Return the splits that stand between their neighbours, each at its likeliest night."""
        points = self._standing(sorted({*splits}), level)
        for number in range(len(points)):  # in order: each bounds the next one
            points[number] = self._likelihood(*[*self._with_neighbours(points)][number])[0]
        return self._standing(points, level)

    def _standing(self, points: list[int], level: float) -> list[int]:
        """Remove the weakest split until all pass."""
        while points:
            p = [self._test(*one).p for one in self._with_neighbours(points)]
            weakest = int(np.argmax(p))
            if p[weakest] <= level:
                break
            del points[weakest]
        return points

    def _with_neighbours(self, points: Sequence[int]) -> Iterator[tuple[int, int, int]]:
        """Yield each point with the start of the nights before it and the end of those after it."""
        ends = [0, *points, len(self.values)]
        for before, at, after in zip(ends, ends[1:], ends[2:], strict=False):
            yield max(before, at - WINDOW), at, min(after, at + WINDOW)

    def _test(self, start: int, at: int, end: int) -> _Test:
        return _test(self.values[start:end], self.weights[start:end], at - start)

    def _point(self, start: int, at: int, end: int, placed: bool = True) -> ChangePoint:
        test = self._test(start, at, end)
        reach = test.error * float(special.stdtrit(test.freedom, (1.0 + _SURE) / 2.0))
        _, first, last = self._likelihood(start, at, end, SHORTEST if placed else 1)
        low, high, p = test.change - reach, test.change + reach, test.p if placed else test.by_t
        return ChangePoint(at, test.change, low, high, first, last, p, placed)

    def _likelihood(
        self, start: int, at: int, end: int, shortest: int = SHORTEST
    ) -> tuple[int, int, int]:
        """Return the split most likely within a night of the true one, and a 99 % range of splits.

        With equal prior probabilities, a split's posterior is proportional to exp(-S/2), where S is
        the weighted sum of squares around both means (Smith 1975, "A Bayesian approach to inference
        about a change-point in a sequence of random variables"). The middle of the three neighbours
        with the largest total probability is off by more than a night less often than the single
        likeliest split.
        """
        x, w = self.values[start:end], self.weights[start:end]
        splits = np.arange(shortest, len(x) - shortest + 1)
        wx, left = np.cumsum(w * x)[splits - 1], np.cumsum(w)[splits - 1]
        explained = wx**2 / left + (np.sum(w * x) - wx) ** 2 / (np.sum(w) - left)
        squares = np.sum(w * x**2) - explained
        scale = max(float(squares.min()) / max(len(x) - 2, 1), 1.0)
        chances = np.exp(-(squares - squares.min()) / 2.0 / scale)
        near = np.convolve(chances, np.ones(3), "same")
        best = np.argmax(np.where(near >= (1.0 - _TIE) * near.max(), chances, 0.0))
        order = np.argsort(-chances)
        needed = int(np.searchsorted(np.cumsum(chances[order]), _SURE * chances.sum())) + 1
        likely = splits[order[:needed]] + start
        return int(splits[best]) + start, int(likely.min()), int(likely.max())

    def _alarm(self, start: int, level: float) -> ChangePoint | None:
        """Return an alarm for the newest nights that differ by the t test alone, or None.

        With few nights on a side, ranks may not pass however large the change is. `level` is the
        error rate of all splits together.
        """
        end = len(self.values)
        start = max(start, end - WINDOW)
        splits = np.arange(start + SHORTEST, end)
        level /= max(len(splits), 1)
        x, w = (np.tile(one[start:end], (len(splits), 1)) for one in (self.values, self.weights))
        # The full test never has a smaller p, and is slower.
        worth = splits[quick_p(x, w, splits - start, np.full_like(splits, end - start)) <= level]
        tests = [self._test(start, int(at), end) for at in worth]
        p = [1.0 if test.is_drift else test.by_t for test in tests]
        if not p or min(p) > level:
            return None
        return self._point(start, int(worth[int(np.argmin(p))]), end, placed=False)


def _weights(values: Array, errors: Array) -> Array:
    """Return the inverse variances of nights: the variance of each error plus the common scatter.

    Half of the mean squared step from night to night is the variance of a night, whatever the
    levels are (von Neumann 1941, "Distribution of the ratio of the mean square successive
    difference to the variance"). The largest step is left out: it may be a change, which would
    hide itself among few nights. Errors are at least the median: few processes agree by chance.
    """
    if not len(values):
        return values
    known = errors[np.isfinite(errors)]
    least = max(float(np.median(known)) if len(known) else 0.0, _SMALLEST_ERROR)
    own = np.fmax(errors, least) ** 2
    steps = np.sort(np.diff(values) ** 2)[:-1] / 2.0
    beyond = max(float(np.mean(steps)) - float(np.mean(own)), 0.0) if len(steps) else 0.0
    return np.asarray(1.0 / (own + beyond))


def _test(x: Array, w: Array, at: int) -> _Test:
    """Test the nights before `at` against the others.

    Student's t of weighted means, with at least the scatter that the weights imply. If one side
    scatters more than both together, its mean does so too (Welch 1947). If neighbouring residuals
    correlate by r, the variance of means grows by (1 + r) / (1 - r) (Bartlett 1946). Ranks use the
    exact distribution of U, widened by the same factor. A change is a drift if a line explains it
    as well as a step (Schwarz 1978, "Estimating the dimension of a model", for the choice of its
    night); ranks do not pass then.
    """
    sides = (slice(None, at), slice(at, None))
    total = [float(np.sum(w[side])) for side in sides]
    means = [
        float(np.sum(w[side] * x[side])) / sum_ for side, sum_ in zip(sides, total, strict=True)
    ]
    residuals = np.sqrt(w) * (x - np.where(np.arange(len(x)) < at, *means))
    squares = [float(np.sum(residuals[side] ** 2)) for side in sides]
    counts = [at, len(x) - at]
    freedom = max(len(x) - 2.0, 1.0)
    pooled = max(sum(squares) / freedom, 1.0)
    own = [max(one / max(count - 1, 1), pooled) for one, count in zip(squares, counts, strict=True)]
    parts = [one / sum_ for one, sum_ in zip(own, total, strict=True)]
    resemblance = _resemblance(residuals, at)
    wider = (1.0 + resemblance) / (1.0 - resemblance)
    change, error = means[1] - means[0], math.sqrt(sum(parts) * wider)
    freedom = max(freedom / wider, 1.0)
    by_t = 2.0 * float(special.stdtr(freedom, -abs(change) / error))
    step = sum(squares) + pooled * math.log(len(x))  # penalty for choosing the night of the step
    is_drift = _squares_of_line(x, w) <= step
    by_rank = 1.0 if is_drift else _by_rank(x, at, wider)
    return _Test(change, error, freedom, by_t, by_rank, is_drift)


def _squares_of_line(x: Array, w: Array) -> float:
    """Return the weighted sum of squares around a straight line."""
    night = np.arange(len(x), dtype=np.float64)
    night -= np.sum(w * night) / np.sum(w)
    middle = x - np.sum(w * x) / np.sum(w)
    slope = np.sum(w * night * middle) / np.sum(w * night**2)
    return float(np.sum(w * (middle - slope * night) ** 2))


def _by_rank(x: Array, at: int, wider: float) -> float:
    """Return the two-sided p of the rank-sum test; ties count half, rounded conservatively."""
    left, right = np.sort(x[:at]), x[at:]
    below = int(np.searchsorted(left, right, "left").sum())
    ties = int(np.searchsorted(left, right, "right").sum()) - below
    pairs = len(left) * len(right)
    against = min(pairs, math.ceil(min(below, pairs - below - ties) + ties / 2.0))
    chance = min(float(mann_whitney(len(left), len(right))[against]), 0.5)
    return 2.0 * float(special.ndtr(special.ndtri(chance) / math.sqrt(wider)))


def _resemblance(residuals: Array, at: int) -> float:
    """Return the correlation of neighbouring residuals, corrected for the two fitted means."""
    products = residuals[1:] * residuals[:-1]
    squares = float(np.sum(residuals**2))
    # Equal nights leave only rounding errors, which are all alike.
    if len(residuals) < 3 or squares <= len(residuals) * _ROUNDING**2:
        return 0.0
    seen = (float(np.sum(products)) - float(products[at - 1])) / squares
    return min(max(seen + 2.0 / len(residuals), 0.0), _MOST_RESEMBLANCE)


@cache
def mann_whitney(one: int, other: int) -> Array:
    """Return the probabilities that U is at most 0, 1, 2 … if the two samples do not differ.

    U counts the pairs in which the first sample's value is larger. The number of arrangements with
    U = u is the coefficient of q^u in the Gaussian binomial coefficient, the product of
    (1 - q^(other + i)) / (1 - q^i) over i = 1 … one. Mann and Whitney 1947, "On a test of whether
    one of two random variables is stochastically larger than the other".
    """
    few, many = sorted((one, other))
    half = few * many // 2 + 1  # the other half mirrors it; computing it would lose digits
    counts = np.zeros(half)
    counts[0] = 1.0
    for i in range(1, few + 1):
        if many + i < half:
            counts[many + i :] -= counts[: half - many - i].copy()
        for start in range(min(i, half)):
            counts[start::i] = np.cumsum(counts[start::i])
    size = one * other + 1
    total = np.cumsum(np.concatenate([counts, counts[: size - half][::-1]]))
    return np.asarray(total / total[-1])


def candidates(values: Sequence[Array], weights: Sequence[Array]) -> list[list[int]]:
    """Return the splits of each series whose t test has p <= 0.001.

    Windows overlap by half. A window with a split is searched again on both sides of it.
    """
    found: list[list[int]] = [[] for _ in values]
    waiting = [
        (row, start, min(start + WINDOW, len(one)))
        for row, one in enumerate(values)
        for start in range(0, max(len(one) - STEP // 2, 1), STEP)
    ]
    while waiting:
        waiting.sort(key=lambda one: one[2] - one[1])  # windows of a block have similar lengths
        block, waiting = waiting[-_BLOCK:], waiting[:-_BLOCK]
        block = [one for one in block if one[2] - one[1] >= 2 * SHORTEST]
        if not block:
            continue
        splits, p = _furthest(
            _padded([values[row][start:end] for row, start, end in block]),
            _padded([weights[row][start:end] for row, start, end in block]),
        )
        for (row, start, end), split, chance in zip(block, splits, p, strict=True):
            if chance <= _WEAK:
                at = start + int(split)
                found[row].append(at)
                waiting += [(row, start, at), (row, at, end)]
    return found


def _padded(rows: Sequence[Array]) -> Array:
    """Return the rows as one table, padded with zeros."""
    table = np.zeros((len(rows), max(map(len, rows))))
    for line, row in zip(table, rows, strict=True):
        line[: len(row)] = row
    return table


def _furthest(x: Array, w: Array) -> tuple[Index, Array]:
    """Return the split of each window with the largest energy distance, and p of its t test.

    The distance is the largest, over all splits t and ends k, of
    l r / (l + r) × (2 E|X-Y| - E|X-X'| - E|Y-Y'|) for X before t and Y from t to k (Matteson and
    James 2014, formulas 5 and 8, with exponent 1). l and r are the sums of both sides' weights, and
    each pair of nights is weighted by the product of its weights.
    """
    count, size = x.shape
    tiny = 1e-9 * np.min(w, where=w > 0.0, initial=np.inf) ** 2  # below any sum of products
    distances = np.abs(x[:, :, None] - x[:, None, :]) * (w[:, :, None] * w[:, None, :])
    sums = np.zeros((count, size + 1, size + 1))
    np.cumsum(np.cumsum(distances, axis=1), axis=2, out=sums[:, 1:, 1:])
    within = np.diagonal(sums, axis1=1, axis2=2)  # over all nights before, each pair twice
    single, square = (_summed(part) for part in (w, w**2))
    left, own_left = single[:, :, None], np.maximum(single**2 - square, tiny)[:, :, None]
    right = single[:, None, :] - left
    own_right = np.maximum(right**2 - (square[:, None, :] - square[:, :, None]), tiny)
    across = sums - within[:, :, None]
    apart = (within[:, None, :] - within[:, :, None] - 2.0 * across) / own_right  # E|Y-Y'|
    product = np.maximum(left * right, tiny)
    energy = (2.0 * across / product - within[:, :, None] / own_left - apart) * product
    energy /= np.maximum(single[:, None, :], np.sqrt(tiny))
    order = np.arange(size + 1)
    allowed = (order[:, None] >= SHORTEST) & (order[None, :] - order[:, None] >= SHORTEST)
    lengths = np.sum(w > 0.0, axis=1)
    energy[:, ~allowed] = -np.inf
    energy[np.broadcast_to((order > lengths[:, None])[:, None, :], energy.shape)] = -np.inf
    best = np.argmax(energy.reshape(count, -1), axis=1)
    split, end = np.divmod(best, size + 1)
    return split, quick_p(x, w, split, end)


def _summed(w: Array) -> Array:
    return np.concatenate([np.zeros((len(w), 1)), np.cumsum(w, axis=1)], axis=1)


def quick_p(x: Array, w: Array, split: Index, end: Index) -> Array:
    """Return p of Student's t test of the nights before `split` and from it to `end`, by row."""
    row = np.arange(len(x))
    sums = [_summed(part) for part in (w, w * x, w * x**2)]
    left = [part[row, split] for part in sums]
    right = [part[row, end] - one for part, one in zip(sums, left, strict=True)]
    change = right[1] / right[0] - left[1] / left[0]
    squares = sum(three - two**2 / one for one, two, three in (left, right))
    freedom = end - 2.0
    error = np.sqrt(np.maximum(squares / freedom, 0.0) * (1.0 / left[0] + 1.0 / right[0]))
    return np.asarray(2.0 * special.stdtr(freedom, -np.abs(change) / np.maximum(error, 1e-300)))
