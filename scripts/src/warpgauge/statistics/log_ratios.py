# SPDX-License-Identifier: Apache-2.0
"""Pure statistics of log ratios, many benchmarks at once: the distributions are fast by the array.

Times are compared as logarithms: noise is a factor there (a slow machine is 2 % slower, not 2 µs
slower), and a difference of logs is a relative change, the same seen from either side.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import special

from warpgauge.statistics.error_rates import CONFIDENCE, FLOOR_ERRORS, POWER

_NORMAL_FREEDOM = 1e9  # of scipy's t, which is then the normal distribution to eight digits

Array = NDArray[np.float64]


@dataclass(frozen=True)
class Estimates:
    """Log ratios candidate / baseline, positive where it got slower, and how well they are known.

    `error` is the standard error, `freedom` the degrees of freedom behind it (inf if assumed).
    """

    log_ratio: Array
    error: Array
    freedom: Array

    @property
    def p(self) -> Array:
        """Two-sided chance that noise alone lies this far out, by Student's t."""
        return np.asarray(2.0 * special.stdtr(self._freedom, -np.abs(self.log_ratio / self.error)))

    @property
    def half_width(self) -> Array:
        """Of the interval around the log ratio that holds the true one with `CONFIDENCE`."""
        return np.asarray(self.error * special.stdtrit(self._freedom, 0.5 + CONFIDENCE / 2))

    @property
    def noise_floor(self) -> Array:
        """Log ratio below which no change is called one."""
        return FLOOR_ERRORS * self.error

    def detectable(self, alpha: float, minimum: Array) -> Array:
        """The smallest true log ratio found with `POWER` at `alpha`, if it must measure `minimum`.

        Noncentral t by its normal approximation, Abramowitz and Stegun 26.7.10.
        """
        critical = np.maximum(special.stdtrit(self._freedom, 1.0 - alpha / 2), FLOOR_ERRORS)
        reach = special.ndtri(POWER)
        spread = reach * np.sqrt(1.0 + critical**2 / (2.0 * self._freedom))
        by_test = critical * (1.0 - 1.0 / (4.0 * self._freedom)) + spread
        return np.asarray(np.maximum(self.error * by_test, minimum + reach * self.error))

    @property
    def _freedom(self) -> Array:
        return np.minimum(self.freedom, _NORMAL_FREEDOM)


@dataclass(frozen=True)
class Tests:
    """Estimates of benchmarks, with both sides' typical log seconds, and their processes.

    `by_themselves` is what each benchmark alone would have one believe, where others had a say.
    `assumed` is 1 where plain files did not show how far processes scatter, else 0.
    """

    estimates: Estimates
    by_themselves: Estimates
    baseline_log: Array
    candidate_log: Array
    baseline_processes: Array
    candidate_processes: Array
    assumed: Array

    def each(self, p: Array, detectable: Array) -> list[Tested]:
        """One by one, with p values and detectable log ratios for as many as are judged."""
        found = self.estimates
        ratios = found.log_ratio, found.half_width, found.noise_floor, p, detectable
        processes = self.baseline_processes.astype(int), self.candidate_processes.astype(int)
        columns = self.baseline_log, self.candidate_log, *ratios, *processes, self.assumed > 0.0
        return [*map(Tested, *(column.tolist() for column in columns))]


@dataclass(frozen=True)
class Tested:
    """The test of one benchmark: logs of seconds and of ratios, adjusted p."""

    baseline_log: float
    candidate_log: float
    log_ratio: float
    half_width: float
    noise_floor: float
    p: float
    detectable: float
    baseline_processes: int
    candidate_processes: int
    assumed: bool


def combined_freedom(*parts: tuple[Array, Array]) -> tuple[Array, Array]:
    """Variance and degrees of freedom of a sum, of the (variance, freedom) of its parts.

    Satterthwaite 1946, "An approximate distribution of estimates of variance components".
    """
    variance = np.sum([variance for variance, _ in parts], axis=0)
    inverse = np.sum([part**2 / freedom for part, freedom in parts], axis=0)
    return variance, variance**2 / np.maximum(inverse, variance**2 / _NORMAL_FREEDOM)


def benjamini_hochberg(p: Array) -> Array:
    """p values adjusted so that of those below alpha a share of alpha, at most, is false.

    Where nothing is true, the chance of even one below alpha is alpha. Benjamini and Hochberg
    1995, "Controlling the false discovery rate"; holds under positive dependence, too (Benjamini
    and Yekutieli 2001), and benchmarks of one machine move together.
    """
    order, adjusted = np.argsort(p)[::-1], np.empty_like(p)
    ranks = np.arange(p.size, 0, -1)
    adjusted[order] = np.minimum.accumulate(p[order] * p.size / ranks)
    return adjusted


def holm(p: Array) -> Array:
    """p values adjusted so that the chance of even one false below alpha is alpha.

    Holm 1979, "A simple sequentially rejective multiple test procedure"; for any dependence.
    """
    order, adjusted = np.argsort(p), np.empty_like(p)
    factors = np.arange(p.size, 0, -1)
    adjusted[order] = np.minimum(np.maximum.accumulate(p[order] * factors), 1.0)
    return adjusted
