# SPDX-License-Identifier: Apache-2.0
"""Runs a plan's turns in fresh processes or from the journal, and repeats disturbed ones."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import chain, groupby
from typing import Protocol

import msgspec

from warpgauge.measure import drive
from warpgauge.measure.discovery import Names
from warpgauge.measure.journal import Journal, Kept
from warpgauge.measure.plan import Plan, Turn, command, order, sequence
from warpgauge.measure.throttle_guard import ThrottleGuard
from warpgauge.measure.turn_result import TurnResult
from warpgauge.records.counters import is_disturbed
from warpgauge.records.fields import counters_of
from warpgauge.records.program_report import Report
from warpgauge.system.document import failure_of

# The turns of one program in one round, and what each is to measure.
Asked = Sequence[tuple[Turn, Names]]


class Observer(Protocol):
    """Receives the events of a run."""

    def begins(self, *turns: Turn) -> None: ...

    def runs(self, benchmark: str) -> None: ...

    def ended(self, outcome: TurnResult) -> None: ...

    def repeated(self, outcome: TurnResult) -> None: ...


def run(plan: Plan, observer: Observer, journal: Journal | None = None) -> list[TurnResult]:
    """Run the plan and return one result per turn.

    A benchmark that failed in a lane does not run there again: its row is an error anyway, and a
    hang would cost its deadline in every round. A disturbed benchmark is repeated once in all
    lanes, as long as repeating helps.
    """
    return list(one_by_one(plan, observer, journal))


def one_by_one(
    plan: Plan, observer: Observer, journal: Journal | None = None
) -> Iterator[TurnResult]:
    """Like `run`, but yield the results of each program as soon as they are in the journal.

    That is when its turns have ended; in lock-step, when the round has ended or is interrupted, and
    only then is it seen whether they were disturbed, or the GPU stays slow. Results in the journal
    do not run again unless they were disturbed. Raises UserError if the journal cannot be written,
    and PersistentThrottling if the GPU stays slow.
    """
    rounds = order(plan)
    budget, throttle_guard = RepeatBudget(sum(map(len, rounds)) // 2), ThrottleGuard()
    failed: dict[tuple[str, str], set[str]] = defaultdict(set)
    run = _Run(plan, observer, journal)

    def asked(turn: Turn) -> tuple[Turn, Names]:
        gone = failed[turn.lane.side, turn.binary.family]
        return turn, tuple(name for name in sequence(plan, turn) if name not in gone)

    for turns in rounds:
        by_program = groupby(turns, key=lambda turn: turn.binary.family)
        programs = [[*map(asked, of_program)] for _, of_program in by_program]
        measured = run.measured(programs)
        for program in programs:
            throttle_guard.require_rested()
            best = _undisturbed(run, program, next(measured), budget)
            for outcome in best:
                failed[outcome.side, outcome.binary.family].update(outcome.failures)
            yield from best
            throttle_guard.look(outcome.report for outcome in best)


def _undisturbed(
    run: _Run, program: Asked, outcomes: Sequence[TurnResult], budget: RepeatBudget
) -> Sequence[TurnResult]:
    """Repeat what was disturbed in any turn of one program, and return the merged outcomes."""
    names = disturbed(outcome.report for outcome in outcomes)
    if not names or not budget.is_left:
        return outcomes
    run.plan.settle(names)
    asked = [
        (turn, tuple(name for name in outcome.binary.names if name in names))
        for (turn, _), outcome in zip(program, outcomes, strict=True)
    ]
    again = next(run.measured([asked], attempt=2))
    better = [*map(with_repeated, outcomes, again)]
    left = disturbed(outcome.report for outcome in better)
    budget.spend(len(program), helped=len(left) < len(names))
    return better


@dataclass
class _Run:
    """Measures programs, in lock-step where possible."""

    plan: Plan
    observer: Observer
    journal: Journal | None

    def measured(self, programs: Sequence[Asked], attempt: int = 1) -> Iterator[list[TurnResult]]:
        """Yield one outcome per turn of each program. Raises UserError if one cannot be kept.

        Programs in lock-step that follow each other are all measured before the first is yielded.
        """
        for in_lock_step, some in groupby(programs, key=lambda one: bool(self._together(one))):
            if in_lock_step:
                yield from self._in_lock_step([*some], attempt)
            else:
                yield from ([self._alone(one, attempt) for one in program] for program in some)

    def _together(self, program: Asked) -> Names:
        """Return what is measured in lock-step: what both turns have, in the order of the first."""
        if len(program) != 2 or not all(turn.binary.driven for turn, _ in program):
            return ()
        (_, first), (_, second) = program
        able = {*second} - self.plan.apart
        return tuple(name for name in first if name in able)

    def _alone(self, one: tuple[Turn, Names], attempt: int) -> TurnResult:
        turn, names = one
        if attempt == 1:
            self.observer.begins(turn)
        outcomes = self._found([one], attempt)
        if not outcomes:
            outcomes = [self._by_itself(turn, names)]
            self._keep([one], outcomes, attempt)
        self._tell(outcomes, attempt)
        return outcomes[0]

    def _by_itself(self, turn: Turn, names: Names) -> TurnResult:
        return drive.alone(self.plan, turn, names, self.observer.runs)

    def _in_lock_step(self, programs: Sequence[Asked], attempt: int) -> Iterator[list[TurnResult]]:
        known = [self._found(program, attempt) for program in programs]
        new = [program for program, found in zip(programs, known, strict=True) if not found]
        delivered = iter(self._delivered(new, attempt) if new else [])
        for program, found in zip(programs, known, strict=True):
            if found and attempt == 1:
                self.observer.begins(*(turn for turn, _ in program))
            outcomes = found or next(delivered)
            measured = chain.from_iterable(outcome.pair_ratios for outcome in outcomes)
            self.plan.apart.update({*self._together(program)}.difference(measured))
            self._tell(outcomes, attempt)
            yield outcomes

    def _delivered(self, programs: Sequence[Asked], attempt: int) -> list[list[TurnResult]]:
        """Measure programs in lock-step, and what is missing then by itself."""
        observer = self.observer
        together = [([turn for turn, _ in one], self._together(one)) for one in programs]
        begins = observer.begins if attempt == 1 else lambda *_: None
        found = drive.deliver(self.plan, together, begins, observer.runs)
        whole = []
        for program, outcomes in zip(programs, found, strict=True):
            whole.append([*map(self._completed, program, outcomes)])
            self._keep(program, whole[-1], attempt)
        return whole

    def _completed(self, one: tuple[Turn, Names], outcome: TurnResult) -> TurnResult:
        turn, names = one
        outcome = replace(outcome, binary=replace(turn.binary, names=names))
        if not (left := outcome.missing):
            return outcome
        self.observer.begins(turn)
        return with_repeated(outcome, self._by_itself(turn, left))

    def _keep(self, program: Asked, outcomes: Sequence[TurnResult], attempt: int) -> None:
        self.plan.unchanged()  # otherwise the inputs of these results are unknown
        for (turn, names), outcome in zip(program, outcomes, strict=True):
            if self.journal is not None:
                kept = msgspec.convert(outcome, Kept, from_attributes=True)
                self.journal.keep(self._key(turn, names, attempt), kept)

    def _tell(self, outcomes: Sequence[TurnResult], attempt: int) -> None:
        for outcome in outcomes:
            (self.observer.ended if attempt == 1 else self.observer.repeated)(outcome)

    def _key(self, turn: Turn, names: Names, attempt: int) -> list[str]:
        """Return the key of a result in the journal."""
        called = command(self.plan, turn.lane, replace(turn.binary, names=names))
        return [str(turn.round), str(attempt), turn.lane.side, *called, *names]

    def _found(self, program: Asked, attempt: int) -> list[TurnResult]:
        """Return the journal's results if it has all and none is disturbed; otherwise none."""
        if self.journal is None:
            return []
        found = [
            self.journal.find(self._key(turn, names, attempt), Kept) for turn, names in program
        ]
        whole = [kept for kept in found if kept is not None]
        if len(whole) < len(program) or disturbed(kept.report for kept in whole):
            return []
        return [
            TurnResult(
                replace(turn.binary, names=names),
                turn.round,
                side=turn.lane.side,
                **msgspec.structs.asdict(kept),
            )
            for (turn, names), kept in zip(program, whole, strict=True)
        ]


