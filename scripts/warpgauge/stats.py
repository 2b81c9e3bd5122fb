# SPDX-License-Identifier: Apache-2.0
"""Pure statistics of two sides' times, on a log scale, many benchmarks at once.

Times are compared as logarithms: noise is a factor there (a slow machine is 2 % slower, not 2 µs
slower), and a difference of logs is a relative change, the same seen from either side.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import special

# Chance of calling a benchmark changed whose times are only noise. 0.001 makes that one benchmark
# in a thousand, so that a suite of 50 stays silent in 19 runs of 20 even before the minimum effect
# is asked for, which removes nearly all that are left.
ALPHA = 0.001

# Share of intervals that hold the true change, for the intervals that are shown.
CONFIDENCE = 0.95

# "The smallest change that could have been seen" is the one found nine times in ten.
POWER = 0.9

# How far one process's median lies from another's where there is only one to look at: standard
# deviation of its log. Event-timed kernels move 2 to 3 % from process to process.
ASSUMED_PROCESS_SD = 0.03

# No benchmark repeats better than this (standard deviation of the log): the quietest ever measured
# moved by 0.01 %. A timer's tick can make a handful of processes agree to the last digit, and that
# must not read as certainty.
SMALLEST_SD = 1e-4

# The median of n normal values scatters sqrt(pi/2) times as much as their mean.
_MEDIAN_VARIANCE = math.pi / 2

Array = NDArray[np.float64]


@dataclass(frozen=True)
class Center:
    """The typical time of a benchmark in one session, and how well it is known.

    `variance` is that of `log_seconds` itself, `freedom` the degrees of freedom behind it
    (infinite where the variance is assumed), `processes` how many of them spoke.
    """

    log_seconds: float
    variance: float
    freedom: float
    processes: int


def center_of_processes(medians: Sequence[float]) -> Center:
    """Center of the medians (seconds) of several processes: their geometric mean.

    A single process says nothing about the next, and falls back on `ASSUMED_PROCESS_SD`.
    """
    if len(medians) < 2:
        return center_of_one_process(medians)
    logs = [math.log(median) for median in medians]
    count = len(logs)
    mean = math.fsum(logs) / count
    spread = math.fsum((log - mean) ** 2 for log in logs) / (count - 1)
    return Center(mean, max(spread, SMALLEST_SD**2) / count, count - 1.0, count)


def center_of_one_process(repetitions: Sequence[float]) -> Center:
    """Center of the repetitions (seconds) of a single process: their median.

    Its variance is the assumed one between processes plus what the repetitions leave open;
    freedom as in Satterthwaite 1946, "An approximate distribution of estimates of variance
    components", with an infinite one for the assumed part.
    """
    logs = [math.log(repetition) for repetition in repetitions]
    between, count = ASSUMED_PROCESS_SD**2, len(logs)
    within = _MEDIAN_VARIANCE * statistics.variance(logs) / count if count > 1 else 0.0
    total = between + within
    freedom = (count - 1) * (total / within) ** 2 if within > 1e-6 * between else math.inf
    return Center(statistics.median(logs), total, freedom, 1)


def noise_floor(references: Sequence[Center], candidate: Center) -> float:
    """Log ratio that the scatter between processes, of the noisier side, makes without a cause.

    Three standard errors of the difference of two centers. Zero where a side has not the two
    processes that it takes to know.
    """
    if candidate.processes < 2 or any(center.processes < 2 for center in references):
        return 0.0
    centers = (*references, candidate)
    between = max(center.variance * center.processes for center in centers)
    fewest = min(center.processes for center in references)
    return 3.0 * math.sqrt(between * (1.0 / fewest + 1.0 / candidate.processes))


@dataclass(frozen=True)
class Differences:
    """Log ratios candidate / baseline, one a pair of centers, positive where it got slower.

    `low` and `high` enclose the true one with `CONFIDENCE`; `p` is the two-sided chance of noise
    alone lying this far out; `detectable` is the smallest log ratio found with `POWER` at `alpha`.
    """

    log_ratio: Array
    low: Array
    high: Array
    p: Array
    detectable: Array


def welch(
    baseline: Sequence[Center], candidate: Sequence[Center], alpha: float = ALPHA
) -> Differences:
    """Welch's unequal-variances t test of every candidate center against its baseline center.

    Welch 1947, "The generalization of 'Student's' problem when several different population
    variances are involved", with the Welch-Satterthwaite degrees of freedom.
    """
    base_log, base_variance, base_freedom = _columns(baseline)
    cand_log, cand_variance, cand_freedom = _columns(candidate)
    log_ratio = cand_log - base_log
    variance = base_variance + cand_variance
    freedom_inverse = (
        base_variance**2 / base_freedom + cand_variance**2 / cand_freedom
    ) / variance**2
    error = np.sqrt(variance)
    # scipy's t at 1e9 degrees of freedom is the normal distribution to eight digits.
    freedom = 1.0 / np.maximum(freedom_inverse, 1e-9)
    half = error * special.stdtrit(freedom, 0.5 + CONFIDENCE / 2)
    critical = special.stdtrit(freedom, 1.0 - alpha / 2)
    return Differences(
        log_ratio=log_ratio,
        low=log_ratio - half,
        high=log_ratio + half,
        p=2.0 * special.stdtr(freedom, -np.abs(log_ratio / error)),
        detectable=error * _noncentrality(critical, freedom),
    )


def _noncentrality(critical: Array, freedom: Array) -> Array:
    """How many standard errors a true change must measure to pass `critical` with `POWER`.

    Noncentral t by its normal approximation, Abramowitz and Stegun 26.7.10.
    """
    reach = special.ndtri(POWER) * np.sqrt(1.0 + critical**2 / (2.0 * freedom))
    return np.asarray(critical * (1.0 - 1.0 / (4.0 * freedom)) + reach)


def _columns(centers: Sequence[Center]) -> tuple[Array, Array, Array]:
    table = np.array([(c.log_seconds, c.variance, c.freedom) for c in centers], dtype=np.float64)
    table = table.reshape(-1, 3)
    return table[:, 0], table[:, 1], table[:, 2]
