# SPDX-License-Identifier: Apache-2.0
"""Runs a plan's turns in fresh processes or from the journal, and repeats disturbed ones."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import chain, groupby
from typing import Protocol

import msgspec

from warpgauge.execution import lock_step, turn_result
from warpgauge.execution.crash_recovery import Names
from warpgauge.execution.discovery import Ability
from warpgauge.execution.plan import Plan, Turn, command, order, sequence
from warpgauge.execution.turn_result import TurnResult
from warpgauge.files.document import failure_of
from warpgauge.measurement.journal import Journal, Kept
from warpgauge.measurement.throttle_guard import ThrottleGuard
from warpgauge.records.counters import is_disturbed
from warpgauge.records.fields import counters_of
from warpgauge.records.partial_report import Report


class Observer(Protocol):
    """Receives the events of a run."""

    def begins(self, *turns: Turn) -> None: ...

    def runs(self, benchmark: str) -> None: ...

    def ended(self, outcome: TurnResult) -> None: ...

    def repeated(self, outcome: TurnResult) -> None: ...


def run(plan: Plan, observer: Observer, journal: Journal | None = None) -> list[TurnResult]:
    """Run the plan and return one result per turn; its JSON is on disk before the next begins.

    A benchmark that failed in a lane does not run there again: its row is an error anyway, and a
    hang would cost its deadline in every round. A disturbed benchmark is repeated once in all
    lanes, as long as repeating helps.
    """
    return list(one_by_one(plan, observer, journal))


def one_by_one(
    plan: Plan, observer: Observer, journal: Journal | None = None
) -> Iterator[TurnResult]:
    """Like `run`, but yield the results of each program as soon as its turns have ended.

    Results in the `journal` do not run again unless they were disturbed. Raises UserError if the
    journal cannot be written, and PersistentThrottling if the GPU stays slow.
    """
    rounds = order(plan)
    budget, throttle_guard = RepeatBudget(sum(map(len, rounds)) // 2), ThrottleGuard()
    failed: dict[tuple[str, str], set[str]] = {}
    run = _Run(plan, observer, journal)
    for turns in rounds:
        for _, group in groupby(turns, key=lambda turn: turn.binary.family):
            throttle_guard.require_rested()
            together = list(group)
            gone = [
                failed.setdefault((turn.lane.side, turn.binary.family), set()) for turn in together
            ]
            asked = [
                tuple(name for name in sequence(plan, turn) if name not in names)
                for turn, names in zip(together, gone, strict=True)
            ]
            outcomes = run.group(together, asked)
            best = _undisturbed(run, together, outcomes, budget)
            for names, outcome in zip(gone, best, strict=True):
                names.update(outcome.failures)
            yield from best
            throttle_guard.look(outcome.report for outcome in best)


def _undisturbed(
    run: _Run, turns: Sequence[Turn], outcomes: Sequence[TurnResult], budget: RepeatBudget
) -> Sequence[TurnResult]:
    """Repeat what was disturbed in any turn of one program, and return the merged outcomes."""
    names = disturbed(outcome.report for outcome in outcomes)
    if not names or not budget.is_left:
        return outcomes
    run.plan.settle(names)
    asked = [tuple(n for n in outcome.binary.names if n in names) for outcome in outcomes]
    again = run.group(turns, asked, attempt=2)
    better = [*map(with_repeated, outcomes, again)]
    left = disturbed(outcome.report for outcome in better)
    budget.spend(len(turns), helped=len(left) < len(names))
    return better


@dataclass
class _Run:
    """Measures the turns of one program in one round, in lock-step where possible."""

    plan: Plan
    observer: Observer
    journal: Journal | None

    def group(
        self, turns: Sequence[Turn], asked: Sequence[Names], attempt: int = 1
    ) -> list[TurnResult]:
        """Measure these names of each turn. Raises UserError if a result cannot be kept."""
        together = self._together(turns, asked)
        all_of_them = [*zip(turns, asked, strict=True)]
        parts = [all_of_them] if together else [[one] for one in all_of_them]
        outcomes = [one for part in parts for one in self._kept(part, together, attempt)]
        measured = chain.from_iterable(outcome.pair_ratios for outcome in outcomes)
        self.plan.apart.update({*together}.difference(measured))
        return outcomes

    def _together(self, turns: Sequence[Turn], asked: Sequence[Names]) -> Names:
        """Return what is measured in lock-step: what both turns have, in the order of the first."""
        if len(turns) != 2 or not all(one.binary.ability >= Ability.LOCK_STEP for one in turns):
            return ()
        first, second = asked
        able = {*second} - self.plan.apart
        return tuple(name for name in first if name in able)

    def _kept(
        self, asked: Sequence[tuple[Turn, Names]], together: Names, attempt: int
    ) -> list[TurnResult]:
        """Return results from the journal if it has all of them; else measure and keep them."""
        if attempt == 1:
            self.observer.begins(*(turn for turn, _ in asked))
        keys = [self._key(turn, names, attempt) for turn, names in asked]
        outcomes = self._found(asked, keys)
        if not outcomes:
            outcomes = self._delivered(asked, together)
            self.plan.unchanged()  # otherwise the inputs of these results are unknown
            for key, outcome in zip(keys, outcomes, strict=True):
                if self.journal is not None:
                    self.journal.keep(key, msgspec.convert(outcome, Kept, from_attributes=True))
        for outcome in outcomes:
            (self.observer.ended if attempt == 1 else self.observer.repeated)(outcome)
        return outcomes

    def _key(self, turn: Turn, names: Names, attempt: int) -> list[str]:
        """Return the key of a result in the journal."""
        called = command(self.plan, turn.lane, replace(turn.binary, names=names))
        return [str(turn.round), str(attempt), turn.lane.side, *called, *names]

    def _found(
        self, asked: Sequence[tuple[Turn, Names]], keys: Sequence[Sequence[str]]
    ) -> list[TurnResult]:
        """Return the journal's results if it has all and none is disturbed; otherwise none."""
        found = [self.journal.find(key, Kept) if self.journal else None for key in keys]
        whole = [kept for kept in found if kept is not None]
        if len(whole) < len(asked) or disturbed(kept.report for kept in whole):
            return []
        return [
            TurnResult(
                replace(turn.binary, names=names),
                turn.round,
                side=turn.lane.side,
                **msgspec.structs.asdict(kept),
            )
            for (turn, names), kept in zip(asked, whole, strict=True)
        ]

    def _delivered(self, asked: Sequence[tuple[Turn, Names]], together: Names) -> list[TurnResult]:
        """Measure `together` in lock-step, and what is missing then turn by turn."""
        plan, runs = self.plan, self.observer.runs
        if not together:
            return [turn_result.deliver(plan, turn, names, runs) for turn, names in asked]
        whole = []
        found = lock_step.deliver(plan, [turn for turn, _ in asked], together, runs)
        for (turn, names), one in zip(asked, found, strict=True):
            outcome = replace(one, binary=replace(turn.binary, names=names))
            if left := outcome.missing:
                outcome = with_repeated(outcome, turn_result.deliver(plan, turn, left, runs))
            whole.append(outcome)
        return whole


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
