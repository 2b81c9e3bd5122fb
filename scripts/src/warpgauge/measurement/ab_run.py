# SPDX-License-Identifier: Apache-2.0
"""This build beside that of another commit: both built, run in pairs, kept as two run files."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from warpgauge.execution import selection
from warpgauge.execution.discovery import Binary
from warpgauge.measurement import looks, paired
from warpgauge.measurement.looks import Found, Looks
from warpgauge.measurement.measuring import Measuring, Suite
from warpgauge.measurement.paired import BASE, CANDIDATE, Side
from warpgauge.records.model import Record
from warpgauge.system.errors import ExitStatus, UserError
from warpgauge.system.git import short
from warpgauge.verdict.paired_tests import LOOKS


@dataclass(frozen=True)
class AbRun:
    """One candidate, to be held against a base. `source` is the candidate's commit and state."""

    measuring: Measuring
    suite: Suite
    source: Mapping[str, str]

    @property
    def candidate(self) -> Side:
        """What is built here, with the extra work that was asked for."""
        return self.built_here(self.measuring.options.inject)

    def built_here(self, inject: str) -> Side:
        """What is built here; `inject` is as --inject takes it."""
        if not inject:
            return self._side(self.suite.binaries, self.source)
        side = self._side(self.suite.binaries, {**self.source, "inject": inject})
        return replace(side, arguments=(f"--inject={inject}",))

    def base(self, commit: str) -> Side:
        """`commit`, built in a worktree unless it is what is built here. Raises UserError.

        Without what has moved into the full suite since, where only the default one is measured.
        """
        facts = {"commit": commit, "dirty": "false"}
        if self.source == facts:
            shown = short(commit)
            self.measuring.note(f"Commit {shown} is this tree: both sides run the same programs.")
            return self._side(self.suite.binaries, facts)
        measuring = self.measuring
        everything = measuring.of_commit(commit, "Base")
        chosen = selection.chosen(everything, measuring.options.filter, measuring.scratch)
        side = self._side(selection.able(chosen, self.suite.probe.no_gpu), facts)
        return side.without(self.suite.left_out)

    def _side(self, binaries: Sequence[Binary], facts: Mapping[str, str]) -> Side:
        filter = self.measuring.options.filter
        filters = {binary.family: filter for binary in binaries} if filter else {}
        return Side(tuple(binaries), facts, filters=filters)

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
        """The looks at the two sides, which are left in `files`, base first. Raises UserError.

        `filter` is what the sides' benchmarks are left of; `open_rows` tells what further looks are
        for; `before` are the looks that there were, each by the rounds that it came after.
        """
        if not base.binaries:
            why = "has none of these benchmarks: there is nothing to compare with"
            fault = f"commit {short(base.facts['commit'])} {why}"
            raise UserError(fault, ExitStatus.NOT_MEASURED)
        measuring, paths = self.measuring, dict(zip((BASE, CANDIDATE), files, strict=True))
        facts = {"order_seed": str(measuring.options.seed), "filter": filter}

        def keep_and_judge(sides: Mapping[str, Side], looked: Sequence[int]) -> Found:
            of_both = {**facts, LOOKS: " ".join(map(str, [*before, *looked]))}
            records = paired.kept(sides, paths, of_both, self.suite.known)
            return judge(records[BASE], records[CANDIDATE])

        both = looks.take(
            {BASE: base, CANDIDATE: candidate},
            measuring.options.schedule,
            run=measuring.run,
            judge=keep_and_judge,
            open_rows=lambda found: {CANDIDATE: open_rows(found)},
            say=measuring.note,
            budget=measuring.budget,
        )
        measuring.note(f"run files: {', '.join(os.path.relpath(path) for path in files)}")
        return both
