# SPDX-License-Identifier: Apache-2.0
"""How far chance moves the benchmarks of a suite, by how far their own changes lie apart.

Most benchmarks of a comparison have not changed, or all by the same factor: what is left of their
changes is noise. It tells where neither side shows how far processes scatter, and where that is no
measure of how far two sides lie apart: processes that resemble each other, a drift, a boot that
moves times by more than boots are assumed to.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import replace

import numpy as np
from scipy import special

from warpgauge.statistics.error_rates import ALPHA
from warpgauge.statistics.log_ratios import Array, Estimates
from warpgauge.statistics.samples import numbered

# With fewer benchmarks one real change would be a good part of what is taken for noise.
_FEWEST = 8
# What lies beyond the half of the deviations may be real changes, without a trace in the scatter;
# so many of the outermost are left out of how heavy the tails are.
_HALF, _LEFT_OUT = 0.5, 0.03
# A scale by their median is as well known as by the squares of so many of them (Hampel 1974).
_MEDIAN_WORTH = 0.37

# Tails as heavy as Student's t with so many degrees of freedom; the first unless the suite shows
# lighter ones. Heavier tails would hide changes: with 3 the largest of 200 unchanged benchmarks may
# lie at 35 standard deviations, and nobody could tell a doubling from it.
_TAILS = np.array([4.0, 4.5, 5.0, 6.0, 8.0, 12.0, 20.0, 1e6])


def widened(estimates: Estimates, unknown: Array, similar: Sequence[Hashable]) -> Estimates:
    """Those that are `unknown` (1, else 0) by the scatter of their like, where that reaches on.

    Reaches further, that is, at the p that one of so many benchmarks needs to count.
    """
    error, freedom = estimates.error.copy(), estimates.freedom.copy()
    group = numbered(similar)
    for number in range(int(group.max(initial=-1)) + 1):
        at = np.flatnonzero((group == number) & (unknown > 0.0))
        if len(at) < _FEWEST:
            continue
        sd, tails = scatter(estimates.log_ratio[at])
        p = ALPHA / len(estimates.log_ratio)
        further = sd * _reach(tails, p) > error[at] * _reach(freedom[at], p)
        error[at] = np.where(further, sd, error[at])
        freedom[at] = np.where(further, tails, freedom[at])
    return replace(estimates, error=error, freedom=freedom)


def inflated(estimates: Estimates, similar: Sequence[Hashable]) -> Estimates:
    """Errors that are too small for their like, by as much as these are on the average.

    Half of Student's t lie within its quartiles. Where half of the changes, about their middle, lie
    within c > 1 times as far, errors are c times as large: genomic control, Devlin and Roeder 1999,
    "Genomic control for association studies". Changes of a minority hardly count in a median.
    """
    error, freedom = estimates.error.copy(), estimates.freedom.copy()
    group = numbered(similar)
    for number in range(int(group.max(initial=-1)) + 1):
        at = np.flatnonzero(group == number)
        if len(at) < _FEWEST:
            continue
        apart = np.abs(estimates.log_ratio[at] - np.median(estimates.log_ratio[at]))
        quartile = _reach(freedom[at], 1.0 - _HALF)
        scale = float(np.median(apart / (error[at] * quartile)))
        if scale > 1.0:
            error[at] *= scale
            freedom[at] = 1.0 / (1.0 / freedom[at] + 1.0 / (_MEDIAN_WORTH * len(at)))
    return replace(estimates, error=error, freedom=freedom)


def scatter(changes: Array) -> tuple[float, float]:
    """Standard deviation of unchanged benchmarks about the middle of all, and their tails.

    By the median absolute deviation (Hampel 1974, "The influence curve and its role in robust
    estimation"); the tails, as degrees of freedom of Student's t, by how much farther out the
    outermost few begin (Hogg 1974, "Adaptive robust procedures"), less what chance may make of it.
    """
    deviations = np.sort(np.abs(changes - np.median(changes)))
    count = len(deviations)
    half = float(np.median(deviations))
    if half == 0.0:
        return 0.0, float(_TAILS[0])
    outermost = max(1, int(np.ceil(_LEFT_OUT * count)))
    p = (outermost + 0.5) / count
    seen = np.log(max(float(deviations[-1 - outermost]), half) / half) + 1.0 / np.sqrt(count)
    as_far = np.log(_reach(_TAILS, p) / _reach(_TAILS, 1.0 - _HALF)) >= seen
    tails = float(_TAILS[as_far][-1]) if as_far.any() else float(_TAILS[0])
    return half / float(special.ndtri(0.5 + _HALF / 2)), tails


def _reach(freedom: Array | float, p: float) -> Array:
    """How far from zero all but this share of Student's t lies."""
    return np.asarray(special.stdtrit(np.minimum(freedom, _TAILS[-1]), 1.0 - p / 2))
