# SPDX-License-Identifier: Apache-2.0
"""Runs both sides of programs in lock-step: both processes are alive, one works at a time."""

from __future__ import annotations

import json
import math
import os
import random
from collections import defaultdict
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, field, replace
from itertools import takewhile
from pathlib import Path

from warpgauge.execution import lock_step_driver as driver
from warpgauge.execution import lock_step_protocol as protocol
from warpgauge.execution import selection
from warpgauge.execution.crash_recovery import Names, Row, is_untried
from warpgauge.execution.discovery import Binary
from warpgauge.execution.lock_step_protocol import Finding, findings_in
from warpgauge.execution.plan import Plan, Turn, command, of_round, seed_of, sequence
from warpgauge.execution.turn_result import Running, TurnResult, require_room
from warpgauge.files.document import Failure, failure_of
from warpgauge.records import partial_report
from warpgauge.system import process
from warpgauge.system.process import Ending
from warpgauge.system.text import plural, quoted

# Called with the turns of the program that begins.
Begins = Callable[..., None]


@dataclass
class _Side:
    """One turn and its results so far. Its processes write to `folder`."""

    plan: Plan
    turn: Turn
    folder: Path
    rows: dict[str, list[Row]] = field(default_factory=lambda: defaultdict(list))
    context: dict[str, object] = field(default_factory=dict)
    faults: dict[str, str] = field(default_factory=dict)

    def command(self, names: Names) -> list[str]:
        """Return the command that measures `names`, without output and driver options."""
        lane = self.turn.lane
        asked = None if names == sequence(self.plan, self.turn) else names
        if len(selection.exactly(names).encode()) > selection.LONGEST_FILTER:
            lane, asked = replace(lane, filters={}), None  # the driver skips the other benchmarks
        return [*command(self.plan, lane, self.turn.binary, asked), *of_round(self.plan, self.turn)]

    def reports(self, run: int) -> str:
        """Return the prefix of the side's files in this run of the driver."""
        return f"{self.folder}/pair{run}-"

    def read(self, run: int, found: Collection[str]) -> None:
        """Take the rows of these benchmarks from a run's reports, unless they were not tried."""
        for path in sorted(self.folder.glob(f"pair{run}-*.json")):
            report = self.turn.binary.normalized(partial_report.read(path)[0])
            self.context = {**report.get("context", {}), **self.context}
            for row in report.get("benchmarks", []):
                if row["name"] in found and not is_untried(row):
                    self.rows[row["name"]].append(row)

    def ending(self, run: int, found: Finding) -> Ending:
        """Return how the side at fault ended."""
        words, program = "", (str(self.turn.binary.path),)
        with suppress(OSError), Path(f"{self.reports(run)}{found.start}.err").open("rb") as said:
            words = process.tail(said)
        return Ending(program, found.status or 0, "", words, 0.0, found.ended_for)

    def failure(self, name: str) -> Failure | None:
        """Return why a benchmark has no time; None if it has one or was not tried."""
        return next(filter(None, map(failure_of, self.rows[name])), None)


