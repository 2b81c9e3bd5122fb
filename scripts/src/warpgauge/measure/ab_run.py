# SPDX-License-Identifier: Apache-2.0
"""Measures this build alone, or in pairs with another until every row is decided.

Stopping as soon as a difference looks significant inflates false alarms. The schedule of looks is
therefore fixed before the first round, and each look spends part of alpha (Lan and DeMets 1983,
"Discrete sequential boundaries for clinical trials"). Each pair in the run files states its look.
"""

from __future__ import annotations

import os
import secrets
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Generic, TypeVar

from warpgauge.measure import run_file, selection
from warpgauge.measure.discovery import Binary, Suite
from warpgauge.measure.measuring import Measuring
from warpgauge.measure.options import LAST_LOOK
from warpgauge.measure.plan import Lane, TurnResult
from warpgauge.measure.run_file import Content
from warpgauge.measure.runner import PersistentThrottling
from warpgauge.records import load
from warpgauge.records.model import Record, Session
from warpgauge.records.sessions import BASE, CANDIDATE, FEWEST_ROUNDS, PAIR_KEY, PAIR_SIDE
from warpgauge.system import entry_point
from warpgauge.system.errors import ExitStatus, UserError
from warpgauge.system.git import short
from warpgauge.system.text import duration, plural
from warpgauge.verdict.comparison import Comparison, Outcome
from warpgauge.verdict.note import Rounds
from warpgauge.verdict.pairing import is_control

# Context fields of run files: the seed of the order, and in pairs the measuring time so far.
ORDER_SEED, MEASURED_SECONDS = "order_seed", "measured_seconds"

Found = TypeVar("Found")


@dataclass(frozen=True)
class Side:
    """One of several builds: its programs, how they are called, and their results so far.

    `facts` are context fields of this side alone: commit, dirty, inject.
    """

    binaries: tuple[Binary, ...]
    facts: Mapping[str, str]
    arguments: tuple[str, ...] = ()
    outcomes: tuple[TurnResult, ...] = ()

    def only(self, names: Collection[str]) -> Side:
        """Return this side with only these benchmarks, as far as it has them."""
        return replace(self, binaries=tuple(selection.only(self.binaries, names)))

    def without(self, names: Collection[str]) -> Side:
        """Return this side without these benchmarks."""
        return replace(self, binaries=selection.without(self.binaries, names))

    def lane(self, name: str = "") -> Lane:
        return Lane(self.binaries, self.arguments, name)


@dataclass(frozen=True)
class Looks(Generic[Found]):
    """The findings, and how many pairs led to them.

    `stop` is an interrupt after the first look. The caller shows the findings, then raises it.
    """

    found: Found
    rounds: Rounds
    stop: KeyboardInterrupt | None = None


@dataclass(frozen=True)
class AbRun:
    """The candidate of a comparison. `source` is its commit and whether the tree was dirty."""

    measuring: Measuring
    suite: Suite
    source: Mapping[str, str]

    @property
    def candidate(self) -> Side:
        """This build, with --inject if given."""
        inject = self.measuring.options.inject
        return self.built_here(*([inject] if inject else []))

    def built_here(self, *injections: str) -> Side:
        """This build as a side; `injections` are values of --inject."""
        inject = {"inject": " ".join(injections)} if injections else {}
        arguments = tuple(f"--inject={injection}" for injection in injections)
        return Side(self.suite.binaries, {**self.source, **inject}, arguments)

    def base(self, commit: str) -> Side:
        """Return `commit` as a side, built in a worktree unless it is this tree. Raises UserError.

        When only the default suite is measured, benchmarks now in the full suite are left out.
        """
        facts = {"commit": commit, "dirty": "false"}
        if self.source == facts:
            shown = short(commit)
            self.measuring.note(f"Commit {shown} is this tree: both sides run the same programs.")
            return Side(self.suite.binaries, facts)
        measuring = self.measuring
        everything = measuring.of_commit(commit, "Base", for_gpu=not self.suite.probe.no_gpu)
        chosen = selection.chosen(everything, measuring.options.filter)
        side = Side(tuple(selection.able(chosen, self.suite.probe)), facts)
        return side.without(self.suite.left_out)

    def alone(self, processes: int) -> tuple[Content, PersistentThrottling | None]:
        """Measure the candidate in `processes` processes.

        Return the content of its run file, and the throttling that ended the run, if any. External
        kernels are not measured in pairs, so a budget allows more processes for them.
        """
        measuring, side, outcomes = self.measuring, self.candidate, list[TurnResult]()
        options, lanes, tired = measuring.options, [side.lane()], None
        further = range(processes + 1, LAST_LOOK + 1)
        fills = options.kernels is not None and options.budget_s is not None and further
        try:
            # Results from before persistent throttling are kept.
            outcomes.extend(measuring.run(lanes, range(1, processes + 1)))
            measuring.budget.minimum_is_measured()
            if fills and measuring.budget.rounds_left(lanes):
                outcomes.extend(measuring.run(lanes, further, in_budget=True))
        except PersistentThrottling as fault:
            tired = fault
            measuring.budget.minimum_is_measured()
        facts = {
            **side.facts,
            "processes": str(max([processes, *(outcome.round for outcome in outcomes)])),
            ORDER_SEED: str(options.seed),
            "filter": options.filter,
            **measuring.isolation,
        }
        context = run_file.context(side.binaries, outcomes, facts, self.suite.known)
        return (context, run_file.rows(side.binaries, outcomes)), tired

    def compared(
        self,
        base: Side,
        candidate: Side,
        filter: str,
        files: tuple[Path, Path],
        judge: Callable[[Record, Record], Found],
        open_rows: Callable[[Found], list[str]],
        before: Sequence[int] = (),
    ) -> Looks[Found]:
        """Measure and judge both sides; leave their run files in `files`, base first.

        `filter` is recorded in the run files. `open_rows` returns the benchmarks that need further
        looks. `before` holds the rounds of the looks taken earlier. Raises UserError.
        """
        if not base.binaries:
            why = "has none of these benchmarks: nothing to compare with"
            fault = f"commit {short(base.facts['commit'])} {why}"
            raise UserError(fault, ExitStatus.NOT_MEASURED)
        measuring, paths = self.measuring, dict(zip((BASE, CANDIDATE), files, strict=True))

        def write_and_judge(sides: Mapping[str, Side], looked: Sequence[int]) -> Found:
            facts = {
                ORDER_SEED: str(measuring.options.seed),
                "filter": filter,
                MEASURED_SECONDS: f"{measuring.budget.spent:.0f}",
                **measuring.isolation,
            }
            records = written(sides, paths, facts, self.suite.known, [*before, *looked])
            return judge(records[BASE], records[CANDIDATE])

        sides = {BASE: base, CANDIDATE: candidate}
        looks = take(measuring, sides, write_and_judge, open_rows)
        measuring.note(f"run files: {', '.join(os.path.relpath(path) for path in files)}")
        return looks


