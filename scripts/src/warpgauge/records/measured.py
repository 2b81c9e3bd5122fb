# SPDX-License-Identifier: Apache-2.0
"""Whether a row of a process is a measurement."""

from __future__ import annotations

from warpgauge.files.document import TIME_UNITS, Failure, Object, failure_of
from warpgauge.system.text import cut

_LONGEST = 60  # characters
_BEYOND_TIME = 1e100  # in any unit: what can be converted to another


def fault_of(row: Object) -> Failure | None:
    """Why it is none; None when it is one."""
    if (failure := failure_of(row)) is not None:
        return failure
    time, unit = row.get("real_time"), row.get("time_unit", "ns")
    if not (isinstance(time, int | float) and 0.0 < time < _BEYOND_TIME):
        return Failure(f"its time is {cut(repr(time), _LONGEST)}, which is no measurement")
    if not (isinstance(unit, str) and unit in TIME_UNITS):
        return Failure(f"its time unit is {cut(repr(unit), _LONGEST)}")
    return None


def is_run(row: Object) -> bool:
    """Whether it is a run's, and no statistic of several."""
    return row.get("run_type", "iteration") == "iteration"
