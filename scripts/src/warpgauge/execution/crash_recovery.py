# SPDX-License-Identifier: Apache-2.0
"""Runs all benchmarks of a program even if its processes crash, hang or leave no report.

Benchmarks that a failed process did not finish run in another one, except the one that ran when it
ended, the likely cause. Each process therefore has fewer benchmarks, and recovery terminates.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from warpgauge.execution.description import BAD_USAGE, NOT_MEASURABLE
from warpgauge.files.document import failure_of
from warpgauge.records.counters import NOT_TRIED
from warpgauge.records.partial_report import Report
from warpgauge.system.process import NOT_EXECUTABLE, Ending

Names = tuple[str, ...]
Row = dict[str, Any]

# Exit statuses of a program that cannot start with any benchmark.
_HOPELESS = (BAD_USAGE, NOT_MEASURABLE, NOT_EXECUTABLE)


@dataclass(frozen=True)
class Part:
    """One process: the benchmarks it was asked to run, in order, and how it ended."""

    asked: Names
    report: Report  # empty if the process left none
    complete: bool
    ending: Ending

    @property
    def rows(self) -> list[Row]:
        """The rows of benchmarks that ran."""
        return [row for row in self.report.get("benchmarks", []) if not is_untried(row)]

    @property
    def good(self) -> bool:
        """Whether the process ended normally; status 1 means that a row is an error."""
        errored = any(failure_of(row) is not None for row in self.rows)
        ending = self.ending
        return not ending.ended_for and (ending.status == 0 or (ending.status == 1 and errored))

    def cause(self, when: str = "") -> str:
        """Describe how the process ended; `when` stands before the program's own message."""
        ending = self.ending
        if self.good and not self.report:
            return f"{ending.program} left no readable report"
        if self.good and self.complete:
            return f"{ending.program} did not report it"
        known = {row["name"] for row in self.rows} | self.report.get("context", {}).keys()
        return ending.described(known, ", but its report is truncated" if self.good else when)


@dataclass(frozen=True)
class Step:
    """What follows from one process: faults by benchmark, and what is left to run."""

    faults: Mapping[str, str]
    left: Sequence[Names] = ()  # one process each
    remark: str = ""


@dataclass(frozen=True)
class Delivery:
    """The results of all processes of a program; a fault takes precedence over a row."""

    report: Report
    faults: Mapping[str, str]
    remarks: Sequence[str]  # problems that cost no benchmark
    seconds: float


def after(part: Part) -> Step:
    """Return what to do after one process. Each later process has fewer benchmarks."""
    tried = {row["name"] for row in part.rows}
    left = tuple(name for name in part.asked if name not in tried)
    untried = any(map(is_untried, part.report.get("benchmarks", [])))
    if untried and len(left) < len(part.asked):  # the benchmark that broke the context has a row
        return Step({}, [left])
    if not left:
        faults = () if part.good else part.asked
        return Step(dict.fromkeys(faults, part.cause(" after its last benchmark")))
    if part.report:
        culprit, *rest = left
        return Step({culprit: part.cause()}, [tuple(rest)] if rest else [])
    ending = part.ending
    if len(left) == 1 or ending.ended_for or ending.status in _HOPELESS:
        return Step(dict.fromkeys(left, part.cause()))
    # It is unknown which benchmark ran.
    remark = f"{part.cause()}; running {len(left)} benchmarks one by one instead"
    return Step({}, [(name,) for name in left], remark)


def deliver(
    names: Names,
    start: Callable[[Names], Part],
    in_parts: Callable[[Names], Sequence[Names]] = lambda asked: [asked],
) -> Delivery:
    """Return a row or a fault for each of `names`; `start` runs one process per part."""
    context: dict[str, Any] = {}
    rows: list[Row] = []
    faults: dict[str, str] = {}
    remarks: list[str] = []
    seconds = 0.0
    waiting = [*in_parts(names)] if names else []
    while waiting:
        part = start(waiting.pop(0))
        seconds += part.ending.seconds
        context = {**part.report.get("context", {}), **context}
        # Ignore rows of benchmarks that another process measures.
        others = set(names) - set(part.asked)
        rows += [row for row in part.rows if row["name"] not in others]
        step = after(part)
        faults.update(step.faults)
        remarks += [step.remark] if step.remark else []
        if part.ending.runs_on:
            remarks.append(f"{part.ending.program}: a process of it cannot be killed")
        elif part.ending.left_behind:
            remarks.append(f"{part.ending.program} left a process behind, which was killed")
        waiting = [*(part for left in step.left for part in in_parts(left)), *waiting]
    report = {"context": context, "benchmarks": rows} if context or rows else {}
    return Delivery(report, faults, remarks, seconds)


def is_untried(row: Row) -> bool:
    """Return whether a row failed untried; a measured row may have a counter of that name."""
    return failure_of(row) is not None and bool(row.get(NOT_TRIED))
