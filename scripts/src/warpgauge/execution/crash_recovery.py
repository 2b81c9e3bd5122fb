# SPDX-License-Identifier: Apache-2.0
"""Runs all benchmarks of a program, although its processes may crash, hang or leave no report.

What a bad process leaves undone runs in another one, except for the benchmark that ran when it
ended, the likely cause. Each process therefore has fewer benchmarks, and recovery ends.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from warpgauge.execution.discovery import BAD_USAGE, NOT_MEASURABLE
from warpgauge.files.document import failure_of
from warpgauge.records.counters import NOT_TRIED
from warpgauge.records.partial_report import Report
from warpgauge.system.process import NOT_EXECUTABLE, Ending

Names = tuple[str, ...]
Row = dict[str, Any]

# Of a program that does not even begin, with whatever benchmark.
_HOPELESS = (BAD_USAGE, NOT_MEASURABLE, NOT_EXECUTABLE)


@dataclass(frozen=True)
class Part:
    """One process: the benchmarks it was to run, in their order, and how it ended."""

    asked: Names
    report: Report  # empty where it left none
    complete: bool
    ending: Ending

    @property
    def rows(self) -> list[Row]:
        """The rows of benchmarks that ran."""
        return [row for row in self.report.get("benchmarks", []) if not is_untried(row)]

    @property
    def good(self) -> bool:
        """Whether it ended as it should; status 1 says that a row is an error."""
        errored = any(failure_of(row) is not None for row in self.rows)
        ending = self.ending
        return not ending.ended_for and (ending.status == 0 or (ending.status == 1 and errored))

    def cause(self, when: str = "") -> str:
        """How it ended, in words; `when` stands before the last of its own."""
        ending = self.ending
        if self.good and not self.report:
            return f"{ending.program} left no readable report"
        if self.good and self.complete:
            return f"{ending.program} did not report it"
        known = {row["name"] for row in self.rows} | self.report.get("context", {}).keys()
        return ending.described(known, ", but its report is truncated" if self.good else when)


@dataclass(frozen=True)
class Step:
    """The consequence of one process: faults by benchmark, and what is still to run."""

    faults: Mapping[str, str]
    left: Sequence[Names] = ()  # each in a process of its own
    remark: str = ""


@dataclass(frozen=True)
class Delivery:
    """The results of all processes of a program; a fault takes precedence over a row."""

    report: Report
    faults: Mapping[str, str]
    remarks: Sequence[str]  # what was bad and cost no benchmark
    seconds: float


def after(part: Part) -> Step:
    """What to do after one process. Each of those to come has fewer benchmarks."""
    tried = {row["name"] for row in part.rows}
    left = tuple(name for name in part.asked if name not in tried)
    untried = any(map(is_untried, part.report.get("benchmarks", [])))
    if untried and len(left) < len(part.asked):  # whoever broke the context has its own row
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
    # Nobody knows what ran.
    remark = f"{part.cause()}; running {len(left)} benchmarks one by one instead"
    return Step({}, [(name,) for name in left], remark)


def deliver(
    names: Names,
    start: Callable[[Names], Part],
    in_parts: Callable[[Names], Sequence[Names]] = lambda asked: [asked],
) -> Delivery:
    """A row or a fault for each of `names`; `start` runs a process with a part that it can take."""
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
        # A program that reports more than it was asked for does not measure twice by that.
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
    """A row that measured is tried, whatever its author calls a counter."""
    return failure_of(row) is not None and bool(row.get(NOT_TRIED))
