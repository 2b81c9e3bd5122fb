# SPDX-License-Identifier: Apache-2.0
"""The scatter of a baseline's times, between processes and between sessions.

Standard deviations of logarithms, which are fractions of the time. Pure functions.
"""

from __future__ import annotations

import math
import statistics

from warpgauge.records.model import Row
from warpgauge.verdict.comparability import Comparability, minimum_effect

# A difference of less than three standard errors is missed more often than found.
_STANDARD_ERRORS = 3.0


def center(times: tuple[float, ...]) -> float:
    """The typical time of a session: the geometric mean of its processes, in their unit."""
    return math.exp(statistics.fmean(map(math.log, times)))


def within(row: Row) -> float | None:
    """From process to process, pooled over the sessions; None where none has two processes."""
    logs = [[math.log(time) for time in times] for times in row.process_medians.values()]
    freedom = sum(len(one) - 1 for one in logs)
    if freedom == 0:
        return None
    squares = sum(statistics.variance(one) * (len(one) - 1) for one in logs if len(one) > 1)
    return math.sqrt(squares / freedom)


def between(row: Row) -> float | None:
    """From session to session; None with a single one."""
    logs = [math.log(center(times)) for times in row.process_medians.values()]
    return statistics.stdev(logs) if len(logs) > 1 else None


def smallest_visible(row: Row) -> float | None:
    """The smallest change, a fraction, that shows through the row's own scatter.

    Three standard errors of the difference of two sessions that have as many processes as its
    smallest one. None where the scatter is unknown.
    """
    scatter = within(row)
    if scatter is None:
        return None
    processes = min(map(len, row.process_medians.values()))
    return math.expm1(_STANDARD_ERRORS * scatter * math.sqrt(2.0 / processes))


def wanted(row: Row) -> float:
    """The row's minimum effect, where the candidate ran on a GPU that the baseline knows."""
    seconds = statistics.median(center(times) for times in row.process_medians.values())
    return minimum_effect(row.clock, Comparability.SAME_GPU, seconds)