def written(
    sides: Mapping[str, Side],
    files: Mapping[str, Path],
    facts: Mapping[str, str],
    known: Mapping[str, str],
    looks: Sequence[int],
) -> dict[str, Record]:
    """Write each side's run file with a common `pair_id`, and load it again. Raises UserError.

    `facts` hold for both sides; `known` fills in what the programs do not report; `looks` are the
    last rounds of the looks.
    """
    contents, pair = {}, secrets.token_hex(8)
    for name, side in sides.items():
        rounds = len({outcome.round for outcome in side.outcomes})
        own = {"processes": str(rounds), **side.facts, **facts, PAIR_KEY: pair, PAIR_SIDE: name}
        contents[files[name]] = (
            run_file.context(side.binaries, side.outcomes, own, known),
            run_file.rows(side.binaries, side.outcomes, looks),
        )
    run_file.write(contents)
    return {name: load.load(files[name]) for name in sides}


def take(
    measuring: Measuring,
    sides: Mapping[str, Side],
    judge: Callable[[Mapping[str, Side], Sequence[int]], Found],
    open_rows: Callable[[Found], Collection[str]],
) -> Looks[Found]:
    """Measure the first look, then further looks at open benchmarks, and return the findings.

    `judge` writes and judges all results so far, given the rounds of the looks. `open_rows`
    returns the undecided benchmarks. The first look always runs all its rounds; a later one stops
    after the last round that fits the budget. If a further look is interrupted, the findings are
    those of the look before.
    """
    budget, (first, *further) = measuring.budget, measuring.options.schedule
    lanes = [side.lane(name) for name, side in sides.items()]
    sides = with_results(sides, measuring.run(lanes, range(1, FEWEST_ROUNDS + 1)))
    # Pairs need no controls: two rounds show how quiet the host was.
    controls = set[str]().union(*map(_controls, sides.values()))
    lanes = [side.without(controls).lane(name) for name, side in sides.items()]
    if first > FEWEST_ROUNDS and any(lane.binaries for lane in lanes):
        sides = with_results(sides, measuring.run(lanes, range(FEWEST_ROUNDS + 1, first + 1)))
    budget.minimum_is_measured()
    looked, stop = [first], None
    found = judge(sides, looked)
    names = left = open_rows(found)
    for until in further:
        lanes = [side.only(left).lane(name) for name, side in sides.items()]
        if not left or not budget.rounds_left(lanes):
            break
        last = looked[-1]
        time_left = "" if budget.given is None else f" ({duration(budget.left)} left)"
        open_now = plural(len(left), "open benchmark")
        measuring.note(f"Rounds {last + 1} to {until} of {open_now}{time_left}")
        try:
            outcomes = [*measuring.run(lanes, range(last + 1, until + 1), in_budget=True)]
            if not outcomes:  # no program can run the open benchmarks
                break
            sides = with_results(sides, outcomes)
            with entry_point.postponed():  # keep the run files and the judgement consistent
                looked.append(outcomes[-1].round)
                found = judge(sides, looked)
                # Results of other benchmarks may reopen a decided one.
                left = open_rows(found)
        except KeyboardInterrupt as interrupt:
            counted = plural(looked[-1], "pair")
            measuring.note(f"Interrupted: the first {counted} count.")
            stop = interrupt
            stop.args = (f"in a further look: the run files hold {counted}",)
            break
    further_looks = (looked[-1], len(names)) if len(looked) > 1 else (0, 0)
    given = budget.given or 0.0
    rounds = Rounds(looked[0], *further_looks, len(left), stop is not None, given)
    return Looks(found, rounds, stop)


def _controls(side: Side) -> set[str]:
    session = Session("", side.facts)
    rows = (row for outcome in side.outcomes for row in outcome.report.rows.values())
    return {row.name for row in rows if is_control(row, session)}


def with_results(sides: Mapping[str, Side], outcomes: Iterable[TurnResult]) -> dict[str, Side]:
    """Return the sides with these results added, each to the side that it names."""
    new = [*outcomes]
    return {
        name: replace(
            side, outcomes=(*side.outcomes, *(outcome for outcome in new if outcome.side == name))
        )
        for name, side in sides.items()
    }


def open_rows(found: Comparison) -> list[str]:
    """Return the undecided benchmarks, without the host's controls, which decide nothing."""
    undecided = (row for row in found.verdicts if row.outcome is Outcome.INCONCLUSIVE)
    return [row.name for row in undecided if not row.control]
