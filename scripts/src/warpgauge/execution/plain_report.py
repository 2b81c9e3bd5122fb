# SPDX-License-Identifier: Apache-2.0
"""What another project's Google Benchmark program reported, in rows as this project's have them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from warpgauge.records.counters import SM_CLOCK
from warpgauge.records.fields import with_host_time
from warpgauge.records.measured import is_run
from warpgauge.records.partial_report import Report

Row = Mapping[str, Any]

# What stands for the repetitions of a benchmark that reports aggregates alone, best first.
_TYPICAL = ("median", "mean")

# Keys of a run file's row, which no counter of theirs may take the place of.
_OURS = frozenset(("process_medians", "process_rounds"))


def told(report: Report, prefix: str = "") -> Report:
    """The same with `prefix` before each benchmark's name, and with the clock that timed it.

    That is the host's, unless the row says at which SM clock the device worked: under UseManualTime
    too, for nobody knows where that time is from.
    """
    if not report:
        return report
    rows = [_told({**row, "name": f"{prefix}{row['name']}"}) for row in _runs(report)]
    return {**report, "benchmarks": rows}


def _told(row: Row) -> Row:
    theirs = {key: value for key, value in row.items() if key not in _OURS}
    return theirs if SM_CLOCK in theirs else with_host_time(theirs)


def _runs(report: Report) -> Iterable[Row]:
    """The runs of the benchmarks; of one that has none its typical one.

    Other aggregates are no measurement.
    """
    rows = report["benchmarks"]
    seen = {row["name"] for row in rows if is_run(row)}
    made: dict[str, Row] = {}
    for wanted in _TYPICAL:
        for row in rows:
            name = row.get("run_name")
            if row.get("aggregate_name") == wanted and isinstance(name, str) and name not in seen:
                made.setdefault(name, {**row, "name": name, "run_type": "iteration"})
    return [*filter(is_run, rows), *made.values()]
