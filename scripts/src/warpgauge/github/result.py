# SPDX-License-Identifier: Apache-2.0
"""The result of a run for each GPU, as far as GitHub's data on its jobs confirm it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import date
from pathlib import Path
from tempfile import TemporaryDirectory

from warpgauge.github import artifact, gpus
from warpgauge.github.api import GitHub, Json, Repository, Unanswered, address, at, text
from warpgauge.github.artifact import Artifact, fault_of_pair
from warpgauge.github.comment import Part
from warpgauge.github.gpus import Gpu
from warpgauge.github.judging import Judged, Terms
from warpgauge.github.pull_request import MOST_FILES, Run
from warpgauge.records.benchmark_filter import cpu_limit
from warpgauge.records.sessions import only_session
from warpgauge.reports.view import place
from warpgauge.system.errors import ExitStatus, UserError
from warpgauge.system.text import clause, cut, inert
from warpgauge.system.zip_file import MissingEntry
from warpgauge.verdict.comparison import Comparison, exit_status

UNTOUCHED = "nothing that is measured changed"
OTHER_BASE = "It was measured against another base; push, or run the workflow again"
_HISTORY = "history"
# Why there is no result, by GitHub's word for how a job ended.
_ENDED = {
    "cancelled": "Its job was cancelled",
    "skipped": "Its job was skipped",
    "timed_out": "Its job ran out of time",
    "action_required": "Its job waits for a maintainer's approval",
    "startup_failure": "Its job could not start",
}
_SUCCESS, _FAILURE = "success", "failure"


@dataclass(frozen=True)
class Job:
    """`begin` and `end` are GitHub's times, which sort as text; "" if unknown."""

    conclusion: str
    labels: frozenset[str]
    group: str
    begin: str
    end: str
    url: str

    @property
    def broke_off(self) -> str:
        """Why it has no result, "" if it ended by itself."""
        if self.conclusion in (_SUCCESS, _FAILURE):
            return ""
        return _ENDED.get(self.conclusion, "Its job ended for an unknown reason")

    def ran_on(self, gpu: Gpu) -> bool:
        """Return whether its runner has the labels and group that .github/gpus.json requires."""
        return self.labels.issuperset(map(str.lower, gpu.labels)) and gpu.group.lower() in (
            "",
            self.group,
        )

    def left(self, created: str) -> bool:
        """Return whether this job may have created something at the time `created`."""
        return self.begin <= created and (not self.end or created <= self.end)

    def fits(self, status: ExitStatus) -> bool:
        """Return whether a comparison with this exit status ends a job like this."""
        return (status is ExitStatus.OK) == (self.conclusion == _SUCCESS)


def jobs_of(api: GitHub, run: Run, gpus: Sequence[Gpu]) -> dict[str, list[Job]]:
    """Return the jobs of each GPU in the latest attempt, by the GPU's slug.

    A job that was not repeated is the one of an earlier attempt. A called workflow's jobs have the
    caller's name in front: ``performance / gate (NVIDIA H200)``.
    """
    path = f"/repos/{run.repository}/actions/runs/{run.id}/jobs"
    slugs = {gpu.job_name: gpu.slug for gpu in gpus}
    found: dict[str, list[Job]] = {gpu.slug: [] for gpu in gpus}
    for answer in api.listed(path, "jobs", filter="latest"):
        if slug := slugs.get(text(answer, "name").rpartition(" / ")[2]):
            found[slug].append(_job(answer))
    return found


def _job(answer: Json) -> Job:
    labels = at(answer, "labels")
    return Job(
        str(at(answer, "conclusion") or ""),
        frozenset(str(one).lower() for one in (labels if isinstance(labels, list) else ())),
        str(at(answer, "runner_group_name") or "").lower(),
        str(at(answer, "started_at") or ""),
        str(at(answer, "completed_at") or ""),
        address(answer, "html_url"),
    )


