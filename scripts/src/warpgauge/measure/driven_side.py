# SPDX-License-Identifier: Apache-2.0
"""What the driver has reported of one side of a program."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, field, replace
from typing import Any

from warpgauge.measure.discovery import Names
from warpgauge.measure.plan import Turn
from warpgauge.measure.turn_result import TurnResult
from warpgauge.records import program_report
from warpgauge.records.counters import NOT_TRIED
from warpgauge.system.document import Failure, failure_of

Row = dict[str, Any]


@dataclass
class DrivenSide:
    """One turn and its results so far."""

    turn: Turn
    rows: dict[str, list[Row]] = field(default_factory=lambda: defaultdict(list))
    context: dict[str, object] = field(default_factory=dict)
    faults: dict[str, str] = field(default_factory=dict)
    reported: set[str] = field(default_factory=set)
    unreadable: set[str] = field(default_factory=set)  # benchmarks whose reports are
    of_process: list[str] = field(default_factory=list)  # what the present process has reported

    def read(self, names: Names, text: str) -> None:
        """Take the rows of benchmarks from their report, unless they were not tried."""
        self.reported.update(names)
        self.unreadable.difference_update(names)
        self.of_process += names
        if not (report := program_report.parsed(text)):
            self.unreadable.update(names)
            return
        report = self.turn.binary.normalized(report)
        self.context = {**report["context"], **self.context}
        asked = {*names}
        for row in report["benchmarks"]:
            if row["name"] in asked and not _is_untried(row):
                self.rows[row["name"]].append(row)

    def require_row(self, name: str) -> None:
        """Set a fault if a benchmark that was measured has no row."""
        if not self.rows[name] and name not in self.faults:
            self.faults[name] = self.lacks(name)

    def lacks(self, name: str) -> str:
        """Return why a benchmark that was measured has no row."""
        how = "left no readable report" if name in self.unreadable else "did not report it"
        return f"{self.turn.binary.path.name} {how}"

    def failure(self, name: str) -> Failure | None:
        """Return why a benchmark has no time; None if it has one or was not tried."""
        return next(filter(None, map(failure_of, self.rows[name])), None)

    def has_error(self) -> bool:
        """Return whether the present process has reported one, which explains exit status 1."""
        failures = filter(None, map(self.failure, self.of_process))
        return not all(failure.skipped for failure in failures)

    def result(self, names: Names, seconds: float) -> TurnResult:
        rows = [row for name in names for row in self.rows.get(name, [])]
        report = {"context": self.context, "benchmarks": rows} if self.context or rows else {}
        binary, number = replace(self.turn.binary, names=names), self.turn.round
        return TurnResult(binary, number, report, self.faults, seconds, self.turn.lane.side)


def _is_untried(row: Row) -> bool:
    """Return whether a row failed untried; a measured row may have a counter of that name."""
    return failure_of(row) is not None and bool(row.get(NOT_TRIED))