# Repetition stops after this many consecutive repetitions that did not help.
_MOST_IN_VAIN = 3


@dataclass
class RepeatBudget:
    """The number of turns that may still be repeated."""

    turns: int
    _in_vain: int = 0

    @property
    def is_left(self) -> bool:
        return self.turns > 0 and self._in_vain < _MOST_IN_VAIN

    def spend(self, turns: int, *, helped: bool) -> None:
        self.turns -= turns
        self._in_vain = 0 if helped else self._in_vain + 1


def disturbed(reports: Iterable[Report]) -> tuple[str, ...]:
    """Return the names of disturbed benchmarks."""
    rows = (row for report in reports for row in report.get("benchmarks", []))
    found = (row for row in rows if failure_of(row) is None and is_disturbed(counters_of(row)))
    return tuple(dict.fromkeys(row["name"] for row in found))


def with_repeated(outcome: TurnResult, again: TurnResult) -> TurnResult:
    """Return `outcome` with the repeated benchmarks replaced."""
    names = again.binary.names
    new = [row for row in again.report.get("benchmarks", []) if row["name"] in names]
    measured = {row["name"] for row in new}
    rows = outcome.report.get("benchmarks", [])
    kept = [row for row in rows if row["name"] not in measured]
    ratios = {n: ratio for n, ratio in outcome.pair_ratios.items() if n not in measured}
    return replace(
        outcome,
        report={**again.report, **outcome.report, "benchmarks": [*kept, *new]},
        faults={**outcome.faults, **again.faults},
        seconds=outcome.seconds + again.seconds,
        remarks=(*outcome.remarks, *again.remarks),
        pair_ratios={**ratios, **again.pair_ratios},
    )
