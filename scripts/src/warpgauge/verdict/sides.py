# SPDX-License-Identifier: Apache-2.0
"""What each side of a comparison says of its benchmarks, as arrays: one session's times a group."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from warpgauge.statistics.log_ratios import Array
from warpgauge.statistics.samples import Groups

# The median of n normal values scatters sqrt(pi/2) times as much as their mean.
_MEDIAN_VARIANCE = math.pi / 2


@dataclass(frozen=True)
class Side:
    """Sessions' times: typical log (of processes: their mean), and how these scatter.

    `squares` sums squared deviations of the processes' logs, `processes` counts them;
    `repetition_variance` is what the repetitions of a single process leave open of its log, zero
    where times are whole processes'.
    """

    log_seconds: Array
    squares: Array
    processes: Array
    repetition_variance: Array
    repetition_freedom: Array

    @property
    def freedom(self) -> Array:
        return self.processes - 1.0


def of_processes(times: Sequence[Sequence[float]]) -> Side:
    """Each group holds the medians (seconds) of several processes: their geometric mean."""
    groups = Groups.of_logs(times)
    nothing = np.zeros(len(times))
    return Side(groups.means, groups.squares, groups.counts.astype(float), nothing, nothing + 1.0)


def of_repetitions(times: Sequence[Sequence[float]]) -> Side:
    """Each group holds the repetitions (seconds) of one process: their median."""
    groups = Groups.of_logs(times)
    freedom = np.maximum(groups.counts - 1.0, 1.0)
    variance = _MEDIAN_VARIANCE * groups.squares / freedom / groups.counts
    variance = np.maximum(variance, groups.median_variances)  # of two states it falls on either
    nothing = np.zeros(len(times))
    return Side(groups.medians, nothing, nothing + 1.0, variance, freedom)
