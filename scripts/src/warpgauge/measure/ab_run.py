# SPDX-License-Identifier: Apache-2.0
"""Measures this build, either alone or in pairs with the build of another commit."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from warpgauge.measure import looks, paired, run_file, selection
from warpgauge.measure.looks import Found, Looks
from warpgauge.measure.measuring import Measuring
from warpgauge.measure.options import LAST_LOOK
from warpgauge.measure.paired import Side
from warpgauge.measure.run_file import Content
from warpgauge.measure.selection import Suite
from warpgauge.measure.throttle_guard import PersistentThrottling
from warpgauge.measure.turn_result import TurnResult
from warpgauge.records.model import Record
from warpgauge.records.sessions import BASE, CANDIDATE
from warpgauge.system.errors import ExitStatus, UserError
from warpgauge.system.git import short
from warpgauge.verdict.paired_tests import LOOKS

# Context fields of run files: the seed of the order, and in pairs the measuring time so far.
ORDER_SEED, MEASURED_SECONDS = "order_seed", "measured_seconds"


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
        side = Side(self.suite.binaries, self.source)
        if not injections:
            return side
        facts = {**self.source, "inject": " ".join(injections)}
        return replace(side, facts=facts, arguments=tuple(f"--inject={one}" for one in injections))

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
        facts = {ORDER_SEED: str(measuring.options.seed), "filter": filter}

        def keep_and_judge(sides: Mapping[str, Side], looked: Sequence[int]) -> Found:
            of_both = {
                **facts,
                LOOKS: " ".join(map(str, [*before, *looked])),
                MEASURED_SECONDS: f"{measuring.budget.spent:.0f}",
            }
            records = paired.kept(sides, paths, of_both, self.suite.known)
            return judge(records[BASE], records[CANDIDATE])

        both = looks.take(
            {BASE: base, CANDIDATE: candidate},
            measuring.options.schedule,
            run=measuring.run,
            judge=keep_and_judge,
            open_rows=open_rows,
            say=measuring.note,
            budget=measuring.budget,
        )
        measuring.note(f"run files: {', '.join(os.path.relpath(path) for path in files)}")
        return both


@dataclass(frozen=True)
class BaselineRun:
    """Measures the candidate of `beside` in `processes` processes.

    External kernels are not measured in pairs, so a budget allows more processes for them.
    """

    beside: AbRun
    processes: int

    def measured(self) -> tuple[Side, PersistentThrottling | None]:
        """Return the candidate with its results, and the throttling that ended the run, or None."""
        measuring, one = self.beside.measuring, self.beside.candidate
        options, outcomes = measuring.options, list[TurnResult]()
        fills = options.kernels is not None and options.budget_s is not None
        most = max(self.processes, LAST_LOOK) if fills else self.processes
        why = None
        try:
            # Results from before persistent throttling are kept.
            outcomes.extend(measuring.run([one.lane()], range(1, self.processes + 1)))
            measuring.budget.minimum_is_measured()
            for round in range(self.processes + 1, most + 1):
                if not measuring.budget.fits([one.lane()]):
                    break
                outcomes.extend(measuring.run([one.lane()], range(round, round + 1)))
        except PersistentThrottling as tired:
            why = tired
            measuring.budget.minimum_is_measured()
        return replace(one, outcomes=tuple(outcomes)), why

    def document(self, side: Side) -> Content:
        """Return the context and rows of the run file."""
        options, known = self.beside.measuring.options, self.beside.suite.known
        facts = {
            **side.facts,
            "processes": str(max([self.processes, *(one.round for one in side.outcomes)])),
            ORDER_SEED: str(options.seed),
            "filter": options.filter,
        }
        return run_file.document(side.binaries, side.outcomes, facts, known)