@dataclass
class _Program:
    """Both sides of a program, base first, and what is known of its benchmarks."""

    plan: Plan
    turns: Sequence[Turn]  # in the order in which the sides start
    names: Names
    left: Names = ()  # not yet measured, and not given up
    seconds: float = 0.0
    ratios: dict[str, float] = field(default_factory=dict)
    reasons: dict[str, list[str]] = field(default_factory=lambda: defaultdict(list))
    remarks: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.left = self.names
        sides = [_Side(self.plan, turn, _folder(self.plan, turn)) for turn in self.turns]
        self.sides = sorted(sides, key=lambda side: self.plan.lanes.index(side.turn.lane))

    @property
    def order(self) -> list[int]:
        """The sides' indices in the order in which they start."""
        return [[side.turn for side in self.sides].index(turn) for turn in self.turns]

    @property
    def binary(self) -> Binary:
        return self.turns[0].binary

    def driven(self, run: int) -> protocol.Program:
        """Return what the driver must know to measure what is left."""
        for side in self.sides:
            side.folder.mkdir(parents=True, exist_ok=True)  # a program may have removed it
        cores, number = sorted(os.sched_getaffinity(0)), self.turns[0].round
        # The GPU is part of the seed: GPUs measured at once must not share one core.
        seed = f"{self.plan.seed} {number} {self.binary.family} {self.plan.environment}"
        return protocol.Program(
            commands=[side.command(self.left) for side in self.sides],
            reports=[side.reports(run) for side in self.sides],
            names=[*self.left],
            cpu=random.Random(seed).choice(cores) if len(cores) > 1 else None,
        )

    def take(self, run: int, found: Mapping[str, Finding]) -> None:
        """Take the results of a run of the driver."""
        self.seconds += sum(one.seconds for one in found.values())
        for side in self.sides:
            side.read(run, found.keys())
        if any(one.left_behind for one in found.values()):
            self.remarks.append(f"{self.binary.path.name} left a process behind, which was killed")
        unknown = []
        for name in self.left:
            why = self._settled(run, found[name]) if name in found else None
            if why is None:
                unknown.append(name)
            elif why:
                self.reasons[why].append(name)
        self.left = tuple(unknown)

    def _settled(self, run: int, found: Finding) -> str | None:
        """Give a finding to the sides or `ratios`; return why it is measured outside lock-step.

        Return "" if it is settled, and None if an earlier failure prevented all attempts.
        """
        name = found.name
        if found.of is not None:
            side = self.sides[found.of]
            ending = side.ending(run, found)
            when = " after its last benchmark" if found.after_last else ""
            how = ending.described(side.rows.keys() | side.context.keys(), when)
            if not found.began:
                return f"{side.turn.lane.side}: {how}"
            side.faults[name] = how
            if self.binary.needs_gpu:
                self.plan.freed(ending)
        elif found.log_ratio is not None:
            for side in self.sides:
                if not side.rows[name]:
                    require_room(side.folder)
                    side.faults[name] = f"{self.binary.path.name} did not report it"
        failures = {side.turn.lane.side: side.failure(name) for side in self.sides}
        if all(failure and failure.skipped for failure in failures.values()):
            return ""
        failed = [f"{side}: {failure}" for side, failure in failures.items() if failure]
        at_fault = any(name in side.faults for side in self.sides)
        if failed or at_fault or found.log_ratio is None:
            for side in self.sides:
                del side.rows[name]
            return "" if at_fault else ", ".join(failed) or None
        self.ratios[name] = math.exp(found.log_ratio)
        return ""

    def give_up(self, names: Names, why: str = "") -> None:
        """Leave these to processes that run alone."""
        if why:
            self.reasons[why] += names
        self.left = tuple(name for name in self.left if name not in names)

    def outcomes(self) -> list[TurnResult]:
        """Return the outcome of each turn."""
        remarks = [*self.remarks]
        for why, of in self.reasons.items():
            who = quoted(of[0]) if len(of) == 1 else plural(len(of), "benchmark")
            remarks.append(f"{why}: measured in alternating processes, not in lock-step: {who}")
        base, candidate = (_outcome(side, self.names, self.seconds / 2) for side in self.sides)
        candidate = replace(candidate, remarks=remarks, pair_ratios=self.ratios)
        return [(base, candidate)[index] for index in self.order]


