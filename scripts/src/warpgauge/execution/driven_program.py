# SPDX-License-Identifier: Apache-2.0
"""What the driver tells of one program, as results of its turns."""

from __future__ import annotations

import math
import os
import random
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from warpgauge.execution import drive_lines
from warpgauge.execution.crash_recovery import Names, Row, is_untried
from warpgauge.execution.discovery import Binary
from warpgauge.execution.drive_lines import Begin, End, Fault, Line, Ratio, Report
from warpgauge.execution.plan import Plan, Turn, called, command, of_round
from warpgauge.execution.turn_result import TurnResult
from warpgauge.files.document import Failure, failure_of
from warpgauge.records import partial_report
from warpgauge.system.process import Ending
from warpgauge.system.text import plural, quoted


@dataclass
class _Side:
    """One turn and its results so far."""

    turn: Turn
    rows: dict[str, list[Row]] = field(default_factory=lambda: defaultdict(list))
    context: dict[str, object] = field(default_factory=dict)
    faults: dict[str, str] = field(default_factory=dict)
    reported: set[str] = field(default_factory=set)
    unreadable: set[str] = field(default_factory=set)  # benchmarks whose reports are

    def read(self, name: str, text: str) -> None:
        """Take the rows of a benchmark from its report, unless they were not tried."""
        self.reported.add(name)
        report = partial_report.parsed(text)
        if not report:
            self.unreadable.add(name)
            return
        report = self.turn.binary.normalized(report)
        self.context = {**report["context"], **self.context}
        rows = (row for row in report["benchmarks"] if row["name"] == name)
        self.rows[name] += [row for row in rows if not is_untried(row)]

    def require_row(self, name: str) -> None:
        """Set a fault if a benchmark that was measured has no row."""
        if not self.rows[name] and name not in self.faults:
            how = "left no readable report" if name in self.unreadable else "did not report it"
            self.faults[name] = f"{self.turn.binary.path.name} {how}"

    def failure(self, name: str) -> Failure | None:
        """Return why a benchmark has no time; None if it has one or was not tried."""
        return next(filter(None, map(failure_of, self.rows[name])), None)

    def result(self, names: Names, seconds: float) -> TurnResult:
        rows = [row for name in names for row in self.rows.get(name, [])]
        report = {"context": self.context, "benchmarks": rows} if self.context or rows else {}
        binary, number = replace(self.turn.binary, names=names), self.turn.round
        return TurnResult(binary, number, report, self.faults, seconds, self.turn.lane.side)


