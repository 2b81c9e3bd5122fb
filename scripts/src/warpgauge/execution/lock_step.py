# SPDX-License-Identifier: Apache-2.0
"""Runs both sides of one program in lock-step: both processes are alive, one works at a time."""

from __future__ import annotations

import json
import math
import os
import random
from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path

from warpgauge.execution import lock_step_driver as driver
from warpgauge.execution import selection
from warpgauge.execution.crash_recovery import Names, Row, is_untried
from warpgauge.execution.lock_step_driver import Finding
from warpgauge.execution.plan import Plan, Turn, command, of_round, seed_of, sequence
from warpgauge.execution.turn_result import Running, TurnResult, require_room
from warpgauge.files.document import Failure, failure_of
from warpgauge.records import partial_report
from warpgauge.system import process
from warpgauge.system.process import Ending
from warpgauge.system.text import plural, quoted


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
        own = command(self.plan, lane, self.turn.binary, asked)
        return [*own, *of_round(self.plan, self.turn)]

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


def deliver(plan: Plan, turns: Sequence[Turn], names: Names, running: Running) -> list[TurnResult]:
    """Measure `names`, which both turns have, in lock-step; the first turn's process starts first.

    Return one outcome per turn. A benchmark that both sides measured gets a row and, in the
    candidate's outcome, a ratio; one in which a side failed gets a fault. All others are missing in
    the outcome (`TurnResult.missing`) and must be measured by themselves.
    """
    sides = [_Side(plan, turn, _folder(plan, turn)) for turn in turns]
    sides.sort(key=lambda side: plan.lanes.index(side.turn.lane))
    order = [[side.turn for side in sides].index(turn) for turn in turns]
    left, run, seconds = names, 0, 0.0
    ratios: dict[str, float] = {}
    reasons = defaultdict[str, list[str]](list)
    remarks: list[str] = []
    while left:
        run += 1
        found, ending = _driven(plan, sides, order, left, run, running)
        seconds += ending.seconds
        for side in sides:
            side.read(run, found.keys())
        unknown = []
        for name in left:
            why = _settled(plan, sides, run, found[name], ratios) if name in found else None
            if why is None:
                unknown.append(name)
            elif why:
                reasons[why].append(name)
        # If the driver was killed, its sides may still be alive.
        if ending.runs_on or (ending.left_behind and ending.status >= 0):
            program = turns[0].binary.path.name
            end = "cannot be killed" if ending.runs_on else "was killed"
            remarks.append(f"{program} left a process behind, which {end}")
        lost = unknown if len(unknown) == len(left) else []
        if unknown and (ending.status or ending.ended_for):
            require_room(sides[0].folder)
            if found or (ending.status < 0 and not ending.ended_for):
                lost = [name for name in unknown if name not in found][:1]  # it was running
            reasons[ending.described()] += lost
        left = tuple(name for name in unknown if name not in lost)
    for why, of in reasons.items():
        who = quoted(of[0]) if len(of) == 1 else plural(len(of), "benchmark")
        remarks.append(f"{why}: measured in alternating processes, not in lock-step: {who}")
    base, candidate = (_outcome(side, names, seconds / 2) for side in sides)
    candidate = replace(candidate, remarks=remarks, pair_ratios=ratios)
    return [(base, candidate)[index] for index in order]


def _folder(plan: Plan, turn: Turn) -> Path:
    """Return an output folder for a turn's processes, without files of earlier runs."""
    folder = plan.folder / f"round{turn.round}" / turn.lane.side / turn.binary.family
    folder.mkdir(parents=True, exist_ok=True)
    for path in folder.glob("pair*"):
        path.unlink()
    return folder


def _driven(
    plan: Plan,
    sides: Sequence[_Side],
    order: Sequence[int],
    names: Names,
    run: int,
    running: Running,
) -> tuple[Mapping[str, Finding], Ending]:
    """Run the driver; return its findings by benchmark, and how it ended."""
    first = sides[0].turn
    family, folder = first.binary.family, sides[0].folder
    planned, results = folder / f"pair{run}.plan", folder / f"pair{run}.results"
    cores = sorted(os.sched_getaffinity(0))
    # The GPU is part of the seed: GPUs measured at once must not share one core.
    core = random.Random(f"{plan.seed} {first.round} {family} {plan.environment}").choice(cores)
    told = driver.Plan(
        commands=[side.command(names) for side in sides],
        reports=[side.reports(run) for side in sides],
        names=[*names],
        results=str(results),
        cpu=core if len(cores) > 1 else None,
        order=[*order],
        seed=seed_of(plan, first),
        deadline_s=plan.deadline_s,
    )
    folder.mkdir(parents=True, exist_ok=True)  # a program may have removed it
    planned.write_text(json.dumps(asdict(told)), encoding="utf-8")

    def grown() -> None:
        """Report the benchmark that runs now."""
        if (done := len(_found(results))) < len(names):
            running(names[done])

    running(names[0])
    # The driver ends late sides; each side may be late in starting, preparing, measuring, ending.
    patience = 4 * len(sides) * plan.deadline_s + 60.0
    ending = process.run(
        driver.command(planned),
        patience,
        folder,
        plan.environment,
        watched=results,
        grown=grown,
        told=f"round {first.round}, {' and '.join(side.turn.lane.side for side in sides)}",
        by_hand=told.commands,
    )
    ending = replace(ending, command=("the driver of the pair", *ending.command[1:]))
    if first.binary.needs_gpu and (ending.ended_for or ending.status or ending.left_behind):
        plan.freed(ending)
    return _found(results), ending


def _found(results: Path) -> dict[str, Finding]:
    found = {}
    with suppress(OSError, ValueError):  # a killed driver leaves an incomplete line
        for line in results.read_text(encoding="utf-8").splitlines():
            one = Finding(**json.loads(line))
            found[one.name] = one
    return found


def _settled(
    plan: Plan, sides: Sequence[_Side], run: int, found: Finding, ratios: dict[str, float]
) -> str | None:
    """Give a finding to the sides or `ratios`; return why it must be measured outside lock-step.

    Return "" if it is settled, and None if an earlier failure prevented all attempts.
    """
    name, program = found.name, sides[0].turn.binary
    if found.of is not None:
        side = sides[found.of]
        ending = side.ending(run, found)
        when = " after its last benchmark" if found.after_last else ""
        how = ending.described(side.rows.keys() | side.context.keys(), when)
        if not found.began:
            return f"{side.turn.lane.side}: {how}"
        side.faults[name] = how
        if program.needs_gpu:
            plan.freed(ending)
    elif found.log_ratio is not None:
        for side in sides:
            if not side.rows[name]:
                require_room(side.folder)
                side.faults[name] = f"{program.path.name} did not report it"
    failures = {side.turn.lane.side: side.failure(name) for side in sides}
    if all(failure and failure.skipped for failure in failures.values()):
        return ""
    failed = [f"{side}: {failure}" for side, failure in failures.items() if failure]
    at_fault = any(name in side.faults for side in sides)
    if failed or at_fault or found.log_ratio is None:
        for side in sides:
            del side.rows[name]
        return "" if at_fault else ", ".join(failed) or None
    ratios[name] = math.exp(found.log_ratio)
    return ""


def _outcome(side: _Side, names: Names, seconds: float) -> TurnResult:
    rows = [row for name in names for row in side.rows.get(name, [])]
    report = {"context": side.context, "benchmarks": rows} if side.context or rows else {}
    turn = side.turn
    binary = replace(turn.binary, names=names)
    return TurnResult(binary, turn.round, report, side.faults, seconds, turn.lane.side)
