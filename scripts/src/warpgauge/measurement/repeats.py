# SPDX-License-Identifier: Apache-2.0
"""What was measured beside others, or at a lowered clock, is worth a second try, within bounds."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass

from warpgauge.files.document import failure_of
from warpgauge.records.counters import is_disturbed
from warpgauge.records.partial_report import Report

# So many tries in a row that are disturbed again, and the GPU is taken to stay as it is.
_MOST_IN_VAIN = 3


@dataclass
class Budget:
    """How many turns of a run may still be repeated."""

    turns: int
    _in_vain: int = 0

    @property
    def is_left(self) -> bool:
        return self.turns > 0 and self._in_vain < _MOST_IN_VAIN

    def spend(self, turns: int, *, helped: bool) -> None:
        self.turns -= turns
        self._in_vain = 0 if helped else self._in_vain + 1


def disturbed(reports: Iterable[Report]) -> tuple[str, ...]:
    """The benchmarks that were disturbed in any of them."""
    rows = (row for report in reports for row in report.get("benchmarks", []))
    found = (row["name"] for row in rows if failure_of(row) is None and _is_disturbed(row))
    return tuple(dict.fromkeys(found))


def with_repeated(report: Report, again: Report, names: Collection[str]) -> Report:
    """`report` with the rows of `names` that were measured again."""
    new = [row for row in again.get("benchmarks", []) if row["name"] in names]
    measured = {row["name"] for row in new}
    kept = [row for row in report.get("benchmarks", []) if row["name"] not in measured]
    return {**report, "benchmarks": [*kept, *new]}


def _is_disturbed(row: Report) -> bool:
    return is_disturbed({key: value for key, value in row.items() if type(value) in (int, float)})
