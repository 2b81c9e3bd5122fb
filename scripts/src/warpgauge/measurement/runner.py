# SPDX-License-Identifier: Apache-2.0
"""Runs the turns of a plan in fresh processes, out of the journal, and again if disturbed."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import groupby
from typing import Protocol

import msgspec

from warpgauge.execution import turn_result
from warpgauge.execution.crash_recovery import Names
from warpgauge.execution.plan import Plan, Turn, command, order, sequence
from warpgauge.execution.turn_result import Outcome, Running
from warpgauge.files.document import failure_of
from warpgauge.measurement.journal import Journal, Kept
from warpgauge.measurement.throttle_guard import ThrottleGuard
from warpgauge.records.counters import is_disturbed
from warpgauge.records.fields import counters_of
from warpgauge.records.partial_report import Report


class Observer(Protocol):
    """Sees the run go on."""

    def begins(self, turn: Turn) -> None: ...

    def runs(self, benchmark: str) -> None: ...

    def ended(self, outcome: Outcome) -> None: ...

    def repeated(self, outcome: Outcome) -> None: ...


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
    Raises UserError where it cannot, and PersistentThrottling where the GPU stays slow and there is
    more to run.
    """
    rounds = order(plan)
    budget, throttle_guard = RepeatBudget(sum(map(len, rounds)) // 2), ThrottleGuard()
    failed: dict[tuple[str, str], set[str]] = {}
    for turns in rounds:
        for _, group in groupby(turns, key=lambda turn: turn.binary.family):
            throttle_guard.require_rested()
            together, outcomes = list(group), []
            for turn in together:
                gone = failed.setdefault((turn.lane.side, turn.binary.family), set())
                names = tuple(name for name in sequence(plan, turn) if name not in gone)
                observer.begins(turn)
                outcome = outcome_of(plan, turn, names, journal, observer.runs)
                gone.update(outcome.failures)
                observer.ended(outcome)
                outcomes.append(outcome)
            best = _undisturbed(plan, together, outcomes, budget, journal, observer)
            for outcome in best:
                failed[outcome.side, outcome.binary.family].update(outcome.failures)
            yield from best
            throttle_guard.look(outcome.report for outcome in best)


def _undisturbed(
    plan: Plan,
    turns: Sequence[Turn],
    outcomes: Sequence[Outcome],
    budget: RepeatBudget,
    journal: Journal | None,
    observer: Observer,
) -> Sequence[Outcome]:
    """The outcomes of one program's turns, with what was disturbed in any of them run again."""
    names = disturbed(outcome.report for outcome in outcomes)
    if not names or not budget.is_left:
        return outcomes
    plan.settle(names)
    better = []
    for turn, outcome in zip(turns, outcomes, strict=True):
        asked = tuple(name for name in outcome.binary.names if name in names)
        again = outcome_of(plan, turn, asked, journal, observer.runs, attempt=2)
        observer.repeated(again)
        better.append(
            replace(
                outcome,
                report=with_repeated(outcome.report, again.report, asked),
                faults={**outcome.faults, **again.faults},
                seconds=outcome.seconds + again.seconds,
                remarks=(*outcome.remarks, *again.remarks),
            )
        )
    left = disturbed(outcome.report for outcome in better)
    budget.spend(len(turns), helped=len(left) < len(names))
    return better


def outcome_of(
    plan: Plan,
    turn: Turn,
    names: Names,
    journal: Journal | None,
    running: Running,
    attempt: int = 1,
) -> Outcome:
    """Of an `attempt` at `names` of a turn's program. Raises UserError where it cannot be kept."""
    if journal is None:
        return turn_result.deliver(plan, turn, names, running)
    binary = replace(turn.binary, names=names)
    place = [str(turn.round), str(attempt), turn.lane.side]
    key = [*place, *command(plan, turn.lane, binary), *names]
    found = journal.find(key, Kept)
    # What was disturbed may go undisturbed now, when the run goes on.
    if found is None or disturbed([found.report]):
        fresh = turn_result.deliver(plan, turn, names, running)
        journal.keep(key, msgspec.convert(fresh, Kept, from_attributes=True))
        return fresh
    told = (found.report, found.faults, found.seconds)
    return Outcome(binary, turn.round, *told, turn.lane.side, found.remarks)


# So many tries in a row that are disturbed again, and the GPU is taken to stay as it is.
_MOST_IN_VAIN = 3


@dataclass
class RepeatBudget:
    """How many turns of a run may still be repeated."""

    turns: int
    _in_vain: int = 0

    @property
    def is_left(self) -> bool:
        return self.turns > 0 and self._in_vain < _MOST_IN_VAIN

    def spend(self, turns: int, *, helped: bool) -> None:
        self.turns -= turns
        self._in_vain = 0 if helped else self._in_vain + 1


def disturbed(reports: Iterable[Report]) -> tuple[str, ...]:
    """The benchmarks that were disturbed in any of them."""
    rows = (row for report in reports for row in report.get("benchmarks", []))
    found = (row for row in rows if failure_of(row) is None and is_disturbed(counters_of(row)))
    return tuple(dict.fromkeys(row["name"] for row in found))


def with_repeated(report: Report, again: Report, names: Collection[str]) -> Report:
    """`report` with the rows of `names` that were measured again."""
    new = [row for row in again.get("benchmarks", []) if row["name"] in names]
    measured = {row["name"] for row in new}
    kept = [row for row in report.get("benchmarks", []) if row["name"] not in measured]
    return {**report, "benchmarks": [*kept, *new]}
