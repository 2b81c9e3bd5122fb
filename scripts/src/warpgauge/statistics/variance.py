# SPDX-License-Identifier: Apache-2.0
"""Variances of benchmarks that have few data of their own, steadied by those of similar ones.

Seven processes know their own spread to within a factor of two. Thirty similar benchmarks know it
much better, and count the more the more their variances agree: Smyth 2004, "Linear models and
empirical Bayes methods for assessing differential expression in microarray experiments", 6.2.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass, replace

import numpy as np
from scipy import special

from warpgauge.statistics.log_ratios import Array
from warpgauge.statistics.samples import Index, numbered, sums_by

# No benchmark repeats better than this (standard deviation of the log): the quietest ever measured
# moved by 0.01 %. A timer's tick can make a few processes agree to the last digit by chance.
SMALLEST_SD = 1e-4

# Similar benchmarks count at most this many times as much as a benchmark's own data: they ran in
# the same processes and on the same GPUs, so they are not independent.
_MOST_WORTH = 2.0

# What other sessions, however many, show of how far a benchmark's processes scatter, in degrees of
# freedom: d0 of the same method in four sessions of 105 benchmarks on H200s (device 6.4, host 6.6).
SESSIONS_ALIKE = 6.0

# Below so many degrees of freedom a variance is hardly known; what is then assumed counts as many.
_HARDLY_KNOWN = 4.0
_ASSUMED_WORTH = 4.0

# Fewer similar benchmarks do not show how far they agree.
_FEWEST_SIMILAR = 4


@dataclass(frozen=True)
class Variances:
    """Estimated variances of logs, one a benchmark, and the degrees of freedom behind them.

    `pooled_freedom` counts the degrees of freedom of all that was put together, `freedom` what they
    are worth where they contradict each other; without any the value means nothing.
    """

    value: Array
    freedom: Array
    pooled_freedom: Array

    @staticmethod
    def of(value: Array, freedom: Array) -> Variances:
        return Variances(value, freedom, freedom)

    @staticmethod
    def of_squares(squares: Array, freedom: Array) -> Variances:
        """From sums of squares; not below what any benchmark repeats to."""
        value = np.maximum(squares / np.maximum(freedom, 1.0), SMALLEST_SD**2)
        return Variances.of(value, np.asarray(freedom, dtype=np.float64))

    def moderated(self, similar: Sequence[Hashable], alike: Array | None = None) -> Variances:
        """Each one steadied by those with the same key in `similar`.

        One without data of its own takes over that of the similar ones, or stays unknown. `alike`
        says as how many independent benchmarks those of its key count; None: as all of them.
        """
        alike = np.full_like(self.value, np.inf) if alike is None else alike
        lent, worth = np.zeros_like(self.value), np.zeros_like(self.value)
        group = numbered(similar)
        for number in range(int(group.max(initial=-1)) + 1):
            at = np.flatnonzero(group == number)
            prior = _prior(self.value[at], self.freedom[at])
            if prior is not None:
                lent[at], agreement = prior
                worth[at] = _worth(self.freedom[at], agreement, alike[at])
        return self._with(Variances.of(lent, worth))

    def as_typical(self, similar: Sequence[Hashable], worth: float) -> Array:
        """Their values if `worth` more degrees of freedom had shown what the quiet ones do.

        That is the lower quartile of their like, which does not follow those that were disturbed. A
        few times may be equal by chance, where benchmarks have two states.
        """
        typical, group = np.empty_like(self.value), numbered(similar)
        for number in range(int(group.max(initial=-1)) + 1):
            typical[group == number] = np.quantile(self.value[group == number], 0.25)
        total = self.freedom * self.value + worth * typical
        return np.asarray(total / (self.freedom + worth))

    def or_assumed(self, sd: Array) -> Variances:
        """The assumed standard deviation `sd` where nothing is known, a part of it where hardly.

        For two processes may agree by chance, and one degree of freedom would hide a doubling.
        """
        unknown, hardly = self.pooled_freedom == 0.0, self.pooled_freedom < _HARDLY_KNOWN
        few = self._with(Variances.of(sd**2, np.full_like(sd, _ASSUMED_WORTH)))
        least = np.where(self.freedom > 0.0, np.maximum(self.value, sd**2), sd**2)
        value, freedom = np.where(hardly, (few.value, few.freedom), (self.value, self.freedom))
        value, freedom = np.where(unknown, (least, np.full_like(sd, np.inf)), (value, freedom))
        return replace(self, value=value, freedom=freedom)

    def with_assumed(self, sd: Array, worth: float) -> Variances:
        """The mean of each one and of the assumed standard deviation `sd`, by their freedom.

        `worth` degrees of freedom say how far true variances lie from the assumed one: they are
        its prior (Smyth 2004), and no data leave less. So a second session or GPU, which taken
        alone knows nothing by its single degree of freedom, only adds to what is known.
        """
        pooled = self._with(Variances.of(sd**2, np.full_like(sd, worth)))
        total = self.freedom + worth
        value = (self.freedom * self.value + worth * sd**2) / total
        return Variances.of(value, np.maximum(pooled.freedom, worth))

    def steadied_by(self, elsewhere: Variances) -> Variances:
        """Each one steadied by what the same benchmark showed in other sessions."""
        worth = np.minimum(elsewhere.freedom, SESSIONS_ALIKE)
        return self._with(Variances.of(elsewhere.value, worth))

    def together_with(self, other: Variances) -> Variances:
        freedom = self.freedom + other.freedom
        squares = self.freedom * self.value + other.freedom * other.value
        return Variances.of_squares(squares, freedom)

    def _with(self, known: Variances) -> Variances:
        """The mean of both, weighted by their freedom, and never below its own value.

        Agreement of others is no proof that this one is quiet, nor does it hold where they
        contradict it: the freedom is that of a sum of two variances (Satterthwaite 1946), and never
        less than its own, for with a variance that is no smaller Student's test errs no more often.
        """
        own, other = self.freedom * self.value, known.freedom * known.value
        pooled = (own + other) / np.maximum(self.freedom + known.freedom, 1.0)
        inverse = own * self.value + other * known.value
        together = (own + other) ** 2 / np.maximum(inverse, np.finfo(np.float64).tiny)
        return replace(
            self,
            value=np.where(self.freedom > 0.0, np.maximum(pooled, self.value), pooled),
            freedom=np.maximum(together, self.freedom),
            pooled_freedom=self.pooled_freedom + known.freedom,
        )


def _prior(value: Array, freedom: Array) -> tuple[float, float] | None:
    """Variance s0² and freedom d0 of the population that these are from; None for too few."""
    known = freedom > 0.0
    if np.count_nonzero(known) < _FEWEST_SIMILAR:
        return None
    half = freedom[known] / 2.0
    logs = np.log(value[known]) - special.digamma(half) + np.log(half)
    excess = float(np.var(logs, ddof=1) - np.mean(special.zeta(2.0, half)))
    d0_half = _trigamma_inverse(excess) if excess > 0.0 else np.inf
    offset = special.digamma(d0_half) - np.log(d0_half) if np.isfinite(d0_half) else 0.0
    return float(np.exp(np.mean(logs) + offset)), 2.0 * float(d0_half)


def _worth(freedom: Array, d0: float, alike: Array) -> Array:
    """How many of the prior's d0 degrees of freedom count for each, by its own or a neighbour's."""
    known = freedom > 0.0
    typical = np.where(known, freedom, np.max(freedom))
    return np.asarray(np.minimum(d0, typical * np.minimum(_MOST_WORTH, alike - known)))


def _trigamma_inverse(target: float) -> float:
    """x with trigamma(x) = target > 0, by Newton's method on 1/trigamma (Smyth 2004, appendix)."""
    x = 0.5 + 1.0 / target
    for _ in range(50):
        trigamma = float(special.zeta(2.0, x))
        step = trigamma * (1.0 - trigamma / target) / float(-2.0 * special.zeta(3.0, x))
        x += step
        if abs(step) < 1e-9 * x:
            break
    return x


