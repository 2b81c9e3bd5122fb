# SPDX-License-Identifier: Apache-2.0
"""What the log ratios of some pairs tell of a change: by Student's t, and by ranks.

Half of the pairs start with the base and half with the candidate, and what is second may be slower
by itself: the change is the mean of both halves' means, which is free of that. Student's t is
powerful from a few pairs on, until one disturbed process hides a change; ranks need twenty pairs,
and a disturbed one counts there as any other. Each has half of the chance to err, and whichever
says more counts.
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

# With fewer pairs an effect of the order stays in how far they scatter: of two states one often
# meets one order alone by chance, and would look like such an effect and a change.
_FEWEST_ORDERED = 16

# Fewer pairs do not show whether neighbours resemble each other.
_FEWEST_NEIGHBOURS = 4
# Resemblances of neighbouring pairs that are told apart.
_RESEMBLANCES = np.arange(0.0, 0.96, 0.05)
_DRAWS = 1000
# So many pairs of similar benchmarks know their resemblance as well as all benchmarks together do;
# so many in all know as well as nobody that there is one.
_OWN_PAIRS, _ANY_PAIRS = 60.0, 20.0

# A benchmark's freedom is at most so many times that of its own pairs: how far similar ones scatter
# does not tell that its own noise has no heavier tails.
_MOST_FREEDOM = 2.5

# However little similar benchmarks agree, none is quieter than if it had so many pairs more, of the
# typical scatter of its like. By simulation: fewer let two states that meet by chance look quiet.
_TYPICAL_WORTH = 3.0


@dataclass(frozen=True)
class Design:
    """In which pairs the base started, True, and in which the candidate did."""

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
        """Whether there are pairs of either order."""
        return all(len(half) for half in self.halves)

    @property
    def weights(self) -> Array:
        """Of the pairs in the change."""
        weights = np.full(self.pairs, 1.0 / self.pairs)
        if self.has_both:
            for half in self.halves:
                weights[half] = 0.5 / len(half)
        return weights

    @property
    def residuals(self) -> Array:
        """The matrix that takes the change, and the effect of the order, out of log ratios."""
        ordered = self.has_both and self.pairs >= _FEWEST_ORDERED
        groups = self.halves if ordered else (np.arange(self.pairs),)
        matrix = np.eye(self.pairs)
        for group in groups:
            matrix[np.ix_(group, group)] -= 1.0 / len(group)
        return matrix


def _covariance(design: Design, resemblance: float) -> Array:
    """Of pairs of which neighbours correlate so, each further one by that factor less."""
    place = np.arange(design.pairs)
    return np.asarray(resemblance ** np.abs(place[:, None] - place[None, :]))


@cache
def _expected(design: Design, resemblance: float) -> tuple[float, float, float]:
    """The variance of the change, where that of a pair is 1; and what the residuals show of it.

    That is their sum of squares, and its degrees of freedom (Satterthwaite 1946).
    """
    covariance = _covariance(design, resemblance)
    residual = design.residuals @ covariance @ design.residuals
    squares = float(np.trace(residual))
    variance = float(design.weights @ covariance @ design.weights)
    return variance, squares, squares**2 / float(np.sum(residual**2))


@cache
def _neighbours(design: Design) -> Array:
    """The mean correlation of neighbouring residuals for each of the resemblances.

    Simulated: that of a ratio is not the ratio of the means, and far from it for a few pairs.
    """
    draws = np.random.default_rng(0).standard_normal((_DRAWS, design.pairs))
    means = []
    for resemblance in _RESEMBLANCES.tolist():
        root = np.linalg.cholesky(_covariance(design, resemblance))
        means.append(np.mean(_correlation(draws @ root.T @ design.residuals)))
    return np.array(means)


def _correlation(residuals: Array) -> Array:
    """Of neighbours, in each row; 0 where all are."""
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
    """Of benchmarks with these log ratios, two or more each; `chance` is that to exceed its bound.

    Those with the same key in `similar` scatter alike, and steady each other's variances. `steps`
    are of their clocks, in the log: nobody knows where between two ticks a time lies.
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
    by_t = _by_student(student, steps, chance / 2)
    result = Found(*(np.empty(len(ratios)) for _ in range(5)))
    for design, rows in groups.items():
        if design.has_both:
            # What resembles its neighbour tells less, by this factor of its standard error.
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
    """What the correlations that were `seen` of neighbours tell, of each benchmark's like and all.

    But for those of which nothing is `known`, for they do not scatter.
    """
    pairs = np.array([design.pairs for design in designs], dtype=float)
    pairs[~known | (pairs < _FEWEST_NEIGHBOURS)] = 0.0
    if not pairs.any():
        return pairs
    table = np.array([_neighbours(design) for design in designs])
    group = numbered(similar)
    count = int(group.max(initial=-1)) + 1

    def fitting(owner: Index, size: int) -> Array:
        """The one whose expectation is what was seen, by the number of the owner."""
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
    # In hundredths, for each asks for a table of its own.
    return np.asarray(np.round(share * fitting(group, count) + (1.0 - share) * of_all, 2)[group])


def _by_student(student: Estimates, steps: Array, chance: Array) -> Found:
    half = student.reach((1.0 - CONFIDENCE) / 4) + steps
    beyond = np.maximum(np.abs(student.log_ratio) - steps, 0.0)
    return Found(
        student.log_ratio,
        student.log_ratio - half,
        student.log_ratio + half,
        student.log_ratio + student.reach(chance) + steps,
        Estimates(beyond, student.error, student.freedom).p,
    )


def _by_ranks(table: Array, design: Design, worse: Array, steps: Array, chance: Array) -> Found:
    """By the rank-sum test of one half against the other, mirrored, whose shift is the change.

    The mean of a pair of each half is free of the order; the change is the median of all such means
    (Hodges and Lehmann 1963, "Estimates of location based on rank tests"), and how many of them lie
    on one side of the true change has the distribution of Mann and Whitney's U (1947).
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
        """How many of the outermost means may be left out at this chance; −1 for not even none."""
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
    """What both know of these rows of `by_t`; where they contradict each other, what either does.

    The typical value of ranks, for a disturbed process does not move it.
    """
    low, high, bound, p = (getattr(by_t, name)[rows] for name in ("low", "high", "bound", "p"))
    middle = by_t.log_ratio[rows]
    if by_rank is not None:
        middle = by_rank.log_ratio
        narrow = np.maximum(low, by_rank.low), np.minimum(high, by_rank.high)
        wide = np.minimum(low, by_rank.low), np.maximum(high, by_rank.high)
        agree = narrow[0] <= narrow[1]
        low, high = (np.where(agree, *ends) for ends in zip(narrow, wide, strict=True))
        bound, p = np.minimum(bound, by_rank.bound), np.minimum(p, by_rank.p)
    return {
        "log_ratio": np.clip(middle, low, high),
        "low": low,
        "high": high,
        "bound": bound,
        "p": np.minimum(2.0 * p, 1.0),
    }