def deliver(
    plan: Plan, asked: Sequence[tuple[Sequence[Turn], Names]], begins: Begins, running: Running
) -> Iterator[list[TurnResult]]:
    """Measure programs of one round in lock-step: of each, both turns and the names they share.

    The first turn's process starts first. Yield one outcome per turn of each program, in order; if
    interrupted, first those of programs that have ended well. A benchmark that both sides measured
    gets a row and, in the candidate's outcome, a ratio; one in which a side failed gets a fault.
    All others are missing (`TurnResult.missing`) and must be measured by themselves.
    """
    programs = [_Program(plan, turns, names) for turns, names in asked]
    run, begun = 0, set[str]()

    def show(program: _Program, name: str) -> None:
        if program.binary.family not in begun:
            begun.add(program.binary.family)
            begins(*program.turns)
        running(name)

    while left := [one for one in programs if one.left]:
        run += 1
        before = [one.left for one in left]
        results = plan.folder / f"round{left[0].turns[0].round}" / f"pairs{run}.results"
        results.unlink(missing_ok=True)  # of an earlier attempt in this round
        try:
            ending = _driven(left, run, results, show)
        except BaseException:
            for program, of_it in zip(left, findings_in(results, len(left)), strict=True):
                told = of_it.values()
                if any(one.ended for one in told) and all(one.of is None for one in told):
                    program.take(run, of_it)
            ended = takewhile(lambda one: not one.left and not one.reasons, programs)
            yield from (one.outcomes() for one in ended)
            raise
        found = findings_in(results, len(left))
        for program, of_it in zip(left, found, strict=True):
            program.take(run, of_it)
        left[0].seconds += ending.seconds - sum(one.seconds for of in found for one in of.values())
        for program, of_it, names in zip(left, found, before, strict=True):
            if program is not left[0] and not of_it:
                break  # it did not work: the driver ended before
            unfound = tuple(name for name in program.left if name not in of_it)
            if unfound and (ending.status or ending.ended_for):
                require_room(program.sides[0].folder)
                it_was_running = of_it or (ending.status < 0 and not ending.ended_for)
                program.give_up(unfound[:1] if it_was_running else unfound, ending.described())
            elif program.left == names:
                program.give_up(names)
        # If the driver was killed, its sides may still be alive.
        if ending.runs_on or (ending.left_behind and ending.status >= 0):
            end = "cannot be killed" if ending.runs_on else "was killed"
            left[0].remarks.append(f"a program in lock-step left a process behind, which {end}")
    yield from (one.outcomes() for one in programs)


def _folder(plan: Plan, turn: Turn) -> Path:
    """Return an output folder for a turn's processes, without files of earlier runs."""
    folder = plan.folder / f"round{turn.round}" / turn.lane.side / turn.binary.family
    folder.mkdir(parents=True, exist_ok=True)
    for path in folder.glob("pair*"):
        path.unlink()
    return folder


def _driven(
    programs: Sequence[_Program], run: int, results: Path, show: Callable[[_Program, str], None]
) -> Ending:
    """Run the driver, which writes its findings to `results`; return how it ended."""
    plan, sides, first = programs[0].plan, programs[0].sides, programs[0].sides[0].turn
    planned = results.with_suffix(".plan")
    told = protocol.Plan(
        programs=[one.driven(run) for one in programs],
        results=str(results),
        order=programs[0].order,
        seed=seed_of(plan, first),
        deadline_s=plan.deadline_s,
    )
    planned.write_text(json.dumps(asdict(told)), encoding="utf-8")
    each = [(one, name) for one in programs for name in one.left]
    shown = 0

    def show_next() -> None:
        """Report the benchmarks that have begun since the last call."""
        nonlocal shown
        until = sum(map(len, findings_in(results, len(programs)))) + 1
        for program, name in each[shown:until]:
            show(program, name)
        shown = max(shown, until)

    show_next()
    # The driver ends late sides; each may be late in starting, preparing, measuring and ending, and
    # those of the program before may be late in ending, too.
    patience = 6 * len(sides) * plan.deadline_s + 60.0
    ending = process.run(
        driver.command(planned),
        patience,
        results.parent,
        plan.environment,
        watched=results,
        grown=show_next,
        told=f"round {first.round}, {' and '.join(side.turn.lane.side for side in sides)}",
        by_hand=[command for one in told.programs for command in one.commands],
    )
    ending = replace(ending, command=("the driver of the pairs", *ending.command[1:]))
    bad = ending.ended_for or ending.status or ending.left_behind
    if bad and any(one.binary.needs_gpu for one in programs):
        plan.freed(ending)
    return ending


def _outcome(side: _Side, names: Names, seconds: float) -> TurnResult:
    rows = [row for name in names for row in side.rows.get(name, [])]
    report = {"context": side.context, "benchmarks": rows} if side.context or rows else {}
    binary, number = replace(side.turn.binary, names=names), side.turn.round
    return TurnResult(binary, number, report, side.faults, seconds, side.turn.lane.side)