@dataclass
class Result:
    """`refusals` are sentences for the log on results that are not shown.

    `report_url` leads to the reports that we made, `pages` to the site of the nights.
    """

    terms: Terms
    report_url: str = ""
    pages: str = ""
    refusals: list[str] = field(default_factory=list)

    def parts(self, models: Sequence[Gpu]) -> list[Part]:
        """Return the parts in the order of .github/gpus.json; none if no GPU had a job.

        Such a run waits for approval to begin, or could not plan its jobs.
        """
        api, run = self.terms.api, self.terms.run
        names = [gpu.artifact for gpu in models]
        jobs = jobs_of(api, run, models)
        left = artifact.of_run(api, run.repository, run.id, names.__contains__)
        if not any(jobs.values()):
            return []
        return [self._part(gpu, jobs[gpu.slug], left) for gpu in models]

    def _part(self, gpu: Gpu, jobs: Sequence[Job], left: Iterable[Artifact]) -> Part:
        if len(jobs) != 1:
            several = f"Its run has {len(jobs)} jobs of that name; one is expected"
            return Part(gpu, several if jobs else "It had no job")
        (job,) = jobs
        # Artifacts of an earlier attempt do not belong to this job.
        mine = [one for one in left if one.name == gpu.artifact and job.left(one.created)]
        if why := job.broke_off or self._why_not_its(gpu, job, mine):
            return Part(gpu, why, job.url)
        try:
            with cpu_limit(artifact.CPU_LIMIT_S, "it takes too long to read and judge"):
                found = self._judged(gpu, mine[-1]) if mine else None
        except Unanswered:
            raise
        except Exception as fault:  # a fault in one file must not hide the other GPUs
            why = clause(str(fault)) if isinstance(fault, UserError) else "it is damaged"
            if why != OTHER_BASE:
                why = f"Its result was refused: {why}"
            self.refusals.append(cut(inert(f"{gpu.name}: {type(fault).__name__}: {fault}"), 500))
            return Part(gpu, why, job.url)
        if found is None:
            failed = job.conclusion == _FAILURE
            before = "Its job failed before anything was compared"
            return Part(gpu, before if failed else "Its job left no result", job.url)
        comparison = found.comparison
        return Part(
            gpu,
            comparison,
            job.url,
            f"{self.terms.run.url}/artifacts/{mine[-1].id}",
            self._history(gpu),
            self.report_url,
            self._sources(comparison),
            "" if job.fits(exit_status(comparison)) else job.conclusion,
            found.excused,
            found.removed,
        )

    def _why_not_its(self, gpu: Gpu, job: Job, left: Sequence[Artifact]) -> str:
        """Return why the artifacts cannot belong to this GPU's job, or "" if they can."""
        if job.ran_on(gpu):
            return "Its run left several results of that name" if len(left) > 1 else ""
        if job.conclusion == _SUCCESS and not left:
            measured = gpus.measured(gpus.file_of(self.terms.root))
            files = self.terms.changed
            if len(files) < MOST_FILES and not gpus.touches(measured, files):
                return UNTOUCHED
        return "Its job ran on another runner than the one configured for it"

    def _judged(self, gpu: Gpu, left: Artifact) -> Judged | None:
        """Return the run files of the pairs, judged, or None without them. Raise UserError."""
        terms = self.terms
        archive = left.archive(terms.api, terms.run.repository)
        with TemporaryDirectory(prefix="warpgauge-") as scratch:
            try:
                sides = [archive.run(name, Path(scratch)) for name in artifact.PAIR]
            except MissingEntry:
                return None
        base, candidate = (replace(side, path=Path(side.path.name)) for side in sides)
        pair = base, candidate
        measured = only_session(base).context.get("commit", "")
        commits = measured, terms.run.head
        if fault := fault_of_pair(pair, gpu, commits, terms.filter, terms.families):
            raise UserError(fault)
        if measured != terms.base.commit:
            raise UserError(OTHER_BASE)
        return terms.judged(gpu, pair, date.fromisoformat(left.created[:10]))

    def _sources(self, found: Comparison) -> Mapping[str, str]:
        """Return links to the sources of the benchmarks that are shown by name."""
        home = self.terms.run.url.partition("/actions/")[0]
        sources = {}
        for verdict in (one for one in found.verdicts if not one.is_unchanged):
            if told := place(self.terms.root, found, verdict):
                line = f"#L{told['line']}" if "line" in told else ""
                sources[verdict.name] = f"{home}/blob/{self.terms.run.head}/{told['file']}{line}"
        return sources

    def _history(self, gpu: Gpu) -> str:
        """Return a link to this GPU's nights, or "" if there are none."""
        run = self.terms.run
        if not self.terms.ours or Repository(self.terms.api, run.repository).head(_HISTORY) is None:
            return ""
        if self.pages:
            return f"{self.pages.rstrip('/')}/{gpu.slug}/"
        return f"{run.url.partition('/actions/')[0]}/tree/{_HISTORY}/{gpu.slug}"
