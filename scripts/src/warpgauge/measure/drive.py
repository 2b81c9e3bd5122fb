# SPDX-License-Identifier: Apache-2.0
"""Measures programs through the driver: alone, or both sides alive in lock-step, in turns."""

from __future__ import annotations

import math
import os
import random
import shutil
from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from itertools import combinations
from pathlib import Path
from statistics import mean

from msgspec import structs

from warpgauge.measure import drive_lines, selection
from warpgauge.measure.discovery import BAD_USAGE, NOT_MEASURABLE, Binary, Names
from warpgauge.measure.drive_lines import Begin, End, Fault, Line, Lines, Ratio
from warpgauge.measure.plan import Plan, Turn, TurnResult, called, command
from warpgauge.records import program_report
from warpgauge.records.counters import NOT_TRIED
from warpgauge.records.document import Failure
from warpgauge.records.program_report import Report
from warpgauge.records.row import Pair, Row
from warpgauge.records.sessions import CANDIDATE
from warpgauge.system import process
from warpgauge.system.errors import UserError
from warpgauge.system.process import NOT_EXECUTABLE, Ending
from warpgauge.system.text import plural, quoted

# A plain program that measured nothing is given up after one of these exit statuses, or so many
# benchmarks that hung by themselves.
_HOPELESS = (BAD_USAGE, NOT_MEASURABLE, NOT_EXECUTABLE)
_MOST_HANGS = 2
_PARTS = 8
# How long Google Benchmark may look for its number of iterations, in repetitions.
_SEARCH = 1.2
# Bytes needed for the report of a large program.
_ROOM = 128 * 1024


def measured(
    plan: Plan,
    asked: Sequence[tuple[Sequence[Turn], Names]],
    begins: Callable[..., None],
    running: Callable[[str], None],
) -> list[list[TurnResult]]:
    """Measure programs: of each, the turns (one, or both sides) and their benchmarks.

    The first turn's process starts first. `begins` is called with the turns of a program, `running`
    with the name of a benchmark. Return one result per turn of each program, in order. A benchmark
    that both sides measured gets a row and, in the candidate's result, a ratio; one in which a side
    failed gets a fault. All others of a pair are missing (`TurnResult.missing`) and must be
    measured by themselves.

    What the plan's journal has is not measured again; the next run of the driver measures what an
    earlier one left. Raises UserError, also if an input of the programs was replaced meanwhile.
    """
    programs, begun = [_Program(plan, turns, names) for turns, names in asked], set[int]()

    def take(line: Line, of: Sequence[_Program]) -> None:
        program = of[line.program]
        program.take(line)
        if isinstance(line, Begin):
            if id(program) not in begun:
                begins(*program.turns)
            begun.add(id(program))
            running(program.begun)

    while left := [one for one in programs if one.left]:
        for program in left:
            program.begin()
        _drive(plan, left, take)
        for before, program in combinations(programs, 2):
            program.fail_as(before)
    return [one.results() for one in programs]


def _drive(
    plan: Plan, programs: Sequence[_Program], take: Callable[[Line, Sequence[_Program]], None]
) -> None:
    """Run the driver or read what it wrote, and give its lines to the programs."""

    def settle(lines: Iterable[Line]) -> None:
        for line in lines:
            take(line, programs)
        for program in programs:
            program.settle()

    def grown() -> None:
        for line in lines.new():
            take(line, programs)

    journal, first = plan.journal, programs[0]
    encoded = drive_lines.encoded(
        drive_lines.Plan(
            seed=f"{plan.seed} {first.turns[0].round}",
            deadline_s=plan.deadline_s,
            programs=[one.planned for one in programs],
            isolate=plan.isolate,
        )
    )
    if (recorded := journal.recorded(encoded)) is not None:
        settle(recorded)
        return
    path, written = journal.begin(encoded)
    lines, before = Lines(written), sum(one.seconds for one in programs)
    sides = [side.turn.lane.side for side in first.sides]
    rounds = dict.fromkeys(str(program.turns[0].round) for program in programs)
    # The driver ends late sides; each may be late in starting, preparing, measuring and ending, and
    # those of the program before may be late in ending, too. A plain program reports its benchmarks
    # at its end.
    silent = [len(one.asked) for one in programs if not one.binary.driven]
    ending = process.run(
        [str(drive_lines.driver()), str(path)],
        (6 * len(sides) + max(silent, default=0)) * plan.deadline_s + 60.0,
        path.parent,
        plan.environment,
        into=written,
        grown=grown,
        told=f"round {'/'.join(rounds)}, {' and '.join(sides)}".rstrip(", "),
        by_hand=[words for one in programs for words in one.by_hand],
    )
    settle(lines.new())
    first.seconds += before + ending.seconds - sum(one.seconds for one in programs)
    _judge(plan, programs, ending)
    try:
        plan.unchanged()
    except UserError:
        journal.forget(-1)
        raise


