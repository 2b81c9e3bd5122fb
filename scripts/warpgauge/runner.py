# SPDX-License-Identifier: Apache-2.0
"""Runs every binary in several rounds, in shuffled order, each time in a fresh process."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import groupby
from pathlib import Path
from typing import Protocol

from warpgauge import containment, measured, partial_report, process, repeats, selection
from warpgauge.containment import Names, Part
from warpgauge.discovery import Binary
from warpgauge.fatigue import Fatigue
from warpgauge.journal import Journal
from warpgauge.partial_report import Report
from warpgauge.process import Ending
from warpgauge.repeats import Budget
from warpgauge.shuffle import shuffled

# A benchmark takes about a second, the first of a process a few more, with libraries that come from
# a slow disk a minute; only a hang takes this long.
DEADLINE_S = 120.0


@dataclass(frozen=True)
class Lane:
    """Programs and how they are called. Two lanes are two sides, whose processes alternate."""

    binaries: tuple[Binary, ...]
    arguments: tuple[str, ...] = ()
    side: str = ""  # which side it is, where there are two
    filters: Mapping[str, str] = field(default_factory=dict)  # by family, of what to run of it


@dataclass(frozen=True)
class Plan:
    """What to run. `seed` alone decides the order of the families within the rounds."""

    lanes: tuple[Lane, ...]
    rounds: range
    seed: int
    folder: Path  # gets every process's JSON
    gpu_arguments: tuple[str, ...] = ()  # only for the binaries that need a GPU
    deadline_s: float = DEADLINE_S  # of a benchmark
    environment: Mapping[str, str] = field(default_factory=dict)  # beside our own
    settle: Callable[[Sequence[str]], None] = lambda names: None  # before these run once more
    freed: Callable[[Ending], None] = lambda ending: None  # after a bad end, before what is next


@dataclass(frozen=True)
class Turn:
    """One program's run in one round; a process, or several where the first ends badly."""

    round: int
    lane: Lane
    binary: Binary


@dataclass(frozen=True)
class Outcome:
    """What a turn delivered: a row or a fault for each benchmark of `binary`, or both.

    `binary` has what was still to be run in this turn, which may be nothing. A fault overrules a
    row.
    """

    binary: Binary
    round: int
    report: Report
    faults: Mapping[str, str]
    seconds: float
    side: str = ""
    remarks: Sequence[str] = ()  # what was bad and cost no benchmark

    @cached_property
    def failures(self) -> Mapping[str, str]:
        """Why benchmarks have no result in this turn: faults, and rows that are no measurement."""
        found: dict[str, str] = {}
        for row in self.report.get("benchmarks", []):
            why = measured.fault_of(row) if measured.is_run(row) else None
            if why is not None:
                found.setdefault(row["name"], why)
        return {**found, **self.faults}


# What of an outcome a turn does not tell.
_TOLD = ("report", "faults", "seconds", "remarks")


class Observer(Protocol):
    """Sees the run go on."""

    def begins(self, turn: Turn) -> None: ...

    def ended(self, outcome: Outcome) -> None: ...


def order(plan: Plan) -> list[list[Turn]]:
    """For each round its turns, families shuffled; the same seed gives the same order everywhere.

    The lanes' processes of a family follow each other directly, in odd rounds the first lane's
    first (A B, B A, A B, ...): what drifts in time then falls on both sides alike.
    """
    return [_turns(plan, number) for number in plan.rounds]


def _turns(plan: Plan, number: int) -> list[Turn]:
    lanes = plan.lanes if number % 2 else plan.lanes[::-1]
    turns: dict[str, list[Turn]] = {
        binary.family: [] for lane in plan.lanes for binary in lane.binaries if binary.fault is None
    }
    for lane in lanes:
        for binary in lane.binaries:
            if binary.fault is None:
                turns[binary.family].append(Turn(number, lane, binary))
    # By the number too: a round has the same order whichever round a run begins with.
    generator = random.Random(f"{plan.seed} {number}")
    families = generator.sample(list(turns), len(turns))
    return [turn for family in families for turn in turns[family]]


def sequence(plan: Plan, turn: Turn) -> Names:
    """A program's benchmarks in the order that it runs them in: shuffled, or else as it lists them.

    The lanes of a round have the same order.
    """
    binary = turn.binary
    if not binary.shuffles:
        return binary.names
    return shuffled(binary.names, _seed_of(plan, turn))


def _seed_of(plan: Plan, turn: Turn) -> int:
    """Of the order within the programs in this round; it has 64 bits."""
    return (plan.seed << 16 | turn.round) & (1 << 64) - 1


def run(plan: Plan, observer: Observer, journal: Journal | None = None) -> list[Outcome]:
    """One outcome for each turn; its JSON is on disk before the next turn begins.

    What failed in a lane is not run there again: its row is an error whatever comes of it, and a
    hang would cost its deadline in every round. A turn that this leaves without benchmarks starts
    no process. What was disturbed is run once more, in all lanes, as long as that helps.
    """
    return list(one_by_one(plan, observer, journal))


