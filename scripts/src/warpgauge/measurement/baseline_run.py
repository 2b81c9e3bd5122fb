# SPDX-License-Identifier: Apache-2.0
"""A run of this build alone, as a run file."""

from __future__ import annotations

from dataclasses import dataclass, replace

from warpgauge.execution.turn_result import Outcome
from warpgauge.measurement import kernel_digest, merge, run_file
from warpgauge.measurement.ab_run import AbRun
from warpgauge.measurement.merge import JsonRow
from warpgauge.measurement.options import LAST_LOOK
from warpgauge.measurement.paired import Side
from warpgauge.measurement.throttle_guard import PersistentThrottling
from warpgauge.records.partial_report import Report


@dataclass(frozen=True)
class BaselineRun:
    """The candidate of `beside`, in so many `processes`.

    Of kernels from elsewhere, which no pairs follow, a budget allows more of them.
    """

    beside: AbRun
    processes: int

    def measured(self) -> tuple[Side, PersistentThrottling | None]:
        """The candidate after all its rounds, or those before the GPU got tired."""
        measuring, one = self.beside.measuring, self.beside.candidate
        outcomes: list[Outcome] = []
        why = None
        try:
            # Those before stay.
            outcomes.extend(measuring.run([one.lane()], range(1, self.processes + 1)))
            measuring.budget.minimum_is_measured()
            for round in range(self.processes + 1, self._most + 1):
                if not measuring.budget.fits([one.lane()]):
                    break
                outcomes.extend(measuring.run([one.lane()], range(round, round + 1)))
        except PersistentThrottling as tired:
            why = tired
            measuring.budget.minimum_is_measured()
        return replace(one, outcomes=tuple(outcomes)), why

    @property
    def _most(self) -> int:
        options = self.beside.measuring.options
        fills = options.kernels is not None and options.budget_s is not None
        return max(self.processes, LAST_LOOK) if fills else self.processes

    def document(self, side: Side) -> tuple[Report, list[JsonRow]]:
        """Context and rows of its run file."""
        options, known = self.beside.measuring.options, self.beside.suite.known
        facts = {
            **side.facts,
            "processes": str(max([self.processes, *(one.round for one in side.outcomes)])),
            "order_seed": str(options.seed),
            "filter": options.filter,
        }
        context = run_file.context(side.binaries, side.outcomes, facts, known)
        return context, merge.rows(side.binaries, side.outcomes, digest=kernel_digest.of_row)
