# SPDX-License-Identifier: Apache-2.0
"""The result of a run for each GPU: judged again, as far as GitHub's data on its jobs confirm it.

The rule and the baseline are those of the default branch, the policy is that of the base. The pull
request's own policy and baseline are read too, to show what changes by them. All of these are data.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import date
from functools import cached_property, partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TypeVar

from msgspec import structs

from warpgauge.github import artifact, gpus, pull_request
from warpgauge.github.api import GitHub, Json, Repository, Unanswered, address, at, text
from warpgauge.github.artifact import Artifact, MissingEntry, fault_of_pair
from warpgauge.github.comment import Part
from warpgauge.github.gpus import Gpu
from warpgauge.github.pull_request import MOST_FILES, Base, Pull, Run
from warpgauge.records.benchmark_filter import SEARCH_LIMIT_S, cpu_limit, matches, same_code
from warpgauge.records.counters import FULL_SUITE
from warpgauge.records.load import load
from warpgauge.records.model import Record
from warpgauge.records.row import Row
from warpgauge.records.sessions import only_session
from warpgauge.reports.formats.github import place
from warpgauge.system.errors import UserError
from warpgauge.system.text import clause, cut, inert
from warpgauge.verdict import note as notes_of
from warpgauge.verdict import policy
from warpgauge.verdict.comparison import Comparison, Outcome, Verdict, skip_notes
from warpgauge.verdict.comparison_settings import ComparisonSettings
from warpgauge.verdict.judge import judge
from warpgauge.verdict.paired_tests import rounds_of
from warpgauge.verdict.policy import Policy
from warpgauge.why import changes
from warpgauge.why.changes import Changes

_T = TypeVar("_T")

POLICY = f"baselines/{policy.FILE_NAME}"
_POLICY_LIMIT_BYTES, _BASELINE_LIMIT_BYTES = 256 << 10, 32 << 20
_LONGEST_PARAGRAPH = 3000
_HISTORY = "history"
# What decides how a pull request is judged, besides its policy; tests and documents do not.
_JUDGING = (".github/workflows/", ".github/actions/", ".github/gpus.json")
_JUDGING_OURS = (
    *(*_JUDGING, "baselines/", "scripts/", "fixtures/", "CMakeLists.txt", "CMakePresets.json"),
    *(".cmake/", "action.yml", "requirements.lock"),
)
_NOT_JUDGING = re.compile(r"scripts/tests/.*|.*\.md")

UNTOUCHED = "nothing that is measured changed"
OTHER_BASE = "It was measured against another base; push, or run the workflow again"
# Why there is no result, by GitHub's word for how a job ended.
_ENDED = {
    "cancelled": "Its job was cancelled",
    "skipped": "Its job was skipped",
    "timed_out": "Its job ran out of time",
    "action_required": "Its job waits for a maintainer's approval",
    "startup_failure": "Its job could not start",
}
_BY_RUN = "explanation by the run, not checked"
_UNKNOWN = "in the baseline, but the base did not measure it"
_NOT_MEASURED = "in the baseline, but the run did not measure it"


@dataclass
class Result:
    """What a run measured for a pull request.

    `root` is a checkout of the default branch, `policy` a path in the repository, or "". `ours`:
    this repository's suite, not another project's programs. `report_url` leads to the reports that
    we made, `pages` to the site of the nights. `refusals` are sentences for the log on results that
    are not shown.
    """

    api: GitHub
    run: Run
    pull: Pull
    base: Base
    root: Path
    ours: bool = True
    policy: str = POLICY
    filter: str = ""
    report_url: str = ""
    pages: str = ""
    refusals: list[str] = field(default_factory=list)
    _names: dict[tuple[str, str], frozenset[str]] = field(default_factory=dict)

    @cached_property
    def changed(self) -> list[str]:
        """The paths that the pull request changes."""
        return pull_request.changed_files(self.api, self.run, self.pull)

    @cached_property
    def what_changed(self) -> Changes | str:
        """What the hosted job found in the code, our sentence on why not, or ""."""
        run, name = self.run, artifact.CHANGED
        made = artifact.newest(self.api, run.repository, run.id, name.__eq__).get(name)
        if made is None or not self.ours:
            return ""
        reader = partial(changes.read, base=self.base.commit, candidate=run.head)
        try:
            with TemporaryDirectory(prefix="warpgauge-") as scratch:
                return made.file(artifact.CHANGED_FILE, Path(scratch), reader)
        except Unanswered:
            raise
        except UserError as fault:
            self.refusals.append(f"What changed in the code was refused: {fault}")
            return self.refusals[-1]

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

    def parts(self, models: Sequence[Gpu]) -> list[Part]:
        """Return the parts in the order of .github/gpus.json; none if no GPU had a job.

        Such a run waits for approval to begin, or could not plan its jobs.
        """
        run, slugs = self.run, {gpu.job_name: gpu.slug for gpu in models}
        jobs: dict[str, list[Json]] = {gpu.slug: [] for gpu in models}
        path = f"/repos/{run.repository}/actions/runs/{run.id}/jobs"
        # The latest attempt of each. A called workflow's job has the caller's name in front:
        # performance / gate (NVIDIA H200)
        for job in self.api.listed(path, "jobs", filter="latest"):
            if slug := slugs.get(text(job, "name").rpartition(" / ")[2]):
                jobs[slug].append(job)
        names = [gpu.artifact for gpu in models]
        left = artifact.of_run(self.api, run.repository, run.id, names.__contains__)
        if not any(jobs.values()):
            return []
        return [self._part(gpu, jobs[gpu.slug], left) for gpu in models]

    def _part(self, gpu: Gpu, jobs: Sequence[Json], left: Iterable[Artifact]) -> Part:
        if len(jobs) != 1:
            several = f"Its run has {len(jobs)} jobs of that name; one is expected"
            return Part(gpu, several if jobs else "It had no job")
        (job,) = jobs
        url, conclusion = address(job, "html_url"), str(at(job, "conclusion") or "")
        # Artifacts of an earlier attempt do not belong to this job. GitHub's times sort as text.
        begin, end = str(at(job, "started_at") or ""), str(at(job, "completed_at") or "later")
        names = [one for one in left if one.name == gpu.artifact]
        mine = [one for one in names if begin <= one.created <= end]
        if why := self._why_no_result(gpu, job, conclusion, mine):
            return Part(gpu, why, url)
        try:
            with cpu_limit(artifact.CPU_LIMIT_S, "it takes too long to read and judge"):
                found = self._read_and_judged(gpu, mine[-1]) if mine else None
        except Unanswered:
            raise
        except Exception as fault:  # a fault in one file must not hide the other GPUs
            why = clause(str(fault)) if isinstance(fault, UserError) else "it is damaged"
            if why != OTHER_BASE:
                why = f"Its result was refused: {why}"
            self.refusals.append(cut(inert(f"{gpu.name}: {type(fault).__name__}: {fault}"), 500))
            return Part(gpu, why, url)
        if found is None:
            before = "Its job failed before anything was compared"
            return Part(gpu, before if conclusion == "failure" else "Its job left no result", url)
        return replace(
            found,
            job_url=url,
            artifact_url=f"{self.run.url}/artifacts/{mine[-1].id}",
            history_url=self._history(gpu),
            report_url=self.report_url,
            conclusion=conclusion,
        )

    def _why_no_result(self, gpu: Gpu, job: Json, conclusion: str, left: Sequence[Artifact]) -> str:
        """Return why the job has no result, or the artifacts cannot be its, or ""."""
        if conclusion not in ("success", "failure"):
            return _ENDED.get(conclusion, "Its job ended for an unknown reason")
        if _ran_on(job, gpu):
            return "Its run left several results of that name" if len(left) > 1 else ""
        if conclusion == "success" and not left:
            measured = gpus.measured(gpus.file_of(self.root))
            files = self.changed
            if len(files) < MOST_FILES and not gpus.touches(measured, files):
                return UNTOUCHED
        return "Its job ran on another runner than the one configured for it"

    def _read_and_judged(self, gpu: Gpu, left: Artifact) -> Part | None:
        """Return the run files of the pairs, judged, or None without them. Raise UserError."""
        with TemporaryDirectory(prefix="warpgauge-") as scratch:
            try:
                sides = [left.run(name, Path(scratch)) for name in artifact.PAIR]
            except MissingEntry:
                return None
        base, candidate = (replace(side, path=Path(side.path.name)) for side in sides)
        measured = only_session(base).context.get("commit", "")
        commits = measured, self.run.head
        if fault := fault_of_pair((base, candidate), gpu, commits, self.filter, ours=self.ours):
            raise UserError(fault)
        if measured != self.base.commit:
            raise UserError(OTHER_BASE)
        return self._judged(gpu, (base, candidate), date.fromisoformat(left.created[:10]))

    def _judged(self, gpu: Gpu, pair: tuple[Record, Record], day: date) -> Part:
        """Judge run files, base first, as on the `day` of the job. Raise UserError."""
        folder = self.root / "baselines" / gpu.slug
        known = load(folder).rows if self.ours and folder.is_dir() else {}
        before, after = self._policies()
        base, candidate = _by_our_clocks(pair, known)

        def by(rules: Policy | None) -> Comparison:
            settings = ComparisonSettings(filter=self.filter or None, policy=rules, today=day)
            return self._corrected(judge(base, candidate, settings), known, gpu)

        found = by(before)
        method = notes_of.paired(self.base.commit, rounds_of(found))
        shown = replace(found, verdicts=tuple(map(_marked, found.verdicts)), method=method)
        by_head = by(after) if after != before and found.refusal is None else None
        removed = self._removed(gpu, known) if self.ours else ()
        return Part(gpu, shown, sources=self._sources(shown), by_head=by_head, removed=removed)

    def _policies(self) -> tuple[Policy | None, Policy | None]:
        """Return the base's policy and the head's, without what the base already has expected."""
        before, after = self._policy(self.base.commit), self._policy(self.run.head)
        if before is None:
            return None, after
        return before.without(before.expected), after and after.without(after.used_up(before))

    def _policy(self, commit: str) -> Policy | None:
        if not self.policy:
            return None
        found = self._file(self.policy, commit, _POLICY_LIMIT_BYTES, policy.load)
        return found and replace(found, path=Path(self.policy))

    def _corrected(self, found: Comparison, known: Mapping[str, Row], gpu: Gpu) -> Comparison:
        """Return `found` with the benchmarks that only our baseline, `known`, knows to be missing.

        It expects those of the default suite that the head's baseline has, too.
        """
        if found.refusal is not None or not known:
            return found

        def is_kept(row: Row | Verdict) -> bool:
            return row.name in self._baseline(gpu, row.name.partition("/")[0], self.run.head)

        def is_given_up(verdict: Verdict) -> bool:
            family = verdict.name.partition("/")[0]
            was_recorded = verdict.name in self._baseline(gpu, family, self.base.commit)
            is_there = verdict.required or verdict.name in found.candidate.rows
            return was_recorded and not is_there and not is_kept(verdict)

        verdicts, removed = list[Verdict](), list[str]()
        for verdict in found.verdicts:
            is_known = verdict.name in known and known[verdict.name].error is None
            if verdict.outcome is Outcome.NEW and is_known:
                verdict = replace(verdict, outcome=Outcome.INVALID, reason=_UNKNOWN)
            elif verdict.outcome is Outcome.SKIPPED and is_known:
                verdict = replace(verdict, outcome=Outcome.MISSING, reason=_NOT_MEASURED)
            elif verdict.outcome is Outcome.MISSING and is_given_up(verdict):
                removed.append(verdict.name)
                continue
            verdicts.append(verdict)
        there = {verdict.name for verdict in found.verdicts} | same_code(found.candidate)
        with cpu_limit(SEARCH_LIMIT_S, "the requested filter takes too long; simplify it"):
            absent = [
                row
                for name, row in known.items()
                if name not in there
                and not row.counters.get(FULL_SUITE)
                and row.error is None
                and matches(self.filter, name)
            ]
        verdicts += [
            Verdict(row.name, Outcome.MISSING, row.clock, reason=_NOT_MEASURED)
            for row in filter(is_kept, absent)
        ]
        notes = [note for note in found.notes if note.kind != notes_of.SKIPPED]
        notes += skip_notes(verdicts)
        notes += [notes_of.removed(removed)] if removed else []
        return replace(found, verdicts=tuple(verdicts), notes=tuple(notes))

    def _removed(self, gpu: Gpu, known: Mapping[str, Row]) -> tuple[str, ...]:
        """Return the benchmarks that the head's baseline no longer has of the base's."""
        folder = f"baselines/{gpu.slug}/"
        files = [Path(path) for path in self.changed if path.startswith(folder)]
        families = {file.stem for file in files if file.suffix == ".json"}
        if len(self.changed) >= MOST_FILES:  # GitHub lists no more
            families = {row.family for row in known.values()}
        head, base = self.run.head, self.base.commit
        gone = [self._baseline(gpu, one, base) - self._baseline(gpu, one, head) for one in families]
        return tuple(sorted(frozenset().union(*gone)))

    def _baseline(self, gpu: Gpu, family: str, commit: str) -> frozenset[str]:
        """Return the names of a family's benchmarks in a commit's baseline."""
        path = f"baselines/{gpu.slug}/{family}.json"
        if (path, commit) not in self._names:
            found = self._file(path, commit, _BASELINE_LIMIT_BYTES, load)
            self._names[path, commit] = frozenset(found.rows if found is not None else ())
        return self._names[path, commit]

    def _file(self, path: str, commit: str, limit: int, reader: Callable[[Path], _T]) -> _T | None:
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

    def _sources(self, found: Comparison) -> Mapping[str, str]:
        """Return links to the sources of the benchmarks that are shown by name."""
        home = self.run.url.partition("/actions/")[0]
        sources = {}
        for verdict in (one for one in found.verdicts if not one.is_unchanged):
            if source := place(self.root, found, verdict):
                line = f"#L{source['line']}" if "line" in source else ""
                sources[verdict.name] = f"{home}/blob/{self.run.head}/{source['file']}{line}"
        return sources

    def _history(self, gpu: Gpu) -> str:
        """Return a link to this GPU's nights, or "" if there are none."""
        run = self.run
        if not self.ours or Repository(self.api, run.repository).head(_HISTORY) is None:
            return ""
        if self.pages:
            return f"{self.pages.rstrip('/')}/{gpu.slug}/"
        return f"{run.url.partition('/actions/')[0]}/tree/{_HISTORY}/{gpu.slug}"


