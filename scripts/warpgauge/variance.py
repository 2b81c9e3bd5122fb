# SPDX-License-Identifier: Apache-2.0
"""Variances of benchmarks that have few data of their own, steadied by those of similar ones.

Seven processes know their own spread to within a factor of two. Thirty similar benchmarks know it
much better, as far as they agree. How far they do is estimated from how much their variances
differ, and the more they agree the more they count: Smyth 2004, "Linear models and empirical Bayes
methods for assessing differential expression in microarray experiments", section 6.2.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass

import numpy as np
from scipy import special

from warpgauge.stats import Array

# No benchmark repeats better than this (standard deviation of the log): the quietest ever measured
# moved by 0.01 %. A timer's tick can make a handful of processes agree to the last digit, and that
# must not read as certainty.
SMALLEST_SD = 1e-4

# Similar benchmarks count at most this many times as much as a benchmark's own data, however much
# they agree: they ran in the same processes and on the same GPUs, so that they are no independent
# witnesses, and one unlike the others must be able to say so.
_MOST_WORTH = 2.0

# Below so many degrees of freedom a variance is hardly known, and what is assumed of it counts as
# much as so many.
_HARDLY_KNOWN = 4.0
_ASSUMED_WORTH = 4.0

# With fewer similar benchmarks than this nothing can be said of how far they agree.
_FEWEST_SIMILAR = 4

_NEWTON_STEPS = 50


@dataclass(frozen=True)
class Variances:
    """Estimated variances of logs, one a benchmark, and the degrees of freedom behind them.

    No freedom: nothing is known, and the value means nothing.
    """

    value: Array
    freedom: Array

    @staticmethod
    def of_squares(squares: Array, freedom: Array) -> Variances:
        """From sums of squares; not below what any benchmark repeats to."""
        value = np.maximum(squares / np.maximum(freedom, 1.0), SMALLEST_SD**2)
        return Variances(value, np.asarray(freedom, dtype=np.float64))

    def moderated(self, similar: Sequence[Hashable]) -> Variances:
        """Each one steadied by those with the same key in `similar`.

        Never below its own estimate: agreement of others is no proof that this one is quiet. One
        without data of its own takes over that of the similar ones, or stays unknown.
        """
        value, freedom = self.value.copy(), self.freedom.copy()
        members: dict[Hashable, list[int]] = {}
        for index, key in enumerate(similar):
            members.setdefault(key, []).append(index)
        for indices in members.values():
            at = np.array(indices)
            prior = _prior(self.value[at], self.freedom[at])
            if prior is not None:
                value[at], freedom[at] = _posterior(self.value[at], self.freedom[at], *prior)
        return Variances(value, freedom)

    def or_else(self, other: Variances) -> Variances:
        """`other` where nothing is known."""
        unknown = self.freedom == 0.0
        return Variances(
            np.where(unknown, other.value, self.value),
            np.where(unknown, other.freedom, self.freedom),
        )

    def or_assumed(self, sd: Array) -> Variances:
        """The assumed standard deviation `sd` where nothing is known, a part of it where hardly.

        Of two GPUs, say, that agree by chance; Student's t with one degree of freedom would call
        a doubling compatible with them.
        """
        unknown, hardly = self.freedom == 0.0, self.freedom < _HARDLY_KNOWN
        few = self.steadied_by(Variances(sd**2, np.full_like(sd, _ASSUMED_WORTH)), _ASSUMED_WORTH)
        value, freedom = (
            np.where(hardly, steadied, own)
            for steadied, own in ((few.value, self.value), (few.freedom, self.freedom))
        )
        return Variances(np.where(unknown, sd**2, value), np.where(unknown, np.inf, freedom))

    def steadied_by(self, known: Variances, most_worth: float = _MOST_WORTH) -> Variances:
        """Each one steadied by what is `known` of the same benchmark from elsewhere.

        That counts at most `most_worth` times as much as its own data.
        """
        worth = np.minimum(known.freedom, most_worth * np.maximum(self.freedom, 1.0))
        freedom = self.freedom + worth
        both = self.freedom * self.value + worth * known.value
        pooled = both / np.maximum(freedom, 1.0)
        return Variances(
            np.where(self.freedom > 0, np.maximum(pooled, self.value), pooled), freedom
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


def _posterior(value: Array, freedom: Array, s0: float, d0: float) -> tuple[Array, Array]:
    most = _MOST_WORTH * np.where(freedom > 0.0, freedom, np.max(freedom))
    worth = np.minimum(d0, most)
    total = freedom + worth
    pooled = (freedom * value + worth * s0) / total
    return np.where(freedom > 0.0, np.maximum(pooled, value), pooled), total


def _trigamma_inverse(target: float) -> float:
    """x with trigamma(x) = target > 0, by Newton's method on 1/trigamma, which is nearly linear.

    Smyth 2004, appendix.
    """
    x = 0.5 + 1.0 / target
    for _ in range(_NEWTON_STEPS):
        trigamma = float(special.zeta(2.0, x))
        step = trigamma * (1.0 - trigamma / target) / float(-2.0 * special.zeta(3.0, x))
        x += step
        if abs(step) < 1e-9 * x:
            break
    return x
