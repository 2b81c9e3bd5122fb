# SPDX-License-Identifier: Apache-2.0
"""The scatter of a baseline's times, between processes and between sessions.

Scatter is the standard deviation of logarithms, a fraction of the time. All functions are pure.
"""

from __future__ import annotations

import math
import statistics

from warpgauge.records.model import Row
from warpgauge.verdict.comparability import Comparability, minimum_effect

# A difference smaller than three standard errors is missed more often than it is found.
_STANDARD_ERRORS = 3.0


def center(times: tuple[float, ...]) -> float:
    """Return a session's typical time: the geometric mean of its processes, in their unit."""
    return math.exp(statistics.fmean(map(math.log, times)))


def within(row: Row) -> float | None:
    """Return the scatter between processes, pooled over sessions; None if none has two."""
    logs = [[math.log(time) for time in times] for times in row.process_medians.values()]
    freedom = sum(len(one) - 1 for one in logs)
    if freedom == 0:
        return None
    squares = sum(statistics.variance(one) * (len(one) - 1) for one in logs if len(one) > 1)
    return math.sqrt(squares / freedom)


def between(row: Row) -> float | None:
    """Return the scatter between sessions; None with a single one."""
    logs = [math.log(center(times)) for times in row.process_medians.values()]
    return statistics.stdev(logs) if len(logs) > 1 else None


def smallest_visible(row: Row) -> float | None:
    """Return the smallest change, as a fraction, that the row's own scatter does not hide.

    It is three standard errors of the difference of two sessions with as many processes as the
    row's smallest session. None if the scatter is unknown.
    """
    scatter = within(row)
    if scatter is None:
        return None
    processes = min(map(len, row.process_medians.values()))
    return math.expm1(_STANDARD_ERRORS * scatter * math.sqrt(2.0 / processes))


def wanted(row: Row) -> float:
    """Return the row's minimum effect for a candidate on a GPU that the baseline has."""
    seconds = statistics.median(center(times) for times in row.process_medians.values())
    return minimum_effect(row.clock, Comparability.SAME_GPU, seconds, row.counters)