def _judge(plan: Plan, programs: Sequence[_Program], ending: Ending) -> None:
    """Find out what a driver that ended too early costs, and wait for the GPU after a bad end."""
    if ending.status in (BAD_USAGE, NOT_EXECUTABLE):
        raise UserError(f"{drive_lines.driver()}: {ending.described()}: {drive_lines.REMEDY}")
    is_bad = bool(ending.status or ending.ended_for)
    if is_bad:
        _require_room(plan.journal.folder)
    first = next((one for one in programs if one.left), None)
    # After a fault the driver leaves the others, and what must wait, to its next run.
    if first is not None and (is_bad or not any(one.has_progress for one in programs)):
        first.lose(ending)
    of_gpu = [one for one in programs if one.binary.needs_gpu]
    bad = [*(one.bad for one in of_gpu if one.bad), *([ending] if is_bad and of_gpu else [])]
    if bad:
        plan.freed(bad[-1])


def _require_room(folder: Path) -> None:
    """Raise UserError if a full disk, rather than a benchmark, may have cost a report."""
    with suppress(OSError):  # the folder may be gone
        if shutil.disk_usage(folder).free < _ROOM:
            raise UserError(
                f"{folder} has too little space for what the programs report: free some, or use "
                "another folder (--out, TMPDIR)"
            )


@dataclass
class _Side:
    """One turn and its results so far."""

    turn: Turn
    rows: dict[str, Row] = field(default_factory=dict)
    context: dict[str, str] = field(default_factory=dict)
    faults: dict[str, str] = field(default_factory=dict)
    reported: set[str] = field(default_factory=set)
    of_process: list[str] = field(default_factory=list)  # what the present process has reported

    def read(self, names: Names, text: str) -> None:
        """Take the rows of benchmarks from their report, unless they were not tried."""
        self.reported.update(names)
        self.of_process += names
        if (report := program_report.parsed(text.encode())) is None:
            return
        self.context = {**report.context, **self.context}
        for row in map(self.turn.binary.own_row, report.rows.values()):
            is_untried = row.error is not None and bool(row.counters.get(NOT_TRIED))
            if row.name in names and not is_untried:
                self.rows[row.name] = row

    def note_elapsed(self, names: Names, seconds: float) -> None:
        for name in self.rows.keys() & {*names}:
            self.rows[name] = structs.replace(self.rows[name], elapsed=(seconds,))

    @property
    def lacks(self) -> str:
        """Why a benchmark that was measured has no row."""
        return f"{self.turn.binary.path.name} left no readable report"

    def failure(self, name: str) -> Failure | None:
        """Return why a benchmark has no time; None if it has one or was not tried."""
        row = self.rows.get(name)
        return Failure(row.error, row.skipped) if row and row.error is not None else None

    @property
    def has_error(self) -> bool:
        """Whether the present process has reported one, which explains exit status 1."""
        return any(one and not one.skipped for one in map(self.failure, self.of_process))


