# SPDX-License-Identifier: Apache-2.0
"""Pure statistics of log ratios, in arrays of benchmarks because distributions are fast there.

Times are compared as logarithms. Noise is then a factor (a slow machine is 2 % slower, not 2 µs
slower), and a difference of logs is a relative change that is symmetric in both sides.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import special

_NORMAL_FREEDOM = 1e9  # scipy's t then equals the normal distribution to eight digits

# No benchmark repeats better than this (standard deviation of the log).
SMALLEST_SD = 1e-4

# If all times are the same, their difference may be a single tick of the clock.
UNKNOWN_TICK = math.log(2.0)

# Degrees of freedom of what is assumed: boots have heavy tails, and benchmarks differ.
HEAVY_TAILS = 4.0

Array = NDArray[np.float64]
Index = NDArray[np.intp]


@dataclass(frozen=True)
class Estimates:
    """Log ratios candidate / baseline, positive if slower, and their precision.

    `error` is the standard error, `freedom` its degrees of freedom.
    """

    log_ratio: Array
    error: Array
    freedom: Array

    @property
    def p(self) -> Array:
        """Two-sided p of no change, by Student's t."""
        return np.asarray(2.0 * special.stdtr(self.freedom, -np.abs(self.log_ratio / self.error)))

    def reach(self, chance: Array | float) -> Array:
        """Return how far the true log ratio lies above the estimate with probability `chance`."""
        return np.asarray(self.error * special.stdtrit(self.freedom, 1.0 - np.asarray(chance)))


@dataclass(frozen=True)
class Found:
    """For each benchmark the change as a log ratio, its interval and bound, and p of no change.

    `CONFIDENCE` of the intervals hold the true change. `BOUND_CONFIDENCE` of the bounds are not
    exceeded by it.
    """

    log_ratio: Array
    low: Array
    high: Array
    bound: Array
    p: Array


@dataclass(frozen=True)
class Tested:
    """The test of one benchmark, in logs of seconds and of ratios.

    It has the typical times of both sides and their numbers of processes. `assumed` says whether
    plain files did not show how far processes scatter.
    """

    log_ratio: float
    low: float
    high: float
    bound: float
    p: float
    baseline_log: float
    candidate_log: float
    baseline_processes: int
    candidate_processes: int
    assumed: bool


def each(found: Found, *others: NDArray[Any]) -> list[Tested]:
    """Return the tests of single benchmarks; `others` are the other fields of `Tested`."""
    return [*map(Tested, *(column.tolist() for column in (*vars(found).values(), *others)))]


def combined_freedom(*parts: tuple[Array, Array]) -> tuple[Array, Array]:
    """Return variance and degrees of freedom of a sum from the (variance, freedom) of its parts.

    Satterthwaite 1946, "An approximate distribution of estimates of variance components".
    """
    variance = np.sum([variance for variance, _ in parts], axis=0)
    inverse = np.sum([part**2 / freedom for part, freedom in parts], axis=0)
    return variance, variance**2 / np.maximum(inverse, variance**2 / _NORMAL_FREEDOM)


def means_of_two(values: Array) -> Array:
    """Return the means of all two values along the last axis, and of each with itself."""
    one, other = np.triu_indices(values.shape[-1])
    return np.asarray((values[..., one] + values[..., other]) / 2.0)


def centre(values: Array) -> Array:
    """Return the median of `means_of_two`.

    For normal values its error is hardly larger than the mean's, and two wild values of seven
    move it little (Hodges and Lehmann 1963, "Estimates of location based on rank tests").
    """
    return np.asarray(np.median(means_of_two(values), axis=-1))


def inflation(estimates: Estimates, rows: Index) -> float:
    """Return how many times further than their errors say the changes of these rows reach, from 1.

    So many if half of the changes, about their median, lie within so many times the quartile of
    Student's t: Devlin and Roeder 1999, "Genomic control for association studies". A minority of
    real changes hardly moves a median.
    """
    apart = np.abs(estimates.log_ratio[rows] - np.median(estimates.log_ratio[rows]))
    return max(1.0, float(np.median(apart / estimates.reach(0.25)[rows])))


def rarity(changes: Array) -> Array:
    """Return p of each change among the others, if these have heavy tails."""
    spread = np.median(np.abs(changes - np.median(changes))) / special.ndtri(0.75)
    scaled = np.abs(changes) / max(float(spread), SMALLEST_SD)
    return np.asarray(2.0 * special.stdtr(HEAVY_TAILS, -scaled))


def reached(distances: Array, variances: Array, assumed: float) -> Array:
    """Return the share of the suite's rows whose states lie so far apart.

    Two states that are x apart scatter with a standard deviation of x / 2. A row's states may also
    lie further apart than it shows, with heavy tails. Of one more row nothing is known but what is
    assumed between processes.
    """
    powers = np.sort(np.append((4.0 * variances) ** 2, assumed**4))
    reach = np.maximum(distances, SMALLEST_SD) ** 4
    below = np.searchsorted(powers, reach)
    total = np.append(0.0, np.cumsum(powers))[below]
    return np.asarray((len(powers) - below + total / reach) / len(distances))
