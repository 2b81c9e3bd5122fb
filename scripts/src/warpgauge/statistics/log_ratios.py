# SPDX-License-Identifier: Apache-2.0
"""Pure statistics of log ratios, in arrays of benchmarks because distributions are fast there.

Times are compared as logarithms. Noise is then a factor (a slow machine is 2 % slower, not 2 µs
slower), and a difference of logs is a relative change that is symmetric in both sides.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import special

_NORMAL_FREEDOM = 1e9  # scipy's t then equals the normal distribution to eight digits

Array = NDArray[np.float64]
Index = NDArray[np.intp]


@dataclass(frozen=True)
class Estimates:
    """Log ratios candidate / baseline, positive if slower, and their precision.

    `error` is the standard error, `freedom` its degrees of freedom (inf if assumed).
    """

    log_ratio: Array
    error: Array
    freedom: Array

    @property
    def p(self) -> Array:
        """Two-sided p of no change, by Student's t."""
        return np.asarray(2.0 * special.stdtr(self._freedom, -np.abs(self.log_ratio / self.error)))

    def reach(self, chance: Array | float) -> Array:
        """Return how far the true log ratio lies above the estimate with probability `chance`."""
        return np.asarray(self.error * special.stdtrit(self._freedom, 1.0 - np.asarray(chance)))

    @property
    def _freedom(self) -> Array:
        return np.minimum(self.freedom, _NORMAL_FREEDOM)


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
class Tests:
    """The results of benchmarks, with both sides' typical log seconds and numbers of processes.

    `assumed` is 1 if plain files did not show how far processes scatter, else 0.
    """

    found: Found
    baseline_log: Array
    candidate_log: Array
    baseline_processes: Array
    candidate_processes: Array
    assumed: Array

    def each(self) -> list[Tested]:
        """Return the tests of single benchmarks, in order."""
        found = self.found
        changes = found.log_ratio, found.low, found.high, found.bound, found.p
        processes = self.baseline_processes.astype(int), self.candidate_processes.astype(int)
        columns = self.baseline_log, self.candidate_log, *changes, *processes, self.assumed > 0.0
        return [*map(Tested, *(column.tolist() for column in columns))]


@dataclass(frozen=True)
class Tested:
    """The test of one benchmark, in logs of seconds and of ratios."""

    baseline_log: float
    candidate_log: float
    log_ratio: float
    low: float
    high: float
    bound: float
    p: float
    baseline_processes: int
    candidate_processes: int
    assumed: bool


def combined_freedom(*parts: tuple[Array, Array]) -> tuple[Array, Array]:
    """Return variance and degrees of freedom of a sum from the (variance, freedom) of its parts.

    Satterthwaite 1946, "An approximate distribution of estimates of variance components".
    """
    variance = np.sum([variance for variance, _ in parts], axis=0)
    inverse = np.sum([part**2 / freedom for part, freedom in parts], axis=0)
    return variance, variance**2 / np.maximum(inverse, variance**2 / _NORMAL_FREEDOM)


def centre(values: Array) -> Array:
    """Return the median of the means of all pairs along the last axis, including self-pairs.

    For normal values its error is hardly larger than the mean's, and two wild values of seven
    move it little (Hodges and Lehmann 1963, "Estimates of location based on rank tests").
    """
    one, other = np.triu_indices(values.shape[-1])
    return np.asarray(np.median((values[..., one] + values[..., other]) / 2.0, axis=-1))
