# SPDX-License-Identifier: Apache-2.0
"""Measures commits in pairs with GOOD, out of the journal where they were measured before."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import msgspec

from warpgauge.execution.selection import exactly
from warpgauge.history.commit_builds import CommitBuilds
from warpgauge.history.commit_change import Seen, seen
from warpgauge.measurement.ab_run import AbRun
from warpgauge.measurement.budget import Budget
from warpgauge.measurement.journal import Journal
from warpgauge.measurement.measuring import Measuring, Suite
from warpgauge.measurement.paired import Side
from warpgauge.records.model import Record
from warpgauge.system.git import short


class _Measured(msgspec.Struct, frozen=True):
    seen: dict[str, Seen]


@dataclass(frozen=True)
class CommitPairs:
    """`error` is the chance to err of one benchmark of one commit; all ends `until` then."""

    measuring: Measuring
    suite: Suite
    builds: CommitBuilds
    good: str
    journal: Journal
    folder: Path  # gets the run files
    error: float
    until: float = math.inf  # by `clock`
    clock: Callable[[], float] = time.monotonic

    @property
    def left(self) -> float:
        """Seconds."""
        return self.until - self.clock()

    def files(self, commit: str, rows: Sequence[str]) -> tuple[Path, Path]:
        """The run files of a commit in which these rows were measured, GOOD's first."""
        number = self.builds.rows.index(rows[0])
        name = f"{short(commit)}-{number}" if number else short(commit)
        return self.folder / f"{name}-base.json", self.folder / f"{name}.json"

    def measured(
        self, commit: str, rows: Sequence[str], settled: Callable[[str, Seen], bool]
    ) -> tuple[dict[str, Seen], bool]:
        """Rows of a commit beside GOOD, and whether further time would show no more.

        Pairs go on until all are settled. Raises UserError, and KeyboardInterrupt.
        """
        key = ["seen", commit, *rows]
        kept = self.journal.find(key, _Measured)
        if kept is not None:
            return kept.seen, True
        found, is_final = self._looked(commit, rows, settled)
        if is_final:
            self.journal.keep(key, _Measured(found))
        return found, is_final

    def _looked(
        self, commit: str, rows: Sequence[str], settled: Callable[[str, Seen], bool]
    ) -> tuple[dict[str, Seen], bool]:
        limit = None if self.until == math.inf else max(self.left, 1.0)
        own = Journal(self.journal.of(short(commit)))  # GOOD is measured anew beside each
        measuring = replace(self.measuring, budget=Budget(limit), journal=own)
        base, candidate = (
            Side(tuple(self.builds.of(one)), {"commit": one, "dirty": "false"}).only(rows)
            for one in (self.good, commit)
        )

        def judge(base: Record, candidate: Record) -> dict[str, Seen]:
            return seen(base, candidate, rows, self.error)

        def open_rows(found: Mapping[str, Seen]) -> list[str]:
            return [row for row, one in found.items() if not one.fault and not settled(row, one)]

        measuring.note(f"Measuring commit {short(commit)} in pairs with {short(self.good)}")
        looks = AbRun(measuring, self.suite, {}).compared(
            base, candidate, exactly(rows), self.files(commit, rows), judge, open_rows
        )
        if looks.stop is not None:
            raise looks.stop
        most = looks.rounds.get("most_pairs", looks.rounds["pairs"])
        whole = limit is None or most >= measuring.options.schedule[-1]
        return looks.found, whole or not open_rows(looks.found)