@dataclass
class DrivenProgram:
    """A program's sides, base first, and what is known of its benchmarks."""

    plan: Plan
    turns: Sequence[Turn]  # in the order in which the sides start
    names: Names
    begun: str = ""  # the benchmark that began last
    is_ended: bool = False  # the driver has told that no process of it runs any more
    seconds: float = 0.0
    ratios: dict[str, float] = field(default_factory=dict)
    reasons: dict[str, list[str]] = field(default_factory=lambda: defaultdict(list))
    remarks: list[str] = field(default_factory=list)
    bad: Ending | None = None  # how a process of it ended that may still be on the GPU

    def __post_init__(self) -> None:
        self.left = self.names  # neither measured nor given up
        sides = [_Side(turn) for turn in self.turns]
        self.sides = sorted(sides, key=lambda side: self.plan.lanes.index(side.turn.lane))
        self._ours = dict(zip(self.binary.own(self.names), self.names, strict=True))

    @property
    def binary(self) -> Binary:
        return self.turns[0].binary

    @property
    def by_hand(self) -> list[list[str]]:
        """The commands that measure what is left outside the driver."""
        plan, turns = self.plan, (side.turn for side in self.sides)
        return [[*command(plan, t.lane, t.binary, self.left), *of_round(plan, t)] for t in turns]

    @property
    def planned(self) -> drive_lines.Program:
        """What the driver must know to measure what is left."""
        plan, turns = self.plan, [side.turn for side in self.sides]
        cores, number = sorted(os.sched_getaffinity(0)), turns[0].round
        # The GPU is part of the seed: GPUs measured at once must not share one core.
        seed = f"{plan.seed} {number} {self.binary.family} {plan.environment}"
        pinned = len(turns) > 1 and len(cores) > 1
        return drive_lines.Program(
            sides=[[*called(plan, t.lane, t.binary), *of_round(plan, t)] for t in turns],
            order=[turns.index(turn) for turn in self.turns],
            cpu=random.Random(seed).choice(cores) if pinned else None,
            benchmarks=[*self.binary.own(self.left)],
        )

    def ours(self, name: str) -> str:
        """Return a benchmark's name in the run file; `name` is the program's own."""
        return self._ours[name]

    def take(self, line: Line) -> None:
        """Take what the driver tells of this program."""
        if isinstance(line, Begin):
            self.begun = self.ours(line.benchmark)
        elif isinstance(line, Report):
            self.sides[line.side].read(self.ours(line.benchmark), line.report)
        elif isinstance(line, Ratio):
            self.ratios[self.ours(line.benchmark)] = math.exp(line.log_ratio)
        elif isinstance(line, Fault):
            self._take_fault(line)
        else:
            self._take_end(line)

    def _take_fault(self, fault: Fault) -> None:
        side = self.sides[fault.side]
        path = str(side.turn.binary.path)  # which may precede what it said
        ending = Ending((path,), fault.status or 0, "", fault.stderr, 0.0, fault.what)
        between = "" if fault.benchmarks else " between two benchmarks"
        when = " after its last benchmark" if fault.when == "end" else between
        how = ending.described(side.rows.keys() | side.context.keys(), when)
        if fault.kind == "not started":
            how = f"{ending.program} {fault.what}"
        elif fault.what or ending.status < 0:
            self.bad = ending
        names = tuple(self.ours(name) for name in fault.benchmarks)
        if fault.when == "start":
            self.give_up(names, how, side)
        elif names:
            side.faults.update(dict.fromkeys(names, how))
        else:
            whose = f"{side.turn.lane.side}: " if side.turn.lane.side else ""
            self.remarks.append(f"{whose}{how}; the rest ran in another process")

    def _take_end(self, end: End) -> None:
        self.is_ended = True
        self.seconds += end.seconds
        if end.left_behind:
            self.remarks.append(f"{self.binary.path.name} left a process behind, which was killed")
            path = str(self.binary.path)
            self.bad = self.bad or Ending((path,), 0, "", "", end.seconds, left_behind=True)

    def give_up(self, names: Names, why: str, side: _Side | None = None) -> None:
        """Leave benchmarks of a pair to processes that run alone; others get a fault.

        `side` is the one that `why` is about, if it is one.
        """
        self.left = tuple(name for name in self.left if name not in names)
        if len(self.sides) == 1:
            self.sides[0].faults.update(dict.fromkeys(names, why))
            return
        self.reasons[f"{side.turn.lane.side}: {why}" if side else why] += names
        self._forget(names)

    def _forget(self, names: Names) -> None:
        for name in names:
            self.ratios.pop(name, None)
            for side in self.sides:
                side.rows.pop(name, None)

    def settle(self) -> None:
        """Give results to the sides once the driver has ended; the rest is `left`."""
        whole = [name for name in self.left if self.is_ended or self._is_known(name)]
        self.left = tuple(name for name in self.left if name not in whole)
        for name in whole:
            if len(self.sides) == 1:
                self.sides[0].require_row(name)
            else:
                self._settle_pair(name)

    def _is_known(self, name: str) -> bool:
        """Return whether the driver has told all of a benchmark."""
        return all(name in side.reported for side in self.sides) or self._is_at_fault(name)

    def _is_at_fault(self, name: str) -> bool:
        return any(name in side.faults for side in self.sides)

    def _settle_pair(self, name: str) -> None:
        """Keep rows and ratio if both sides have been measured, or both are skipped.

        Otherwise only a fault of a side is kept.
        """
        if name in self.ratios:
            for side in self.sides:
                side.require_row(name)
        failures = {side.turn.lane.side: side.failure(name) for side in self.sides}
        if all(failure and failure.skipped for failure in failures.values()):
            return
        failed = [f"{side}: {failure}" for side, failure in failures.items() if failure]
        if failed and not self._is_at_fault(name):
            self.reasons[", ".join(failed)].append(name)
        if failed or self._is_at_fault(name) or name not in self.ratios:
            self._forget((name,))

    def results(self) -> list[TurnResult]:
        """Return the result of each turn."""
        remarks = [*self.remarks]
        for why, of in self.reasons.items():
            who = quoted(of[0]) if len(of) == 1 else plural(len(of), "benchmark")
            remarks.append(f"{why}: measured in alternating processes, not in lock-step: {who}")
        found = [side.result(self.names, self.seconds / len(self.sides)) for side in self.sides]
        found[-1] = replace(found[-1], remarks=remarks, pair_ratios=self.ratios)
        turns = [side.turn for side in self.sides]
        return [found[turns.index(turn)] for turn in self.turns]