@dataclass
class _Program:
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
    failed: str = ""  # how the process of a plain program failed
    seconds: float = 0.0
    pairs: dict[str, Pair] = field(default_factory=dict)  # by benchmark
    reasons: dict[str, list[str]] = field(default_factory=lambda: defaultdict(list))
    remarks: list[str] = field(default_factory=list)
    bad: Ending | None = None  # how a process of it ended that may still be on the GPU

    def __post_init__(self) -> None:
        self.left = self.names  # neither measured nor given up
        sides = [_Side(turn) for turn in self.turns]
        self.sides = sorted(sides, key=lambda side: self.plan.lanes.index(side.turn.lane))
        self.parts = [self.names]  # of a plain program, each for one process
        if len(self.names) < self.binary.total:  # the whole program needs no filter
            self.parts = selection.in_parts(self.names)
        self.hangs = 0  # of a plain program
        self._ours = dict(zip(self.binary.own(self.names), self.names, strict=True))

    @property
    def binary(self) -> Binary:
        return self.turns[0].binary

    def begin(self) -> None:
        """Prepare a run of the driver."""
        self.begun, self.failed, self.bad = "", "", None
        self.is_ended = self.has_progress = False
        self.asked = self.left
        for side in self.sides:
            side.of_process.clear()
        if not self.binary.driven:
            left = {*self.left}
            parts = (tuple(name for name in part if name in left) for part in self.parts)
            self.parts = [*filter(None, parts)]
            self.asked = self.parts[0]

    @property
    def by_hand(self) -> list[list[str]]:
        """The commands that measure what is asked outside the driver."""
        device, turns = self.plan.gpu_arguments, [side.turn for side in self.sides]
        return [
            [*command(turn.lane, turn.binary, device, self.asked), *turn.options] for turn in turns
        ]

    @property
    def planned(self) -> drive_lines.Program:
        """What the driver must know to measure what is asked."""
        plan, turns, is_driven = self.plan, [side.turn for side in self.sides], self.binary.driven
        driven = [
            [*called(turn.lane, turn.binary, plan.gpu_arguments), *turn.options] for turn in turns
        ]
        cores = sorted(os.sched_getaffinity(0))
        # The GPU is part of the seed: GPUs measured at once must not share one core.
        seed = f"{plan.seed} {turns[0].round} {self.binary.family} {plan.environment}"
        pinned = len(turns) > 1 and len(cores) > 1
        return drive_lines.Program(
            sides=driven if is_driven else self.by_hand,
            order=[turns.index(turn) for turn in self.turns],
            cpu=random.Random(seed).choice(cores) if pinned else None,
            benchmarks=[*self.binary.own(self.asked)],
            kind="driven" if is_driven else "plain",
        )

    def take(self, line: Line) -> None:
        """Take what the driver reports of this program."""
        self.has_progress |= not isinstance(line, Begin)
        if isinstance(line, Begin):
            self.begun = self._ours[line.benchmark]
        elif isinstance(line, drive_lines.Report):
            names = (self._ours[line.benchmark],) if self.binary.driven else self.asked
            self.sides[line.side].read(names, line.report)
        elif isinstance(line, Ratio):
            name = self._ours[line.benchmark]
            base_first = self.turns[0] is self.sides[0].turn
            self.pairs[name] = Pair(base_first, log_ratio=line.log_ratio, slices=line.slices)
            for side, elapsed in zip(self.sides, line.elapsed, strict=True):
                side.note_elapsed((name,), elapsed)
        elif isinstance(line, Fault):
            self._take_fault(line)
            for side in self.sides:
                side.of_process.clear()
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
        names = tuple(self._ours[name] for name in fault.benchmarks)
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
        side, self.is_ended = self.sides[0], True
        if fault.status == 1 and side.has_error:
            return
        self.failed = how
        is_hopeless = fault.kind == "not started" or fault.status in _HOPELESS
        if is_hopeless and (fault.kind == "not started" or not side.rows):
            self.give_up(self.left, how)
        elif fault.kind == "silent" and len(self.asked) == 1:
            self.hangs += 1
            if not side.rows and self.hangs == _MOST_HANGS:
                left = tuple(name for name in self.left if name != self.asked[0])
                why = f"not tried, because the first {_MOST_HANGS} benchmarks of"
                self.give_up(left, f"{why} {side.turn.binary.path.name} did not end")

    def _take_end(self, end: End) -> None:
        self.is_ended = True
        self.seconds += end.seconds
        if not self.binary.driven and end.status == [0]:
            self._note_elapsed(end.seconds)
        path = str(self.binary.path)
        for side, status in zip(self.sides, end.status, strict=True):
            if status == 1 and side.of_process and not side.has_error:
                how = f"{Ending((path,), 1, '', '', 0.0).how} after its last benchmark"
                self.give_up(tuple(side.of_process), how, side)
        if end.left_behind:
            self.remarks.append(f"{self.binary.path.name} left a process behind, which was killed")
            self.bad = self.bad or Ending((path,), 0, "", "", end.seconds)

    def _note_elapsed(self, seconds: float) -> None:
        """Note how long the process of a plain program took beyond what it reports.

        That can be compared only if one process of each side measured the same benchmarks. Before
        it reports a benchmark, Google Benchmark looks for its number of iterations. That takes up
        to about as long as one repetition; the candidate is not charged with it.
        """
        side, everything = self.sides[0], (one for lane in self.plan.lanes for one in lane.binaries)
        of_lanes = {one.names for one in everything if one.family == self.binary.family}
        if self.asked == self.names == tuple(side.of_process) and of_lanes == {self.names}:
            measured = [
                (row.iterations * mean(times), len(times))
                for row in side.rows.values()
                for times in row.process_medians.values()
            ]
            known = math.fsum(total for total, _ in measured)
            if side.turn.lane.side == CANDIDATE:
                known += _SEARCH * math.fsum(total / count for total, count in measured)
            side.note_elapsed(self.names, max(seconds - known, 1e-6))

    def lose(self, ending: Ending) -> None:
        """Take that the driver ended too early in this program."""
        why, was_killed = ending.described(), ending.status < 0 and not ending.ended_for
        if not self.binary.driven and len(self.asked) > 1:
            self._retry(self.asked, why)
        elif self.begun in self.left:
            self.give_up((self.begun,), why)
        else:
            self.give_up(self.left[:1] if was_killed else self.left, why)

    def _retry(self, names: Names, why: str) -> None:
        """Let several processes of a plain program measure what one lost."""
        self._forget(names)
        size = -(-len(names) // _PARTS)
        pieces = (names[first : first + size] for first in range(0, len(names), size))
        parts = [part for piece in pieces for part in selection.in_parts(piece)]
        self.parts[:1] = parts
        processes = plural(len(parts), "process", "processes")
        again = f"running {plural(len(names), 'benchmark')} in {processes} instead"
        self.remarks.append(f"{why}; {again}")

    def give_up(self, names: Names, why: str, side: _Side | None = None) -> None:
        """Leave benchmarks of a pair to processes that run alone; others get a fault.

        `side` is the one that `why` is about, if it is one.
        """
        self._drop(names)
        if len(self.sides) == 1:
            self.sides[0].faults.update(dict.fromkeys(names, why))
            return
        self.reasons[f"{side.turn.lane.side}: {why}" if side else why] += names
        self._forget(names)

    def fail_as(self, before: _Program) -> None:
        """Leave out what failed in a round before, and what it has given up, which is told once."""
        for side, earlier in zip(self.sides, before.sides, strict=False):
            faults = {name: earlier.faults[name] for name in self.left if name in earlier.faults}
            side.faults.update(faults)
            self._drop(faults)
        given_up = {name for names in before.reasons.values() for name in names}
        self._drop(given_up)
        for why, names in self.reasons.items():
            self.reasons[why] = [name for name in names if name not in given_up]

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
        open_now = {*self.left}
        whole = [name for name in self.asked if name in open_now and self._is_known(name)]
        if not self.binary.driven and len(self.asked) > 1:
            lost = tuple(n for n in whole if self.failed or n not in self.sides[0].rows)
            if lost:
                self._retry(lost, self.failed or self.sides[0].lacks)
                whole = [name for name in whole if name not in {*lost}]
        self._drop(whole)
        for name in whole:
            if len(self.sides) > 1:
                self._settle_pair(name)
            elif self.failed:
                self.sides[0].faults[name] = self.failed
            else:
                self._require_rows(name)

    def _is_known(self, name: str) -> bool:
        """Return whether the driver has reported all of a benchmark."""
        is_reported = all(name in side.reported for side in self.sides)
        return self.is_ended or is_reported or self._is_at_fault(name)

    def _is_at_fault(self, name: str) -> bool:
        return any(name in side.faults for side in self.sides)

    def _require_rows(self, name: str) -> None:
        """Set a fault on sides that measured a benchmark and have no row of it."""
        for side in self.sides:
            if name not in side.rows:
                side.faults.setdefault(name, side.lacks)

    def _settle_pair(self, name: str) -> None:
        """Keep rows and ratio if both sides have been measured, or both are skipped.

        Otherwise only a fault of a side is kept.
        """
        if name in self.pairs:
            self._require_rows(name)
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
            if of:
                remarks.append(f"{why}: measured in alternating processes, not in lock-step: {who}")
        candidate = self.sides[-1]
        for name, pair in self.pairs.items():
            candidate.rows[name] = structs.replace(candidate.rows[name], pairs=(pair,))
        return [
            TurnResult(
                replace(side.turn.binary, names=self.names),
                side.turn.round,
                Report(side.context, {n: side.rows[n] for n in self.names if n in side.rows}),
                side.faults,
                self.seconds / len(self.sides),
                side.turn.lane.side,
                remarks if side is candidate else (),
            )
            for side in sorted(self.sides, key=lambda side: self.turns.index(side.turn))
        ]
