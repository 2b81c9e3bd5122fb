# SPDX-License-Identifier: Apache-2.0
"""Test the log ratios of pairs for a change, by Student's t and by signed ranks.

Student's t is powerful from a few pairs on, but one disturbed process can hide a change. Ranks need
more pairs, but a disturbed pair counts like any other. Each test has half of the error rate, and
the stronger result counts. With so few pairs that ranks could not reach their half whatever they
were, t has it all.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from functools import cache

import numpy as np
from scipy import special

from warpgauge.statistics.error_rates import CONFIDENCE
from warpgauge.statistics.log_ratios import (
    SMALLEST_SD,
    UNKNOWN_TICK,
    Array,
    Estimates,
    Found,
    centre,
    means_of_two,
)

# For each pair, True if the base started, False if the candidate did.
Order = tuple[bool, ...]

# With fewer pairs an effect of the order is left in the scatter: by chance, one of two states often
# meets only one order and would look like both such an effect and a change.
_FEWEST_ORDERED = 16

# The grid of correlations of neighbouring pairs. So many pairs in all count as much as the
# assumption of no correlation; fewer pairs of a benchmark show nothing.
_CORRELATIONS = np.arange(0.0, 0.96, 0.05)
_UNCORRELATED_PAIRS, _FEWEST_NEIGHBOURS = 20.0, 4
_DRAWS = 1000


def found(
    ratios: Sequence[Sequence[float]], orders: Sequence[Order], steps: Array, chance: Array
) -> Found:
    """Test log ratios, two or more per benchmark; `chance` is the probability to exceed a bound.

    `steps` are their clocks' ticks, as log ratios: a time may lie anywhere between two ticks.
    """
    rows: dict[Order, list[int]] = {}
    for row, order in enumerate(orders):
        rows.setdefault(order, []).append(row)
    tables = {
        order: _without_order(np.array([ratios[row] for row in of]), order)
        for order, of in rows.items()
    }
    correlation = _correlation(tables)
    result = np.empty((5, len(ratios)))
    for order, of in rows.items():
        tested = _tested(tables[order], order, correlation, steps[of], chance[of])
        result[:, of] = [*vars(tested).values()]
    return Found(*result)


def _without_order(table: Array, order: Order) -> Array:
    """Return the log ratios without an effect of the order, if there are enough to see one.

    What starts second in a pair may be slower by itself. A disturbed pair hardly moves `centre`.
    """
    first = np.array(order)
    if not _shows_effect(order):
        return table
    effect = (centre(table[:, first]) - centre(table[:, ~first])) / 2.0
    return np.asarray(table - np.where(first, 1.0, -1.0) * effect[:, None])


def _shows_effect(order: Order) -> bool:
    return len(order) >= _FEWEST_ORDERED and 0 < sum(order) < len(order)


def _residuals(order: Order) -> Array:
    """Return the matrix that takes the mean, and an effect of the order, from log ratios."""
    first = np.array(order)
    matrix = np.eye(len(order))
    for group in [first, ~first] if _shows_effect(order) else [np.ones_like(first)]:
        matrix[np.ix_(group, group)] -= 1.0 / np.count_nonzero(group)
    return matrix


@cache
def _expected(order: Order, correlation: float) -> tuple[float, float, float]:
    """Return what to expect of pairs of variance 1 that correlate by `correlation` ** distance.

    The variance of their mean, and the residuals' sum of squares with its degrees of freedom
    (Satterthwaite 1946).
    """
    covariance, residuals = _covariance(order, correlation), _residuals(order)
    left = residuals @ covariance @ residuals
    squares = float(np.trace(left))
    return float(covariance.mean()), squares, squares**2 / float(np.sum(left**2))


def _covariance(order: Order, correlation: float) -> Array:
    place = np.arange(len(order))
    return np.asarray(correlation ** np.abs(place[:, None] - place[None, :]))


@cache
def _expected_neighbours(order: Order) -> Array:
    """Return the mean of `_neighbours` for each of `_CORRELATIONS`.

    Simulated, because the mean of a ratio is not the ratio of the means, least so for few pairs.
    """
    draws = np.random.default_rng(0).standard_normal((_DRAWS, len(order)))
    roots = [np.linalg.cholesky(_covariance(order, one)) for one in _CORRELATIONS.tolist()]
    return np.array([_neighbours(draws @ root.T @ _residuals(order)).mean() for root in roots])


def _neighbours(residuals: Array) -> Array:
    """Return the products of neighbours as a share of the squares, for each row that scatters."""
    squares = np.sum(residuals**2, axis=1)
    products = np.sum(residuals[:, 1:] * residuals[:, :-1], axis=1)
    return np.asarray(products[squares > 0.0] / squares[squares > 0.0])


def _correlation(tables: Mapping[Order, Array]) -> float:
    """Return the correlation of neighbouring pairs, one for all benchmarks."""
    seen, pairs, expected = 0.0, 0, np.zeros_like(_CORRELATIONS)
    for order, table in tables.items():
        neighbours = _neighbours(table - table.mean(axis=1, keepdims=True))
        if len(order) >= _FEWEST_NEIGHBOURS:
            seen += len(order) * float(neighbours.sum())
            pairs += len(order) * len(neighbours)
            expected += len(order) * len(neighbours) * _expected_neighbours(order)
    if not pairs:
        return 0.0
    fit = float(np.interp(seen, expected, _CORRELATIONS))
    return round(fit * pairs / (pairs + _UNCORRELATED_PAIRS), 2)


def _tested(table: Array, order: Order, correlation: float, steps: Array, chance: Array) -> Found:
    """Test rows of one order."""
    middle = table.mean(axis=1)
    residuals = table - middle[:, None]
    steps = np.where(np.ptp(table, axis=1) == 0.0, UNKNOWN_TICK, steps)
    variance, squares, freedom = _expected(order, correlation)
    error = np.maximum(np.sqrt(np.sum(residuals**2, axis=1) / squares), SMALLEST_SD)
    student = Estimates(middle, error * math.sqrt(variance), np.full_like(middle, freedom))
    ranked = 0.5 ** len(order) <= np.max(chance) / 2.0
    by_t = _by_student(student, steps, 0.5 if ranked else 1.0, chance)
    if not ranked:
        return by_t
    # Correlated pairs tell less, by this factor of the standard error.
    worse = math.sqrt(variance * len(order))
    return _together(by_t, _by_ranks(table, worse, steps, chance / 2.0))


def _by_student(student: Estimates, steps: Array, share: float, chance: Array) -> Found:
    """Test by Student's t, with this share of the error rates."""
    half = student.reach(share * (1.0 - CONFIDENCE) / 2) + steps
    beyond = np.maximum(np.abs(student.log_ratio) - steps, 0.0)
    return Found(
        student.log_ratio,
        student.log_ratio - half,
        student.log_ratio + half,
        student.log_ratio + student.reach(share * chance) + steps,
        Estimates(beyond, student.error, student.freedom).p,
    )


