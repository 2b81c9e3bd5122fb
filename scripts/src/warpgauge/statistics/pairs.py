# SPDX-License-Identifier: Apache-2.0
"""Test the log ratios of pairs for a change, by Student's t and by ranks.

Half of the pairs start with the base, half with the candidate, because the second may be slower by
itself. The change is the mean of both halves' means, which cancels that. Student's t is powerful
from a few pairs on, but one disturbed process can hide a change. Ranks need more pairs, but a
disturbed pair counts like any other. Each test has half of the error rate, and the stronger result
counts. With so few pairs that ranks could not reach their half whatever they were, t has it all.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from functools import cache

import numpy as np
from scipy import special

from warpgauge.statistics.error_rates import CONFIDENCE
from warpgauge.statistics.log_ratios import Array, Estimates, Found
from warpgauge.statistics.rank_sums import mann_whitney
from warpgauge.statistics.samples import Index, Mask, numbered, sums_by
from warpgauge.statistics.variance import Variances

# With fewer pairs an effect of the order is left in the scatter: by chance, one of two states often
# meets only one order and would look like both such an effect and a change.
_FEWEST_ORDERED = 16

# Fewer pairs do not show whether neighbours correlate.
_FEWEST_NEIGHBOURS = 4
# The grid of correlations of neighbouring pairs.
_RESEMBLANCES = np.arange(0.0, 0.96, 0.05)
_DRAWS = 1000
# Weights of correlations: _OWN_PAIRS pairs of similar benchmarks count as much as all benchmarks
# together, and _ANY_PAIRS pairs in all count as much as the assumption of no correlation.
_OWN_PAIRS, _ANY_PAIRS = 60.0, 20.0

# A benchmark's freedom is at most this multiple of its own pairs'. Similar benchmarks' scatter does
# not rule out that its own noise has heavier tails.
_MOST_FREEDOM = 2.5

# Even if similar benchmarks disagree, each variance is at least as if this many more pairs showed
# their typical scatter. Simulated: with fewer, two states that agree by chance look quiet.
_TYPICAL_WORTH = 3.0


@dataclass(frozen=True)
class Design:
    """For each pair, True if the base started, False if the candidate did."""

    base_first: tuple[bool, ...]

    @property
    def pairs(self) -> int:
        return len(self.base_first)

    @property
    def halves(self) -> tuple[Index, Index]:
        first = np.array(self.base_first, dtype=bool)
        return np.flatnonzero(first), np.flatnonzero(~first)

    @property
    def has_both(self) -> bool:
        """Whether both orders occur."""
        return all(len(half) for half in self.halves)

    @property
    def weights(self) -> Array:
        """The weights of the pairs in the change."""
        weights = np.full(self.pairs, 1.0 / self.pairs)
        if self.has_both:
            for half in self.halves:
                weights[half] = 0.5 / len(half)
        return weights

    @property
    def residuals(self) -> Array:
        """The matrix that removes the change and the effect of the order from log ratios."""
        ordered = self.has_both and self.pairs >= _FEWEST_ORDERED
        groups = self.halves if ordered else (np.arange(self.pairs),)
        matrix = np.eye(self.pairs)
        for group in groups:
            matrix[np.ix_(group, group)] -= 1.0 / len(group)
        return matrix


def _covariance(design: Design, resemblance: float) -> Array:
    """Return the covariance of pairs that correlate by `resemblance` ** distance."""
    place = np.arange(design.pairs)
    return np.asarray(resemblance ** np.abs(place[:, None] - place[None, :]))


@cache
def _expected(design: Design, resemblance: float) -> tuple[float, float, float]:
    """Return the variance of the change relative to a pair's, and the residuals' expectations.

    These are their sum of squares and its degrees of freedom (Satterthwaite 1946).
    """
    covariance = _covariance(design, resemblance)
    residual = design.residuals @ covariance @ design.residuals
    squares = float(np.trace(residual))
    variance = float(design.weights @ covariance @ design.weights)
    return variance, squares, squares**2 / float(np.sum(residual**2))


@cache
def _neighbours(design: Design) -> Array:
    """Return the mean correlation of neighbouring residuals for each of `_RESEMBLANCES`.

    Simulated, because the mean of a ratio is not the ratio of the means, least so for few pairs.
    """
    draws = np.random.default_rng(0).standard_normal((_DRAWS, design.pairs))
    means = []
    for resemblance in _RESEMBLANCES.tolist():
        root = np.linalg.cholesky(_covariance(design, resemblance))
        means.append(np.mean(_correlation(draws @ root.T @ design.residuals)))
    return np.array(means)


def _correlation(residuals: Array) -> Array:
    """Return the correlation of neighbours in each row; 0 if all residuals are 0."""
    squares = np.sum(residuals**2, axis=1)
    neighbours = np.sum(residuals[:, 1:] * residuals[:, :-1], axis=1)
    shares = np.divide(neighbours, squares, out=np.zeros_like(squares), where=squares > 0.0)
    return np.asarray(shares)


def found(
    ratios: Sequence[Sequence[float]],
    designs: Sequence[Design],
    similar: Sequence[Hashable],
    steps: Array,
    chance: Array,
) -> Found:
    """Test log ratios, two or more per benchmark; `chance` is the probability to exceed a bound.

    Benchmarks with equal keys in `similar` scatter alike and moderate each other's variances.
    `steps` are their clocks' ticks, as log ratios: a time may lie anywhere between two ticks.
    """
    squares, neighbours, change = (np.empty(len(ratios)) for _ in range(3))
    groups: dict[Design, list[int]] = {}
    for row, design in enumerate(designs):
        groups.setdefault(design, []).append(row)
    tables = {design: np.array([ratios[row] for row in rows]) for design, rows in groups.items()}
    for design, rows in groups.items():
        residuals = tables[design] @ design.residuals
        squares[rows] = np.sum(residuals**2, axis=1)
        neighbours[rows] = _correlation(residuals)
        change[rows] = tables[design] @ design.weights
    resemblance = _resemblance(neighbours, squares > 0.0, designs, similar)
    columns = zip(designs, resemblance.tolist(), strict=True)
    fitting = np.array([_expected(*one) for one in columns]).reshape(-1, 3)
    variance, expected, freedom = fitting.T
    own = Variances.of_squares(squares * freedom / expected, freedom)
    known = own.moderated(similar)
    value = np.maximum(known.value, own.as_typical(similar, _TYPICAL_WORTH))
    freedom = np.minimum(known.freedom, _MOST_FREEDOM * freedom)
    student = Estimates(change, np.sqrt(value * variance), freedom)
    ranked = {
        design: design.has_both and _least_of_ranks(design) <= np.max(chance[rows]) / 2
        for design, rows in groups.items()
    }
    share = np.array([0.5 if ranked[design] else 1.0 for design in designs])
    by_t = _by_student(student, steps, share, chance)
    result = Found(*(np.empty(len(ratios)) for _ in range(5)))
    for design, rows in groups.items():
        if ranked[design]:
            # Correlated pairs tell less, by this factor of the standard error.
            worse = np.sqrt(variance[rows] / float(np.sum(design.weights**2)))
            by_rank = _by_ranks(tables[design], design, worse, steps[rows], chance[rows] / 2)
        else:
            by_rank = None
        for name, values in _together(by_t, rows, by_rank).items():
            getattr(result, name)[rows] = values
    return result


def _resemblance(
    seen: Array, known: Mask, designs: Sequence[Design], similar: Sequence[Hashable]
) -> Array:
    """Estimate the correlations of neighbours from those `seen`, by similar benchmarks and by all.

    Benchmarks that are not `known` do not scatter, so they do not count.
    """
    pairs = np.array([design.pairs for design in designs], dtype=float)
    pairs[~known | (pairs < _FEWEST_NEIGHBOURS)] = 0.0
    if not pairs.any():
        return pairs
    table = np.array([_neighbours(design) for design in designs])
    group = numbered(similar)
    count = int(group.max(initial=-1)) + 1

    def fitting(owner: Index, size: int) -> Array:
        """Return the correlation whose expectation equals what was seen, for each owner."""
        weights = np.maximum(sums_by(owner, pairs, size), 1.0)
        have = sums_by(owner, pairs * seen, size) / weights
        expected = np.stack(
            [sums_by(owner, pairs * column, size) / weights for column in table.T], axis=1
        )
        fits = [np.interp(*one, _RESEMBLANCES) for one in zip(have, expected, strict=True)]
        return np.asarray(fits)

    of_all = fitting(np.zeros_like(group), 1)[0] * pairs.sum() / (pairs.sum() + _ANY_PAIRS)
    own = sums_by(group, pairs, count)
    share = own / (own + _OWN_PAIRS)
    # Rounded to hundredths, because each distinct value needs its own table.
    return np.asarray(np.round(share * fitting(group, count) + (1.0 - share) * of_all, 2)[group])


def _by_student(student: Estimates, steps: Array, share: Array, chance: Array) -> Found:
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


def _least_of_ranks(design: Design) -> float:
    """Return the least one-sided p value that ranks can have."""
    return float(mann_whitney(*map(len, design.halves))[0])


def _by_ranks(table: Array, design: Design, worse: Array, steps: Array, chance: Array) -> Found:
    """Test one half against the other half mirrored, by rank sums; their shift is the change.

    The mean of one pair from each half is free of the order's effect. The change is the median of
    all such means (Hodges and Lehmann 1963, "Estimates of location based on rank tests"). How many
    lie on one side of the true change has the distribution of Mann and Whitney's U (1947).
    """
    one, other = design.halves
    means = (table[:, one, None] + table[:, None, other]).reshape(len(table), -1) / 2.0
    means.sort(axis=1)
    middle = np.median(means, axis=1)
    chances = mann_whitney(len(one), len(other))
    beyond = np.abs(middle) > steps
    shifted = means * np.sign(middle)[:, None] - steps[:, None]
    against = np.sum(shifted < 0.0, axis=1) + np.ceil(0.5 * np.sum(shifted == 0.0, axis=1))
    p = np.where(beyond, chances[np.minimum(against.astype(int), len(chances) - 1)], 1.0)
    p = np.minimum(2.0 * special.ndtr(special.ndtri(np.minimum(p, 0.5)) / worse), 1.0)

    def rank(level: Array) -> Index:
        """Return how many outermost means may be left out at this level; −1 if no end is known."""
        within = special.ndtr(special.ndtri(level) * worse)
        return np.asarray(np.searchsorted(chances, within, "right") - 1, dtype=np.intp)

    def end(level: Array, side: int) -> Array:
        at, row = rank(level), np.arange(len(means))
        place = at if side < 0 else means.shape[1] - 1 - at
        values = means[row, np.clip(place, 0, means.shape[1] - 1)] + side * steps
        return np.asarray(np.where(at >= 0, values, side * np.inf))

    tail = np.full(len(means), (1.0 - CONFIDENCE) / 4)
    return Found(middle, end(tail, -1), end(tail, 1), end(chance, 1), p)


def _together(by_t: Found, rows: Sequence[int], by_rank: Found | None) -> dict[str, Array]:
    """Combine both tests for these rows of `by_t`; if they contradict, span both intervals.

    The typical value comes from ranks, because a disturbed process does not move it.
    """
    low, high, bound, p = (getattr(by_t, name)[rows] for name in ("low", "high", "bound", "p"))
    middle = by_t.log_ratio[rows]
    if by_rank is not None:
        middle = by_rank.log_ratio
        narrow = np.maximum(low, by_rank.low), np.minimum(high, by_rank.high)
        wide = np.minimum(low, by_rank.low), np.maximum(high, by_rank.high)
        agree = narrow[0] <= narrow[1]
        low, high = (np.where(agree, *ends) for ends in zip(narrow, wide, strict=True))
        bound, p = np.minimum(bound, by_rank.bound), 2.0 * np.minimum(p, by_rank.p)
    return {
        "log_ratio": np.clip(middle, low, high),
        "low": low,
        "high": high,
        "bound": bound,
        "p": np.minimum(p, 1.0),
    }