def independent(similar: Sequence[Hashable], row: Index, column: Index, deviations: Array) -> Array:
    """For each benchmark how many independent ones those with its key in `similar` are.

    What moves many by the same amount is one draw, as a GPU's temperature. `deviations` are those
    of sessions or GPUs (`column`) from the middle of a benchmark (`row`).
    Of m benchmarks whose deviations correlate by r the variances correlate by r², and their mean is
    known as well as that of m / (1 + (m - 1) r²) independent ones (Kish 1965, "Survey sampling",
    5.4, the design effect). r is the mean over all pairs of them.
    """
    group = numbered(similar)
    groups, columns = (int(part.max(initial=-1)) + 1 for part in (group, column))
    lengths = np.sqrt(sums_by(row, deviations**2, len(similar)))
    moving = lengths > 0.0
    shares = deviations / np.where(moving, lengths, 1.0)[row]
    cell = group[row] * columns + column
    together = sums_by(cell, shares, groups * columns).reshape(groups, columns)
    members = sums_by(group, moving.astype(float), groups)
    pairs = np.maximum(members * (members - 1.0), 1.0)
    r = np.clip((np.sum(together**2, axis=1) - members) / pairs, 0.0, 1.0)
    effective = np.maximum(members, 1.0) / (1.0 + np.maximum(members - 1.0, 0.0) * r**2)
    return np.asarray(effective[group])
