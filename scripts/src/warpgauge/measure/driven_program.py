# SPDX-License-Identifier: Apache-2.0
"""What the driver is to measure of one program, and what it reports, as results of its turns."""

from __future__ import annotations

import math
import os
import random
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from statistics import mean

from msgspec import structs

from warpgauge.measure import drive_lines, selection
from warpgauge.measure.discovery import BAD_USAGE, NOT_MEASURABLE, Binary, Names
from warpgauge.measure.drive_lines import Begin, End, Fault, Line, Ratio
from warpgauge.measure.plan import Plan, Turn, TurnResult, called, command, counterparts, of_round
from warpgauge.records import program_report
from warpgauge.records.counters import NOT_TRIED
from warpgauge.records.document import Failure
from warpgauge.records.program_report import Report
from warpgauge.records.row import Pair, Row
from warpgauge.system.process import NOT_EXECUTABLE, Ending
from warpgauge.system.text import plural, quoted

# A plain program that measured nothing is given up after one of these exit statuses, or so many
# benchmarks that hung by themselves.
_HOPELESS = (BAD_USAGE, NOT_MEASURABLE, NOT_EXECUTABLE)
_MOST_HANGS = 2
_PARTS = 8


@dataclass
class DrivenSide:
    """One turn and its results so far."""

    turn: Turn
    rows: dict[str, Row] = field(default_factory=dict)
    context: dict[str, str] = field(default_factory=dict)
    faults: dict[str, str] = field(default_factory=dict)
    reported: set[str] = field(default_factory=set)
    unreadable: set[str] = field(default_factory=set)  # benchmarks whose reports are
    of_process: list[str] = field(default_factory=list)  # what the present process has reported

    def read(self, names: Names, text: str) -> None:
        """Take the rows of benchmarks from their report, unless they were not tried."""
        self.reported.update(names)
        self.unreadable.difference_update(names)
        self.of_process += names
        if (report := program_report.parsed(text.encode())) is None:
            self.unreadable.update(names)
            return
        self.context = {**report.context, **self.context}
        asked = {*names}
        for row in map(self.turn.binary.own_row, report.rows.values()):
            is_untried = row.error is not None and bool(row.counters.get(NOT_TRIED))
            if row.name in asked and not is_untried:
                self.rows[row.name] = row

    def note_elapsed(self, names: Names, seconds: float) -> None:
        for name in self.rows.keys() & {*names}:
            self.rows[name] = structs.replace(self.rows[name], elapsed=(seconds,))

    def require_row(self, name: str) -> None:
        """Set a fault if a benchmark that was measured has no row."""
        if name not in self.rows and name not in self.faults:
            self.faults[name] = self.lacks(name)

    def lacks(self, name: str) -> str:
        """Return why a benchmark that was measured has no row."""
        how = "left no readable report" if name in self.unreadable else "did not report it"
        return f"{self.turn.binary.path.name} {how}"

    def failure(self, name: str) -> Failure | None:
        """Return why a benchmark has no time; None if it has one or was not tried."""
        row = self.rows.get(name)
        return Failure(row.error, row.skipped) if row and row.error is not None else None

    def has_error(self) -> bool:
        """Return whether the present process has reported one, which explains exit status 1."""
        failures = filter(None, map(self.failure, self.of_process))
        return not all(failure.skipped for failure in failures)

    def result(self, names: Names, seconds: float) -> TurnResult:
        report = Report(
            self.context, {name: self.rows[name] for name in names if name in self.rows}
        )
        binary, number = replace(self.turn.binary, names=names), self.turn.round
        return TurnResult(binary, number, report, self.faults, seconds, self.turn.lane.side)


