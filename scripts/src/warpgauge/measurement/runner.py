# SPDX-License-Identifier: Apache-2.0
"""Runs the turns of a plan one by one, each time in a fresh process."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import groupby
from typing import Protocol

from warpgauge.execution.order import order, sequence
from warpgauge.execution.plan import Plan, Turn
from warpgauge.execution.turn_result import Outcome
from warpgauge.measurement import kept, repeats
from warpgauge.measurement.journal import Journal
from warpgauge.measurement.repeats import Budget
from warpgauge.measurement.throttle_guard import Fatigue


class Observer(Protocol):
    """Sees the run go on."""

    def begins(self, turn: Turn) -> None: ...

    def runs(self, benchmark: str) -> None: ...

    def ended(self, outcome: Outcome) -> None: ...


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
                outcome = kept.outcome(plan, turn, names, journal, observer.runs)
                gone.update(outcome.failures)
                observer.ended(outcome)
                outcomes.append(outcome)
            best = _undisturbed(plan, together, outcomes, budget, journal, observer)
            yield from best
            fatigue.look(outcome.report for outcome in best)


def _undisturbed(
    plan: Plan,
    turns: Sequence[Turn],
    outcomes: Sequence[Outcome],
    budget: Budget,
    journal: Journal | None,
    observer: Observer,
) -> Sequence[Outcome]:
    """The outcomes of one program's turns, with what was disturbed in any of them run again."""
    names = repeats.disturbed(outcome.report for outcome in outcomes)
    if not names or not budget.is_left:
        return outcomes
    plan.settle(names)
    better = []
    for turn, outcome in zip(turns, outcomes, strict=True):
        asked = tuple(name for name in outcome.binary.names if name in names)
        again = kept.outcome(plan, turn, asked, journal, observer.runs, attempt=2)
        report = repeats.with_repeated(outcome.report, again.report, asked)
        faults = {**outcome.faults, **again.faults}
        seconds = outcome.seconds + again.seconds
        better.append(replace(outcome, report=report, faults=faults, seconds=seconds))
    left = repeats.disturbed(outcome.report for outcome in better)
    budget.spend(len(turns), helped=len(left) < len(names))
    return better