def one_by_one(plan: Plan, observer: Observer, journal: Journal | None = None) -> Iterator[Outcome]:
    """The same, each when the turns of its program have ended: an interrupt takes none back.

    A `journal` keeps them, and what it holds already is not run again, unless it was disturbed.
    Raises UserError where it cannot, and Tired where the GPU stays slow and there is more to run.
    """
    rounds = order(plan)
    budget, fatigue = Budget(sum(map(len, rounds)) // 2), Fatigue()
    failed: dict[tuple[str, str], set[str]] = {}
    for turns in rounds:
        for _, group in groupby(turns, key=lambda turn: turn.binary.family):
            fatigue.require_rested()
            together, outcomes = list(group), []
            for turn in together:
                gone = failed.setdefault((turn.lane.side, turn.binary.family), set())
                names = tuple(name for name in sequence(plan, turn) if name not in gone)
                observer.begins(turn)
                outcome = _kept(plan, turn, names, journal)
                gone.update(outcome.failures)
                observer.ended(outcome)
                outcomes.append(outcome)
            best = _undisturbed(plan, together, outcomes, budget, journal)
            yield from best
            fatigue.look(outcome.report for outcome in best)


def _undisturbed(
    plan: Plan,
    turns: Sequence[Turn],
    outcomes: Sequence[Outcome],
    budget: Budget,
    journal: Journal | None,
) -> Sequence[Outcome]:
    """The outcomes of one program's turns, with what was disturbed in any of them run again."""
    names = repeats.disturbed(outcome.report for outcome in outcomes)
    if not names or not budget.is_left:
        return outcomes
    plan.settle(names)
    better = []
    for turn, outcome in zip(turns, outcomes, strict=True):
        asked = tuple(name for name in outcome.binary.names if name in names)
        again = _kept(plan, turn, asked, journal, attempt=2)
        report = repeats.with_repeated(outcome.report, again.report, asked)
        faults = {**outcome.faults, **again.faults}
        seconds = outcome.seconds + again.seconds
        better.append(replace(outcome, report=report, faults=faults, seconds=seconds))
    left = repeats.disturbed(outcome.report for outcome in better)
    budget.spend(len(turns), helped=len(left) < len(names))
    return better


def _kept(
    plan: Plan, turn: Turn, names: Names, journal: Journal | None, attempt: int = 1
) -> Outcome:
    """What the journal holds of a turn, else what the turn delivers, which the journal keeps."""
    if journal is None:
        return _delivered(plan, turn, names)
    binary = replace(turn.binary, names=names)
    place = [str(turn.round), str(attempt), turn.lane.side]
    key = [*place, *command(plan, turn.lane, binary), *names]
    found = journal.find(key)
    # What was disturbed may go undisturbed now, when the run goes on.
    if found is None or repeats.disturbed([found["report"]]):
        outcome = _delivered(plan, turn, names)
        journal.keep(key, {key: getattr(outcome, key) for key in _TOLD})
        return outcome
    told = {key: found[key] for key in _TOLD}
    return Outcome(binary, turn.round, side=turn.lane.side, **told)


def command(plan: Plan, lane: Lane, binary: Binary, names: Names | None = None) -> list[str]:
    """The command of one process but for its output file: it can be repeated by hand.

    For some `names` of the binary only, where they are given.
    """
    chosen = lane.filters.get(binary.family) if names is None else selection.exactly(names)
    filtered = [] if chosen is None else [f"--benchmark_filter={chosen}"]
    device = plan.gpu_arguments if binary.needs_gpu else ()
    return [str(binary.path), *filtered, *lane.arguments, *device]


def _delivered(plan: Plan, turn: Turn, names: Names) -> Outcome:
    folder = plan.folder / f"round{turn.round}" / turn.lane.side / turn.binary.family
    folder.mkdir(parents=True, exist_ok=True)
    started = 0

    def start(asked: Names) -> Part:
        nonlocal started
        started += 1
        return _process(plan, turn, asked, folder / f"out{started}.json")

    found = containment.deliver(names, start)
    return Outcome(
        replace(turn.binary, names=names),
        turn.round,
        found.report,
        found.faults,
        found.seconds,
        turn.lane.side,
        found.remarks,
    )


def _process(plan: Plan, turn: Turn, asked: Names, out: Path) -> Part:
    all_of_it = asked == sequence(plan, turn)
    called = command(plan, turn.lane, turn.binary, None if all_of_it else asked)
    if turn.binary.shuffles:
        called.append(f"--shuffle={_seed_of(plan, turn)}")
    output = [f"--benchmark_out={out}", "--benchmark_out_format=json"]
    out.unlink(missing_ok=True)  # of another run in the same folder
    ending = process.run(
        [*called, *output], plan.deadline_s, out.parent, plan.environment, watched=out
    )
    if turn.binary.needs_gpu and (ending.ended_for or ending.status < 0 or ending.left_behind):
        plan.freed(ending)
    return Part(asked, *partial_report.read(out), ending)