def _ran_on(job: Json, gpu: Gpu) -> bool:
    """Return whether its runner has the labels and group that .github/gpus.json requires."""
    labels, group = at(job, "labels"), str(at(job, "runner_group_name") or "")
    stated = {str(one).lower() for one in labels} if isinstance(labels, list) else set[str]()
    return stated.issuperset(map(str.lower, gpu.labels)) and (
        gpu.group.lower() in ("", group.lower())
    )


def _by_our_clocks(pair: tuple[Record, Record], known: Mapping[str, Row]) -> list[Record]:
    """Return the sides with the clocks of our baseline: a host time may be 3 % slower, not 1 %.

    If the sides have different clocks, the pull request has changed it: they are not comparable.
    """
    clocks = [{name: row.clock for name, row in side.rows.items()} for side in pair]

    def ours(row: Row) -> Row:
        agreed = {of[row.name] for of in clocks if row.name in of} == {row.clock}
        if not agreed or row.name not in known:
            return row
        return structs.replace(row, clock=known[row.name].clock)

    return [
        replace(side, rows={name: ours(row) for name, row in side.rows.items()}) for side in pair
    ]


def _marked(verdict: Verdict) -> Verdict:
    """Return the verdict, its explanation cut and marked as the run's own words."""
    if verdict.why is None:
        return verdict
    quoted = cut(verdict.why.paragraph, _LONGEST_PARAGRAPH)
    paragraph = f"({_BY_RUN}) {quoted}" if quoted else ""
    proved = tuple(replace(it, note=f"{_BY_RUN} {it.note}".strip()) for it in verdict.why.proved)
    return replace(verdict, why=replace(verdict.why, paragraph=paragraph, proved=proved))
