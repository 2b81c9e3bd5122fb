# SPDX-License-Identifier: Apache-2.0
"""A run of this build alone: as a run file, and against a baseline while it goes on."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from warpgauge.execution.turn_result import Outcome
from warpgauge.measurement import merge, run_file
from warpgauge.measurement.ab_run import AbRun
from warpgauge.measurement.adaptive_rounds import Spending, unsettled
from warpgauge.measurement.merge import JsonRow
from warpgauge.measurement.paired import Side
from warpgauge.measurement.throttle_guard import PersistentThrottling
from warpgauge.records import load
from warpgauge.records.model import Record
from warpgauge.records.partial_report import Report
from warpgauge.verdict.comparison import Comparison


@dataclass(frozen=True)
class BaselineRun:
    """The candidate of `beside`; `judge` holds a run against a record."""

    beside: AbRun
    base: Record | None
    judge: Callable[[Record, Record], Comparison]
    out: Path  # the run file

    def measured(self) -> tuple[Side, PersistentThrottling | None]:
        """The candidate after all its rounds, or those before the GPU got tired."""
        measuring, one = self.beside.measuring, self.beside.candidate
        first = range(1, measuring.options.processes + 1)
        outcomes: list[Outcome] = []
        why = None
        try:
            outcomes.extend(measuring.run([one.lane()], first))  # those before stay
        except PersistentThrottling as tired:
            why = tired
        if measuring.budget is not None:
            measuring.budget.minimum_is_measured()
        return replace(one, outcomes=tuple(outcomes)), why

    def further(self, side: Side, found: Comparison) -> Comparison:
        """What the run file of `side` showed, or shows after further rounds where time is left."""
        budget, base, measuring = self.beside.measuring.budget, self.base, self.beside.measuring
        if budget is None or base is None:
            return found

        def kept_and_judged(sides: Mapping[str, Side]) -> Comparison:
            run_file.write(self.out, *self.document(sides[""]))
            return self.judge(base, load.load(self.out))

        spending = Spending(budget, measuring.run, kept_and_judged, measuring.note)
        looks = spending.further({"": side}, found, unsettled(found))
        if looks.stop is not None:
            raise looks.stop
        return replace(looks.found, notes=(f"Measured: {looks.told}.", *looks.found.notes))

    def document(self, side: Side) -> tuple[Report, list[JsonRow]]:
        """Context and rows of its run file."""
        options, known = self.beside.measuring.options, self.beside.suite.known
        facts = {
            **side.facts,
            "processes": str(max([options.processes, *(one.round for one in side.outcomes)])),
            "order_seed": str(options.seed),
            "filter": options.filter,
        }
        context = run_file.context(side.binaries, side.outcomes, facts, known)
        return context, merge.rows(side.binaries, side.outcomes)