@dataclass
class DrivenProgram:
    """A program's sides, base first, and what is known of its benchmarks.

    One process of a plain program measures all of them, and reports at its end. If it fails, it is
    unknown which benchmark ran: several processes then measure a part each.
    """

    plan: Plan
    turns: Sequence[Turn]  # in the order in which the sides start
    names: Names
    asked: Names = ()  # what this run of the driver is to measure
    begun: str = ""  # the benchmark that began last
    has_progress: bool = False  # this run of the driver has reported more than a begin
    is_ended: bool = False  # the driver has reported that no process of it runs any more
    seconds: float = 0.0
    pairs: dict[str, Pair] = field(default_factory=dict)  # by benchmark
    reasons: dict[str, list[str]] = field(default_factory=lambda: defaultdict(list))
    remarks: list[str] = field(default_factory=list)
    bad: Ending | None = None  # how a process of it ended that may still be on the GPU

    def __post_init__(self) -> None:
        self.left = self.names  # neither measured nor given up
        sides = [DrivenSide(turn) for turn in self.turns]
        self.sides = sorted(sides, key=lambda side: self.plan.lanes.index(side.turn.lane))
        self._parts = [self.names]  # of a plain program, each for one process
        if len(self.names) < self.binary.total:  # the whole program needs no filter
            self._parts = selection.in_parts(self.names)
        self._again: Names = ()  # what is measured again
        self._hangs = 0  # of a plain program
        self._ours = dict(zip(self.binary.own(self.names), self.names, strict=True))

    @property
    def binary(self) -> Binary:
        return self.turns[0].binary

    @property
    def by_hand(self) -> list[list[str]]:
        """The commands that measure what is asked outside the driver."""
        plan, device = self.plan, self.plan.gpu_arguments
        return [
            [*command(turn.lane, turn.binary, device, self.asked), *of_round(plan, turn)]
            for turn in (side.turn for side in self.sides)
        ]

    def begin(self) -> None:
        """Prepare a run of the driver."""
        self.begun, self.bad = "", None
        self.is_ended = self.has_progress = False
        self._again, self.asked = (), self.left
        self._begin_processes()
        if not self.binary.driven:
            left = {*self.left}
            parts = (tuple(name for name in part if name in left) for part in self._parts)
            self._parts = [*filter(None, parts)]
            self.asked = self._parts[0]

    def _begin_processes(self) -> None:
        for side in self.sides:
            side.of_process.clear()

    @property
    def planned(self) -> drive_lines.Program:
        """What the driver must know to measure what is asked."""
        plan, turns = self.plan, [side.turn for side in self.sides]
        cores, number = sorted(os.sched_getaffinity(0)), turns[0].round
        # The GPU is part of the seed: GPUs measured at once must not share one core.
        seed = f"{plan.seed} {number} {self.binary.family} {plan.environment}"
        pinned = len(turns) > 1 and len(cores) > 1
        is_driven = self.binary.driven
        return drive_lines.Program(
            sides=[self._driven(turn) for turn in turns] if is_driven else self.by_hand,
            order=[turns.index(turn) for turn in self.turns],
            cpu=random.Random(seed).choice(cores) if pinned else None,
            benchmarks=[*self.binary.own(self.asked)],
            kind="driven" if is_driven else "plain",
        )

    def _driven(self, turn: Turn) -> list[str]:
        """Return the command of a process that the driver tells what to measure."""
        plan = self.plan
        return [*called(turn.lane, turn.binary, plan.gpu_arguments), *of_round(plan, turn)]

    def ours(self, name: str) -> str:
        """Return a benchmark's name in the run file; `name` is the program's own."""
        return self._ours[name]

    def take(self, line: Line) -> None:
        """Take what the driver tells of this program."""
        self.has_progress |= not isinstance(line, Begin)
        if isinstance(line, Begin):
            self.begun = self.ours(line.benchmark)
        elif isinstance(line, drive_lines.Report):
            names = (self.ours(line.benchmark),) if self.binary.driven else self.asked
            self.sides[line.side].read(names, line.report)
        elif isinstance(line, Ratio):
            name = self.ours(line.benchmark)
            base_first = self.turns[0] is self.sides[0].turn
            self.pairs[name] = Pair(base_first, log_ratio=line.log_ratio, slices=line.slices)
            for side, elapsed in zip(self.sides, line.elapsed, strict=True):
                side.note_elapsed((name,), elapsed)
        elif isinstance(line, Fault):
            self._take_fault(line)
            self._begin_processes()
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
        if not self.binary.driven:
            self._take_plain_fault(fault, how)
        elif fault.when == "start":
            self.give_up(names, how, side)
        elif names:
            side.faults.update(dict.fromkeys(names, how))
        else:
            whose = f"{side.turn.lane.side}: " if side.turn.lane.side else ""
            self.remarks.append(f"{whose}{how}; the rest ran in another process")

    def _take_plain_fault(self, fault: Fault, how: str) -> None:
        side, is_alone = self.sides[0], len(self.asked) == 1
        is_hang = fault.kind == "silent"
        has_measured = bool(side.rows)
        self._hangs += is_hang and is_alone
        if fault.status == 1 and side.has_error():
            return
        if fault.kind == "not started" or (fault.status in _HOPELESS and not has_measured):
            self.give_up(self.left, how)
        elif not self.retries(how):
            side.faults[self.asked[0]] = how
            if is_hang and not has_measured and self._hangs == _MOST_HANGS:
                left = tuple(name for name in self.left if name != self.asked[0])
                why = f"not tried, because the first {_MOST_HANGS} benchmarks of"
                self.give_up(left, f"{why} {side.turn.binary.path.name} did not end")

    def retries(self, why: str) -> bool:
        """Whether what was asked is measured again, in parts, because of `why`."""
        if self.binary.driven or len(self.asked) == 1:
            return False
        self._retry(self.asked, why)
        return True

    def _retry(self, names: Names, why: str) -> None:
        self._again = names
        size = -(-len(names) // _PARTS)
        pieces = (names[first : first + size] for first in range(0, len(names), size))
        parts = [part for piece in pieces for part in selection.in_parts(piece)]
        self._parts[:1] = parts
        processes = plural(len(parts), "process", "processes")
        again = f"running {plural(len(names), 'benchmark')} in {processes} instead"
        self.remarks.append(f"{why}; {again}")

    def _take_end(self, end: End) -> None:
        self.is_ended = True
        self.seconds += end.seconds
        if not self.binary.driven and end.status == [0]:
            self._note_elapsed(end.seconds)
        for side, status in zip(self.sides, end.status, strict=True):
            if status == 1 and side.of_process and not side.has_error():
                ending = Ending((str(side.turn.binary.path),), 1, "", "", 0.0)
                how = f"{ending.how} after its last benchmark"
                self.give_up(tuple(side.of_process), how, side)
        if end.left_behind:
            self.remarks.append(f"{self.binary.path.name} left a process behind, which was killed")
            path = str(self.binary.path)
            self.bad = self.bad or Ending((path,), 0, "", "", end.seconds)

    def _note_elapsed(self, seconds: float) -> None:
        """Note how long the process of a plain program took beyond what it reports.

        That can be compared only if one process of each side measured the same benchmarks.
        """
        turn, side = self.turns[0], self.sides[0]
        names = {one.names for one in counterparts(self.plan, turn)}
        if self.asked == self.names == tuple(side.of_process) and names == {self.names}:
            reported = math.fsum(
                row.iterations * mean(times)
                for row in side.rows.values()
                for times in row.process_medians.values()
            )
            side.note_elapsed(self.names, max(seconds - reported, 1e-6))

    def give_up(self, names: Names, why: str, side: DrivenSide | None = None) -> None:
        """Leave benchmarks of a pair to processes that run alone; others get a fault.

        `side` is the one that `why` is about, if it is one.
        """
        self._drop(names)
        if len(self.sides) == 1:
            self.sides[0].faults.update(dict.fromkeys(names, why))
            return
        self.reasons[f"{side.turn.lane.side}: {why}" if side else why] += names
        self._forget(names)

    def _drop(self, names: Iterable[str]) -> None:
        gone = {*names}
        self.left = tuple(name for name in self.left if name not in gone)

    def _forget(self, names: Names) -> None:
        for name in names:
            self.pairs.pop(name, None)
            for side in self.sides:
                side.rows.pop(name, None)

    def settle(self) -> None:
        """Give results to the sides once the driver has ended; the rest is `left`."""
        if self.is_ended and not self._again and not self.binary.driven and len(self.asked) > 1:
            known = self.sides[0].faults
            lost = [one for one in self.asked if one not in {*self.sides[0].rows, *known}]
            if lost:
                self._retry(tuple(lost), self.sides[0].lacks(lost[0]))
        self._forget(self._again)
        open_now = {*self.left}.difference(self._again)
        whole = [
            name
            for name in self.asked
            if name in open_now and (self.is_ended or self._is_known(name))
        ]
        self._drop(whole)
        for name in whole:
            if len(self.sides) == 1:
                self.sides[0].require_row(name)
            else:
                self._settle_pair(name)

    def _is_known(self, name: str) -> bool:
        """Return whether the driver has reported all of a benchmark."""
        return all(name in side.reported for side in self.sides) or self._is_at_fault(name)

    def _is_at_fault(self, name: str) -> bool:
        return any(name in side.faults for side in self.sides)

    def _settle_pair(self, name: str) -> None:
        """Keep rows and ratio if both sides have been measured, or both are skipped.

        Otherwise only a fault of a side is kept.
        """
        if name in self.pairs:
            for side in self.sides:
                side.require_row(name)
        failures = {side.turn.lane.side: side.failure(name) for side in self.sides}
        if all(failure and failure.skipped for failure in failures.values()):
            return
        failed = [f"{side}: {failure}" for side, failure in failures.items() if failure]
        if failed and not self._is_at_fault(name):
            self.reasons[", ".join(failed)].append(name)
        if failed or self._is_at_fault(name) or name not in self.pairs:
            self._forget((name,))

    def results(self) -> list[TurnResult]:
        """Return the result of each turn."""
        remarks = [*self.remarks]
        for why, of in self.reasons.items():
            who = quoted(of[0]) if len(of) == 1 else plural(len(of), "benchmark")
            remarks.append(f"{why}: measured in alternating processes, not in lock-step: {who}")
        candidate = self.sides[-1]
        for name, pair in self.pairs.items():
            candidate.rows[name] = structs.replace(candidate.rows[name], pairs=(pair,))
        found = [side.result(self.names, self.seconds / len(self.sides)) for side in self.sides]
        found[-1] = replace(found[-1], remarks=remarks)
        turns = [side.turn for side in self.sides]
        return [found[turns.index(turn)] for turn in self.turns]
