# SPDX-License-Identifier: Apache-2.0
"""Judge a pull request's pairs again: by our rule, the base's policy and our baseline.

The pull request's own policy and baseline are read too, to tell what changes by them. All of these
are data, from GitHub and from the default branch's checkout.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from datetime import date
from functools import cached_property
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TypeVar

from msgspec import structs

from warpgauge.github import pull_request
from warpgauge.github.api import GitHub, Unanswered, at
from warpgauge.github.artifact import family_of
from warpgauge.github.gpus import Gpu
from warpgauge.github.pull_request import MOST_FILES, Base, Pull, Run
from warpgauge.records.benchmark_filter import SEARCH_LIMIT_S, cpu_limit, matches
from warpgauge.records.counters import FULL_SUITE
from warpgauge.records.load import load
from warpgauge.records.model import Record, Row
from warpgauge.system.errors import UserError
from warpgauge.system.text import cut
from warpgauge.verdict import note as notes_of
from warpgauge.verdict import policy
from warpgauge.verdict.comparison import Comparison, Outcome, Verdict
from warpgauge.verdict.comparison_settings import ComparisonSettings
from warpgauge.verdict.judge import judge
from warpgauge.verdict.paired_tests import rounds_of
from warpgauge.verdict.pairing import skip_notes
from warpgauge.verdict.policy import Policy

_T = TypeVar("_T")

POLICY = f"baselines/{policy.FILE_NAME}"
_POLICY_LIMIT_BYTES, _BASELINE_LIMIT_BYTES = 256 << 10, 32 << 20
# What decides how a pull request is judged, besides its policy; tests and documents do not.
_JUDGING = (".github/workflows/", ".github/actions/", ".github/gpus.json")
_JUDGING_OURS = (*_JUDGING, "baselines/", "scripts/")
_NOT_JUDGING = re.compile(r"scripts/tests/.*|.*\.md")

_UNKNOWN = "in the baseline, but the base did not measure it"
_NOT_MEASURED = "in the baseline, but the run did not measure it"
_UNCHECKED = "(explanation by the run, not checked)"
_LONGEST_PARAGRAPH = 3000


@dataclass(frozen=True)
class Judged:
    """The comparison, judged by the base's policy.

    `excused` are its verdicts on benchmarks that pass only by the pull request's own policy.
    `removed` are benchmarks that the pull request takes out of the baseline.
    """

    comparison: Comparison
    excused: tuple[Verdict, ...] = ()
    removed: tuple[str, ...] = ()


@dataclass(frozen=True)
class Terms:
    """What a pull request is judged by.

    `root` is a checkout of the default branch, `policy` a path in the repository, or "". `ours`:
    this repository's suite, not another project's programs.
    """

    api: GitHub
    run: Run
    pull: Pull
    base: Base
    root: Path
    ours: bool = True
    policy: str = POLICY
    filter: str = ""
    _names: dict[tuple[str, str], frozenset[str]] = field(default_factory=dict)

    @cached_property
    def changed(self) -> list[str]:
        """The paths that the pull request changes."""
        return pull_request.changed_files(self.api, self.run, self.pull)

    @property
    def judging(self) -> list[str]:
        """Those of them that decide how it is judged."""
        prefixes = _JUDGING_OURS if self.ours else _JUDGING
        return [
            path
            for path in self.changed
            if path == self.policy
            or (path.startswith(prefixes) and not _NOT_JUDGING.fullmatch(path))
        ]

    @property
    def families(self) -> set[str] | None:
        """The families that a side may have; None for another project's."""
        if not self.ours:
            return None
        where = f"/repos/{self.run.repository}/contents/benchmarks"
        files = self.api.listed(where, ref=self.base.commit)
        before = (str(at(file, "path")) for file in files)
        return {*map(family_of, (*before, *self.changed))} - {""}

    def judged(self, gpu: Gpu, pair: tuple[Record, Record], day: date) -> Judged:
        """Judge run files, base first, as on the `day` of the job. Raise UserError."""
        known, (before, after) = self._known(gpu), self._policies()
        base, candidate = _by_our_clocks(pair, known)

        def found(rules: Policy | None) -> Comparison:
            settings = ComparisonSettings(filter=self.filter or None, policy=rules, today=day)
            return self._corrected(judge(base, candidate, settings), known, gpu)

        comparison = found(before)
        method = notes_of.paired(self.base.commit, rounds_of(comparison))
        verdicts = tuple(map(_marked, comparison.verdicts))
        comparison = replace(comparison, verdicts=verdicts, method=method)
        excused: tuple[Verdict, ...] = ()
        if after != before and comparison.refusal is None:
            fine = {row.name: row for row in found(after).verdicts if not _is_fault(row)}
            faults = filter(_is_fault, comparison.verdicts)
            excused = tuple(
                replace(row, accepted=fine[row.name].accepted) for row in faults if row.name in fine
            )
        return Judged(comparison, excused, self._removed(gpu, known))

    def _policies(self) -> tuple[Policy | None, Policy | None]:
        """Return the base's policy and the head's, without what the base already has expected."""
        try:
            before = self._policy(self.base.commit)
        except Unanswered:
            raise
        except UserError:  # written by an older warpgauge
            before = None
        after = self._policy(self.run.head)
        if before is None:
            return None, after
        return before.without(before.expected), after and after.without(after.used_up(before))

    def _policy(self, commit: str) -> Policy | None:
        if not self.policy:
            return None
        found = self._read(self.policy, commit, _POLICY_LIMIT_BYTES, policy.load)
        return found and replace(found, path=Path(self.policy))

    def _known(self, gpu: Gpu) -> Mapping[str, Row]:
        """Return our baseline's benchmarks for this GPU by name; none without a baseline."""
        folder = self.root / "baselines" / gpu.slug
        return load(folder).rows if self.ours and folder.is_dir() else {}

    def _corrected(self, found: Comparison, known: Mapping[str, Row], gpu: Gpu) -> Comparison:
        """Return `found` with the benchmarks that only our baseline knows to be missing."""
        if found.refusal is not None:
            return found
        verdicts, removed = list[Verdict](), list[str]()
        for row in found.verdicts:
            is_known = row.name in known and known[row.name].error is None
            if row.outcome is Outcome.NEW and is_known:
                row = replace(row, outcome=Outcome.INVALID, reason=_UNKNOWN)
            elif row.outcome is Outcome.SKIPPED and is_known:
                row = replace(row, outcome=Outcome.MISSING, reason=_NOT_MEASURED)
            elif row.outcome is Outcome.MISSING and not row.required and known:
                gone = row.name not in found.candidate.rows
                if gone and row.name not in self._baseline(gpu, row.family, self.run.head):
                    removed.append(row.name)
                    continue
            verdicts.append(row)
        there = {row.name for row in found.verdicts}
        absent = (row for name, row in known.items() if name not in there)
        verdicts += self._expected(gpu, absent)
        notes = [note for note in found.notes if note.kind != notes_of.SKIPPED]
        notes += skip_notes(verdicts)
        notes += [notes_of.removed(removed)] if removed else []
        return replace(found, verdicts=tuple(verdicts), notes=tuple(notes))

    def _expected(self, gpu: Gpu, absent: Iterable[Row]) -> list[Verdict]:
        """Return verdicts on `absent` rows of the default suite that the head's baseline has."""
        with cpu_limit(SEARCH_LIMIT_S, "the requested filter takes too long; simplify it"):
            asked = [
                row
                for row in absent
                if not row.counters.get(FULL_SUITE) and row.error is None
                if matches(self.filter, row.name)
            ]
        return [
            Verdict(row.name, Outcome.MISSING, row.clock, reason=_NOT_MEASURED)
            for row in asked
            if row.name in self._baseline(gpu, row.family, self.run.head)
        ]

    def _removed(self, gpu: Gpu, known: Mapping[str, Row]) -> tuple[str, ...]:
        """Return the benchmarks that the head's baseline no longer has of the base's."""
        if not self.ours:
            return ()
        folder = f"baselines/{gpu.slug}/"
        files = [Path(path) for path in self.changed if path.startswith(folder)]
        families = {file.stem for file in files if file.suffix == ".json"}
        if len(self.changed) >= MOST_FILES:  # GitHub lists no more
            families = {row.family for row in known.values()}
        gone = [
            self._baseline(gpu, family, self.base.commit)
            - self._baseline(gpu, family, self.run.head)
            for family in sorted(families)
        ]
        return tuple(name for names in gone for name in sorted(names))

    def _baseline(self, gpu: Gpu, family: str, commit: str) -> frozenset[str]:
        """Return the names of a family's benchmarks in a commit's baseline."""
        path = f"baselines/{gpu.slug}/{family}.json"
        if (path, commit) not in self._names:
            found = self._read(path, commit, _BASELINE_LIMIT_BYTES, load)
            self._names[path, commit] = frozenset(found.rows if found is not None else ())
        return self._names[path, commit]

    def _read(self, path: str, commit: str, limit: int, reader: Callable[[Path], _T]) -> _T | None:
        """Return the content of a commit's file, read by `reader`, or None. Raise UserError."""
        content = self.api.file(self.run.repository, path, commit, limit)
        if content is None:
            return None
        with TemporaryDirectory(prefix="warpgauge-") as scratch:
            copy = Path(scratch, path)
            copy.parent.mkdir(parents=True)
            copy.write_bytes(content)
            try:
                return reader(copy)
            except UserError as fault:
                raise UserError(str(fault).replace(f"{scratch}/", "")) from None


def _is_fault(verdict: Verdict) -> bool:
    return verdict.outcome is Outcome.REGRESSION or verdict.is_unmeasured


def _by_our_clocks(pair: tuple[Record, Record], known: Mapping[str, Row]) -> list[Record]:
    """Return the sides with the clocks of our baseline: a host time may be 3 % slower, not 1 %.

    If the sides have different clocks, the pull request has changed it: they are not comparable.
    """
    clocks = [{name: row.clock for name, row in side.rows.items()} for side in pair]

    def ours(row: Row) -> Row:
        agreed = {of[row.name] for of in clocks if row.name in of} == {row.clock}
        return (
            structs.replace(row, clock=known[row.name].clock)
            if agreed and row.name in known
            else row
        )

    return [
        replace(side, rows={name: ours(row) for name, row in side.rows.items()}) for side in pair
    ]


def _marked(verdict: Verdict) -> Verdict:
    """Return the verdict, its explanation cut and marked as the run's own words."""
    if verdict.why is None:
        return verdict
    paragraph = f"{_UNCHECKED} {cut(verdict.why.paragraph, _LONGEST_PARAGRAPH)}"
    return replace(verdict, why=replace(verdict.why, paragraph=paragraph))
