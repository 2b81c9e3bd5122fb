# SPDX-License-Identifier: Apache-2.0
"""Variances of benchmarks with few data of their own, moderated by those of similar ones.

Seven processes know their own spread to within a factor of two. Thirty similar benchmarks know it
much better. They count more the better their variances agree: Smyth 2004, "Linear models and
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
# moved by 0.01 %. By chance, a timer's tick can make a few processes agree to the last digit.
SMALLEST_SD = 1e-4

# Similar benchmarks count at most this many times as much as a benchmark's own data. They ran in
# the same processes and on the same GPUs, so they are not independent.
_MOST_WORTH = 2.0

# The most degrees of freedom that other sessions add to the variance between processes: d0 of the
# same method in four sessions of 105 benchmarks on H200s (device 6.4, host 6.6).
SESSIONS_ALIKE = 6.0

# With fewer degrees of freedom a variance is hardly known; an assumed one counts _ASSUMED_WORTH.
_HARDLY_KNOWN = 4.0
_ASSUMED_WORTH = 4.0

# Fewer similar benchmarks do not show how well they agree.
_FEWEST_SIMILAR = 4


@dataclass(frozen=True)
class Variances:
    """Estimated variances of logs, one per benchmark, and their degrees of freedom.

    `pooled_freedom` counts the degrees of freedom of all pooled data. `freedom` is their worth,
    less if they contradict each other. Without any, the value means nothing.
    """

    value: Array
    freedom: Array
    pooled_freedom: Array

    @staticmethod
    def of(value: Array, freedom: Array) -> Variances:
        return Variances(value, freedom, freedom)

    @staticmethod
    def of_squares(squares: Array, freedom: Array) -> Variances:
        """Return the variances from sums of squares, at least `SMALLEST_SD` squared."""
        value = np.maximum(squares / np.maximum(freedom, 1.0), SMALLEST_SD**2)
        return Variances.of(value, np.asarray(freedom, dtype=np.float64))

    def moderated(self, similar: Sequence[Hashable], alike: Array | None = None) -> Variances:
        """Return each variance moderated by those with the same key in `similar`.

        A benchmark without own data takes the similar ones' variance, or stays unknown. `alike` is
        the number of independent benchmarks that those of its key count as; None: all of them.
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

    def or_assumed(self, sd: Array) -> Variances:
        """Use the assumed standard deviation `sd` if nothing is known, and mix it in if little is.

        Two processes may agree by chance, and one degree of freedom would hide a doubling.
        """
        unknown, hardly = self.pooled_freedom == 0.0, self.pooled_freedom < _HARDLY_KNOWN
        few = self._with(Variances.of(sd**2, np.full_like(sd, _ASSUMED_WORTH)))
        least = np.where(self.freedom > 0.0, np.maximum(self.value, sd**2), sd**2)
        value, freedom = np.where(hardly, (few.value, few.freedom), (self.value, self.freedom))
        value, freedom = np.where(unknown, (least, np.full_like(sd, np.inf)), (value, freedom))
        return replace(self, value=value, freedom=freedom)

    def with_assumed(self, sd: Array, worth: float) -> Variances:
        """Return the mean of each variance and of the assumed `sd` squared, by their freedom.

        `worth` degrees of freedom, the prior of Smyth 2004, express how far true variances lie from
        the assumed one; the result never has fewer. So a second session or GPU, whose single degree
        of freedom alone shows nothing, only adds information.
        """
        pooled = self._with(Variances.of(sd**2, np.full_like(sd, worth)))
        total = self.freedom + worth
        value = (self.freedom * self.value + worth * sd**2) / total
        return Variances.of(value, np.maximum(pooled.freedom, worth))

    def steadied_by(self, elsewhere: Variances) -> Variances:
        """Return each variance moderated by the same benchmark's in other sessions."""
        worth = np.minimum(elsewhere.freedom, SESSIONS_ALIKE)
        return self._with(Variances.of(elsewhere.value, worth))

    def together_with(self, other: Variances) -> Variances:
        freedom = self.freedom + other.freedom
        squares = self.freedom * self.value + other.freedom * other.value
        return Variances.of_squares(squares, freedom)

    def _with(self, known: Variances) -> Variances:
        """Return the mean of both, weighted by their freedom, and never below its own value.

        Others' agreement does not prove that this one is quiet, nor does it hold if they contradict
        it. So the freedom is that of a sum of two variances (Satterthwaite 1946), but at least its
        own: if the variance is no smaller, Student's test errs no more often.
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
    """Return variance s0² and freedom d0 of the population of these; None if there are too few."""
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
    """Return how many of the prior's d0 degrees of freedom count for each benchmark."""
    known = freedom > 0.0
    typical = np.where(known, freedom, np.max(freedom))
    return np.asarray(np.minimum(d0, typical * np.minimum(_MOST_WORTH, alike - known)))


def _trigamma_inverse(target: float) -> float:
    """Solve trigamma(x) = target > 0 by Newton's method on 1/trigamma (Smyth 2004, appendix)."""
    x = 0.5 + 1.0 / target
    for _ in range(50):
        trigamma = float(special.zeta(2.0, x))
        step = trigamma * (1.0 - trigamma / target) / float(-2.0 * special.zeta(3.0, x))
        x += step
        if abs(step) < 1e-9 * x:
            break
    return x


def independent(similar: Sequence[Hashable], row: Index, column: Index, deviations: Array) -> Array:
    """Return the effective number of independent benchmarks among those with each one's key.

    What moves many by the same amount, such as a GPU's temperature, is one draw. `deviations` are
    those of sessions or GPUs (`column`) from the middle of a benchmark (`row`).
    If the deviations of m benchmarks correlate by r, their variances correlate by r². Their mean is
    as precise as that of m / (1 + (m - 1) r²) independent ones (Kish 1965, "Survey sampling", 5.4,
    the design effect). r is the mean over all pairs of them.
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
