# SPDX-License-Identifier: Apache-2.0
"""Estimate from a suite's own changes how far chance moves its benchmarks.

Most benchmarks of a comparison have not changed, or all have by the same factor. The rest of their
changes is noise. It is used if neither side shows how far processes scatter, and if that scatter
does not measure how far two sides lie apart: processes that resemble each other, a drift, or a boot
that moves times more than boots are assumed to.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import replace

import numpy as np
from scipy import special

from warpgauge.statistics.error_rates import ALPHA
from warpgauge.statistics.log_ratios import Array, Estimates
from warpgauge.statistics.samples import numbered

# With fewer benchmarks, one real change would be a large part of the assumed noise.
_FEWEST = 8
# The inner half of the deviations gives the scatter, so real changes beyond it leave no trace. This
# share of the outermost is ignored when estimating the tails.
_HALF, _LEFT_OUT = 0.5, 0.03
# A scale from the median is as precise as one from the squares of this share of them (Hampel 1974).
_MEDIAN_WORTH = 0.37

# Degrees of freedom of Student's t for the tails; the first unless the suite shows lighter tails.
# Heavier tails would hide changes: with 3, the largest of 200 unchanged benchmarks may lie at 35
# standard deviations, so that a doubling would not be recognised.
_TAILS = np.array([4.0, 4.5, 5.0, 6.0, 8.0, 12.0, 20.0, 1e6])


def widened(estimates: Estimates, unknown: Array, similar: Sequence[Hashable]) -> Estimates:
    """Widen the estimates that are `unknown` (1, else 0) to the scatter of similar ones.

    They are widened only if that reaches further, at the p that one of all benchmarks needs.
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
    """Enlarge errors that are too small for the scatter of similar benchmarks.

    Half of Student's t lies within its quartiles. If half of the changes, about their median, lie
    within c > 1 times that, errors are multiplied by c: genomic control, Devlin and Roeder 1999,
    "Genomic control for association studies". A minority of real changes hardly moves a median.
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
    """Return the standard deviation of unchanged benchmarks about the median, and their tails.

    By the median absolute deviation (Hampel 1974, "The influence curve and its role in robust
    estimation"). The tails are degrees of freedom of Student's t, from how much farther out the
    outermost few begin (Hogg 1974, "Adaptive robust procedures"), less an allowance for chance.
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
    """Return the distance from zero that this share of Student's t exceeds."""
    return np.asarray(special.stdtrit(np.minimum(freedom, _TAILS[-1]), 1.0 - p / 2))