@cache
def signed_ranks(count: int) -> Array:
    """Return the probabilities that W is at most 0, 1, 2 … if a sample is symmetric about 0.

    W is the number of means of two values, or of one with itself, above 0 (Tukey 1949); it equals
    the sum of the ranks of the positive values (Wilcoxon 1945, "Individual comparisons by ranking
    methods"). 2^count times its probabilities are the coefficients of (1 + q)(1 + q²) … (1 + qⁿ).
    """
    chances = np.ones(1)
    for rank in range(1, count + 1):
        chances = np.convolve(chances, [0.5, *[0.0] * (rank - 1), 0.5])
    return np.cumsum(chances)


def _by_ranks(table: Array, worse: float, steps: Array, chance: Array) -> Found:
    """Test by signed ranks. The change is the `centre`."""
    means = np.sort(means_of_two(table), axis=1)
    middle = centre(table)
    chances = signed_ranks(table.shape[1])
    shifted = means * np.sign(middle)[:, None] - steps[:, None]
    against = np.sum(shifted < 0.0, axis=1) + np.ceil(0.5 * np.sum(shifted == 0.0, axis=1))
    p = np.where(np.abs(middle) > steps, chances[against.astype(int)], 1.0)
    p = np.minimum(2.0 * special.ndtr(special.ndtri(np.minimum(p, 0.5)) / worse), 1.0)

    def end(level: Array, side: int) -> Array:
        """Return the end of an interval that leaves out `level` on this side."""
        within = special.ndtr(special.ndtri(level) * worse)
        left_out = np.searchsorted(chances, within, "right") - 1
        from_end = np.maximum(left_out, 0)[:, None]
        place = from_end if side < 0 else means.shape[1] - 1 - from_end
        values = np.take_along_axis(means, place, axis=1)[:, 0] + side * steps
        return np.asarray(np.where(left_out >= 0, values, side * np.inf))

    tail = np.full(len(means), (1.0 - CONFIDENCE) / 4)
    return Found(middle, end(tail, -1), end(tail, 1), end(chance, 1), p)


def _together(by_t: Found, by_rank: Found) -> Found:
    """Combine both tests; if they contradict each other, span both intervals.

    The typical value comes from ranks, because a disturbed process does not move it. The bound is
    of higher confidence than the interval, so it never lies inside.
    """
    low, high = np.maximum(by_t.low, by_rank.low), np.minimum(by_t.high, by_rank.high)
    agree = low <= high
    low = np.where(agree, low, np.minimum(by_t.low, by_rank.low))
    high = np.where(agree, high, np.maximum(by_t.high, by_rank.high))
    bound = np.maximum(np.minimum(by_t.bound, by_rank.bound), high)
    p = np.minimum(2.0 * np.minimum(by_t.p, by_rank.p), 1.0)
    return Found(np.clip(by_rank.log_ratio, low, high), low, high, bound, p)
