# SPDX-License-Identifier: Apache-2.0
"""Runs a plan's turns in fresh processes, and repeats disturbed benchmarks."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import chain, groupby
from typing import Protocol

from warpgauge.measure import drive
from warpgauge.measure.discovery import Names
from warpgauge.measure.plan import Plan, Turn, TurnResult, order
from warpgauge.records.counters import SM_CLOCK, THROTTLED, combined, is_disturbed
from warpgauge.records.program_report import Report
from warpgauge.system.errors import ExitStatus, UserError
from warpgauge.verdict.incompatibility import lowered_clock

# The turns of one program in one round, and what each is to measure.
Asked = Sequence[tuple[Turn, Names]]

# Repetition stops after this many consecutive repetitions that did not help.
_MOST_IN_VAIN = 3


# After this many consecutive programs at a lowered clock, each repeated after a rest, the GPU is
# expected to stay slow. One benchmark that draws too much power does not count: the others of its
# program run at full clock.
_SLOW_IN_A_ROW = 3


class PersistentThrottling(UserError):
    """The GPU stays at a lowered clock. Earlier results are kept."""

    def after(self, shown: ExitStatus) -> PersistentThrottling:
        """Return this error for a run that showed its results: a regression keeps its status."""
        regressed = shown is ExitStatus.REGRESSION
        return PersistentThrottling(str(self), shown if regressed else self.status)


class Observer(Protocol):
    """Receives the events of a run."""

    def begins(self, *turns: Turn) -> None: ...

    def runs(self, benchmark: str) -> None: ...

    def ended(self, outcome: TurnResult) -> None: ...

    def repeated(self, outcome: TurnResult) -> None: ...


def run(plan: Plan, observer: Observer) -> Iterator[TurnResult]:
    """Run the plan, and yield one result per turn when its program has ended.

    In lock-step that is when the round has ended, or all that are measured at once; only then it is
    seen whether it was disturbed, or the GPU stays slow. A benchmark that failed in a lane does
    not run there again: its row is an error anyway, and a hang would cost its deadline in every
    round. A disturbed benchmark is repeated once in all lanes: of at most half of the turns, and as
    long as repeating helps.

    Raises UserError if the journal cannot be written, and PersistentThrottling if the GPU stays
    slow: a resumed run measures those rounds anew.
    """
    rounds, journal = order(plan), plan.journal
    to_repeat, in_vain = sum(map(len, rounds)) // 2, 0
    slow: list[list[Mapping[str, float]]] = []  # of consecutive programs at a lowered clock
    # Of the first round in which the GPU is slow: the length of journal.used before the rounds that
    # are measured at once with it, and how many programs these have before it.
    rested = 0, 0

    for turns in _at_once(plan, rounds):
        before = len(journal.used)
        by_program = groupby(turns, key=lambda turn: (turn.round, turn.binary.family))
        programs = [[(turn, _open(plan, turn)) for turn in program] for _, program in by_program]
        measured = _measured(plan, programs, observer)
        for number, program in enumerate(programs):
            is_later = program[0][0].round > turns[0].round
            rested = rested if slow else (before, number if is_later else 0)
            if len(slow) == _SLOW_IN_A_ROW:
                journal.forget(*rested)
                clock = lowered_clock(combined([*chain(*slow)]), None)
                raise PersistentThrottling(
                    f"the GPU stays slow: the SM clock was lowered{clock} in {len(slow)} programs "
                    "in a row, repetitions included; let it cool or lift the power limit",
                    ExitStatus.NOT_MEASURED,
                )
            outcomes = next(measured)
            names = _disturbed(outcomes)
            if names and to_repeat > 0 and in_vain < _MOST_IN_VAIN:
                outcomes = _repeated(plan, program, outcomes, names, observer)
                to_repeat -= len(program)
                in_vain = 0 if len(_disturbed(outcomes)) < len(names) else in_vain + 1
            for outcome in outcomes:
                plan.failed.update((outcome.side, name) for name in outcome.failures)
            yield from outcomes
            if (lowered := _lowered(outcomes)) is not None:
                slow = [*slow, lowered] if lowered else []


def _at_once(plan: Plan, rounds: Sequence[list[Turn]]) -> Iterator[list[Turn]]:
    """Yield the turns that one run of the driver measures, as long as the plan has rounds left.

    These are of one round, or of all that are left if the programs load: the processes of a round
    then load while those of the round before measure.
    """
    loads = len(plan.lanes) > 1 and all(turn.binary.loads for turn in chain(*rounds))
    while rounds and (count := plan.rounds_left()):
        count = count if loads else 1
        yield [*chain(*rounds[:count])]
        rounds = rounds[count:]


def _open(plan: Plan, turn: Turn) -> Names:
    """Return the benchmarks of a turn that have not failed on its side."""
    return tuple(name for name in turn.binary.names if (turn.lane.side, name) not in plan.failed)


def _disturbed(outcomes: Iterable[TurnResult]) -> Names:
    """Return the names of disturbed benchmarks."""
    rows = (row for outcome in outcomes for row in outcome.report.rows.values())
    found = (row.name for row in rows if row.error is None and is_disturbed(row.counters))
    return tuple(dict.fromkeys(found))


def _repeated(
    plan: Plan, program: Asked, outcomes: Sequence[TurnResult], names: Names, observer: Observer
) -> list[TurnResult]:
    """Repeat disturbed benchmarks in all turns of a program, and return the merged outcomes."""
    if not plan.journal.is_replayed:  # otherwise the repetition is recorded, too
        plan.settle(names)
    again = [
        (turn, tuple(name for name in outcome.binary.names if name in names))
        for (turn, _), outcome in zip(program, outcomes, strict=True)
    ]
    better = next(_measured(plan, [again], observer, is_repeated=True))
    return [*map(_merged, outcomes, better)]


def _measured(
    plan: Plan, programs: Sequence[Asked], observer: Observer, *, is_repeated: bool = False
) -> Iterator[list[TurnResult]]:
    """Yield one outcome per turn of each program.

    First everything that can be measured in lock-step is; then each turn measures what is missing.
    """

    def ignored(*_: Turn) -> None: ...

    together = [_together(plan, program) for program in programs]
    begins = ignored if is_repeated else observer.begins
    asked = [
        ([turn for turn, _ in program], names)
        for program, names in zip(programs, together, strict=True)
        if names
    ]
    paired = iter(drive.measured(plan, asked, begins, observer.runs))
    for program, common in zip(programs, together, strict=True):
        outcomes = next(paired) if common else [_nothing(turn) for turn, _ in program]
        whole = []
        for (turn, names), first in zip(program, outcomes, strict=True):
            # What has failed in a round before, of those that are measured at once, is not tried.
            known = {*first.report.rows, *first.faults, *_open(plan, turn)}
            names = tuple(name for name in names if name in known)
            outcome = replace(first, binary=replace(turn.binary, names=names))
            if left := outcome.missing:
                [[alone]] = drive.measured(plan, [([turn], left)], begins, observer.runs)
                outcome = _merged(outcome, alone)
            whole.append(plan.audit(outcome))
        rows = (row for outcome in whole for row in outcome.report.rows.values())
        plan.apart.update({*common}.difference(row.name for row in rows if row.pairs))
        for outcome in whole:
            (observer.repeated if is_repeated else observer.ended)(outcome)
        yield whole


def _together(plan: Plan, program: Asked) -> Names:
    """Return what is measured in lock-step: what both turns have, in the order of the first."""
    if len(program) != 2 or not all(turn.binary.driven for turn, _ in program):
        return ()
    (_, first), (_, second) = program
    able = {*second} - plan.apart
    return tuple(name for name in first if name in able)


def _nothing(turn: Turn) -> TurnResult:
    return TurnResult(turn.binary, turn.round, Report(), {}, 0.0, turn.lane.side)


def _merged(outcome: TurnResult, again: TurnResult) -> TurnResult:
    """Return `outcome` with the benchmarks that were measured again replaced."""
    new = {name: row for name, row in again.report.rows.items() if name in again.binary.names}
    kept = {name: row for name, row in outcome.report.rows.items() if name not in new}
    return replace(
        outcome,
        report=Report({**again.report.context, **outcome.report.context}, {**kept, **new}),
        faults={**outcome.faults, **again.faults},
        seconds=outcome.seconds + again.seconds,
        remarks=(*outcome.remarks, *again.remarks),
    )


def _lowered(outcomes: Iterable[TurnResult]) -> list[Mapping[str, float]] | None:
    """Return the counters of rows at a lowered clock, if most of a program, over both sides, are.

    None if the program says nothing about the GPU, as those of the host.
    """
    rows = [row for one in outcomes for row in one.report.rows.values() if row.error is None]
    timed = [row.counters for row in rows if {SM_CLOCK, THROTTLED} & row.counters.keys()]
    slow = [counters for counters in timed if counters.get(THROTTLED)]
    return (slow if 2 * len(slow) > len(timed) else []) if timed else None
