# SPDX-License-Identifier: Apache-2.0
"""What the driver has told of one side of a program."""

from __future__ import annotations

import itertools
from collections import defaultdict
from dataclasses import dataclass, field, replace
from typing import Any

from warpgauge.execution.discovery import Names
from warpgauge.execution.plan import Turn
from warpgauge.execution.turn_result import TurnResult
from warpgauge.files.document import Failure, failure_of
from warpgauge.records import program_report
from warpgauge.records.counters import NOT_TRIED
from warpgauge.system.process import Ending

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

    def read(self, names: Names, text: str) -> None:
        """Take the rows of benchmarks from their report, unless they were not tried."""
        self.reported.update(names)
        if not (report := program_report.parsed(text)):
            self.unreadable.update(names)
            return
        report = self.turn.binary.normalized(report)
        self.context = {**report["context"], **self.context}
        for row in report["benchmarks"]:
            if row["name"] in names and not _is_untried(row):
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

    @property
    def exited_with_1(self) -> str:
        """How a process ended that cannot be trusted; "" if a row is an error, and explains it."""
        if any(map(failure_of, itertools.chain(*self.rows.values()))):
            return ""
        ending = Ending((str(self.turn.binary.path),), 1, "", "", 0.0)
        return ending.how + " after its last benchmark"

    def result(self, names: Names, seconds: float) -> TurnResult:
        rows = [row for name in names for row in self.rows.get(name, [])]
        report = {"context": self.context, "benchmarks": rows} if self.context or rows else {}
        binary, number = replace(self.turn.binary, names=names), self.turn.round
        return TurnResult(binary, number, report, self.faults, seconds, self.turn.lane.side)


def _is_untried(row: Row) -> bool:
    """Return whether a row failed untried; a measured row may have a counter of that name."""
    return failure_of(row) is not None and bool(row.get(NOT_TRIED))
