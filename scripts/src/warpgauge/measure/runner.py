# SPDX-License-Identifier: Apache-2.0
"""Runs a plan's turns in fresh processes, and repeats disturbed benchmarks."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import chain, groupby
from typing import Protocol

from warpgauge.measure import drive
from warpgauge.measure.discovery import Names
from warpgauge.measure.plan import Plan, Turn, TurnResult, order, sequence
from warpgauge.measure.throttle_guard import PersistentThrottling, ThrottleGuard
from warpgauge.records.counters import is_disturbed
from warpgauge.records.program_report import Report

# The turns of one program in one round, and what each is to measure.
Asked = Sequence[tuple[Turn, Names]]


class Observer(Protocol):
    """Receives the events of a run."""

    def begins(self, *turns: Turn) -> None: ...

    def runs(self, benchmark: str) -> None: ...

    def ended(self, outcome: TurnResult) -> None: ...

    def repeated(self, outcome: TurnResult) -> None: ...


def run(plan: Plan, observer: Observer) -> Iterator[TurnResult]:
    """Run the plan, and yield one result per turn when its program has ended.

    In lock-step that is when the round has ended; only then is it seen whether it was disturbed,
    or the GPU stays slow. A benchmark that failed in a lane does not run there again: its row is an
    error anyway, and a hang would cost its deadline in every round. A disturbed benchmark is
    repeated once in all lanes, as long as repeating helps.

    Raises UserError if the journal cannot be written, and PersistentThrottling if the GPU stays
    slow: a resumed run measures those rounds anew.
    """
    rounds, journal = order(plan), plan.journal
    budget, throttle_guard = RepeatBudget(sum(map(len, rounds)) // 2), ThrottleGuard()
    failed: dict[tuple[str, str], set[str]] = defaultdict(set)
    run = _Run(plan, observer)
    rested = 0  # length of journal.used before the first round in which the GPU is slow

    def asked(turn: Turn) -> tuple[Turn, Names]:
        gone = failed[turn.lane.side, turn.binary.family]
        return turn, tuple(name for name in sequence(plan, turn) if name not in gone)

    for turns in rounds:
        before = len(journal.used)
        by_program = groupby(turns, key=lambda turn: turn.binary.family)
        programs = [[*map(asked, of_program)] for _, of_program in by_program]
        measured = run.measured(programs)
        for program in programs:
            if throttle_guard.is_rested:
                rested = before
            try:
                throttle_guard.require_rested()
            except PersistentThrottling:
                journal.forget(rested)
                raise
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
    if not run.plan.journal.is_replayed:  # otherwise the repetition is recorded, too
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


@dataclass(frozen=True)
class _Run:
    """Measures programs, in lock-step where possible."""

    plan: Plan
    observer: Observer

    def measured(self, programs: Sequence[Asked], attempt: int = 1) -> Iterator[list[TurnResult]]:
        """Yield one outcome per turn of each program.

        Programs in lock-step that follow each other are all measured before the first is yielded.
        """
        tell = self.observer.ended if attempt == 1 else self.observer.repeated
        for in_lock_step, some in groupby(programs, key=lambda one: bool(self._together(one))):
            measure = self._in_lock_step if in_lock_step else self._in_turns
            for outcomes in measure([*some], attempt):
                for outcome in outcomes:
                    tell(outcome)
                yield outcomes

    def _together(self, program: Asked) -> Names:
        """Return what is measured in lock-step: what both turns have, in the order of the first."""
        if len(program) != 2 or not all(turn.binary.driven for turn, _ in program):
            return ()
        (_, first), (_, second) = program
        able = {*second} - self.plan.apart
        return tuple(name for name in first if name in able)

    def _in_turns(self, programs: Sequence[Asked], attempt: int) -> Iterator[list[TurnResult]]:
        for program in programs:
            yield [self._alone(turn, names, is_new=attempt == 1) for turn, names in program]

    def _alone(self, turn: Turn, names: Names, *, is_new: bool = True) -> TurnResult:
        if is_new:
            self.observer.begins(turn)
        [[outcome]] = drive.deliver(
            self.plan, [([turn], names)], lambda *_: None, self.observer.runs
        )
        return outcome

    def _in_lock_step(self, programs: Sequence[Asked], attempt: int) -> Iterator[list[TurnResult]]:
        """Measure programs in lock-step, and what is missing then by itself."""
        together = [([turn for turn, _ in one], self._together(one)) for one in programs]
        begins = self.observer.begins if attempt == 1 else lambda *_: None
        found = drive.deliver(self.plan, together, begins, self.observer.runs)
        for program, (_, names), outcomes in zip(programs, together, found, strict=True):
            whole = [*map(self._completed, program, outcomes)]
            rows = chain.from_iterable(outcome.report.rows.values() for outcome in whole)
            measured = {row.name for row in rows if row.pairs}
            self.plan.apart.update({*names} - measured)
            yield whole

    def _completed(self, one: tuple[Turn, Names], outcome: TurnResult) -> TurnResult:
        turn, names = one
        outcome = replace(outcome, binary=replace(turn.binary, names=names))
        left = outcome.missing
        return with_repeated(outcome, self._alone(turn, left)) if left else outcome


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
    rows = (row for report in reports for row in report.rows.values())
    found = (row.name for row in rows if row.error is None and is_disturbed(row.counters))
    return tuple(dict.fromkeys(found))


def with_repeated(outcome: TurnResult, again: TurnResult) -> TurnResult:
    """Return `outcome` with the repeated benchmarks replaced."""
    new = {name: row for name, row in again.report.rows.items() if name in again.binary.names}
    kept = {name: row for name, row in outcome.report.rows.items() if name not in new}
    return replace(
        outcome,
        report=Report({**again.report.context, **outcome.report.context}, {**kept, **new}),
        faults={**outcome.faults, **again.faults},
        seconds=outcome.seconds + again.seconds,
        remarks=(*outcome.remarks, *again.remarks),
    )
