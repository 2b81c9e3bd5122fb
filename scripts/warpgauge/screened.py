# SPDX-License-Identifier: Apache-2.0
"""A run of this build alone: as a run file, and against a baseline while it goes on."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from warpgauge import load, merge, preview, runfile
from warpgauge.beside import Beside
from warpgauge.comparison import Comparison
from warpgauge.delivered import Outcome
from warpgauge.merge import JsonRow
from warpgauge.model import Record
from warpgauge.paired import Run, Side, measure
from warpgauge.partial_report import Report


@dataclass(frozen=True)
class Screened:
    """The candidate of `beside`; `judge` holds a run against a record."""

    beside: Beside
    base: Record | None
    judge: Callable[[Record, Record], Comparison]

    def measured(self) -> Side:
        """The candidate after all its rounds."""
        measuring, one = self.beside.measuring, self.beside.candidate
        looked = self._changed if self.base is not None else None
        first = range(1, measuring.options.processes + 1)
        run: Run = lambda lanes, rounds: measuring.run(lanes, rounds, looked)  # noqa: E731
        return measure({"": one}, None, first, run)[""]

    def document(self, side: Side) -> tuple[Report, list[JsonRow]]:
        """Context and rows of its run file."""
        options, known = self.beside.measuring.options, self.beside.suite.known
        facts = {
            **side.facts,
            "processes": str(options.processes),
            "order_seed": str(options.seed),
            "filter": options.filter,
        }
        context = runfile.context(side.binaries, side.outcomes, facts, known)
        return context, merge.rows(side.binaries, side.outcomes)

    def _changed(self, outcomes: Sequence[Outcome]) -> int | None:
        base, side = self.base, replace(self.beside.candidate, outcomes=tuple(outcomes))
        assert base is not None
        path = self.beside.measuring.scratch / "preview.json"

        def judged() -> Comparison:
            runfile.write(path, *self.document(side))
            return self.judge(base, load.load(path))

        return preview.changed(judged)
