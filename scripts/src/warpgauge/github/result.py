# SPDX-License-Identifier: Apache-2.0
"""The result of a run for each GPU, as far as GitHub's data on its jobs confirm it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from warpgauge.github import artifact, gpus, pull_request
from warpgauge.github.api import GitHub, Json, Unanswered
from warpgauge.github.artifact import Artifact, Refused, refusing
from warpgauge.github.branch import Repository
from warpgauge.github.comment import Part
from warpgauge.github.fields import address, at, text
from warpgauge.github.gpus import Gpu
from warpgauge.github.pull_request import Pull, Run
from warpgauge.github.terms import Terms
from warpgauge.records.benchmark_filter import cpu_limit
from warpgauge.records.model import Row
from warpgauge.reports.provenance import place
from warpgauge.system.errors import ExitStatus, UserError
from warpgauge.system.text import cut, inert
from warpgauge.verdict.comparison import Comparison, Outcome, exit_status
from warpgauge.verdict.recomputed import recomputed

UNTOUCHED = "nothing that is measured changed"
_HISTORY = "history"
# The most changed files that GitHub lists for a pull request.
_MOST_FILES = 3000
# Why there is no result, by GitHub's word for how a job ended.
_ENDED = {
    "cancelled": "Its job was cancelled",
    "skipped": "Its job was skipped",
    "timed_out": "Its job ran out of time",
    "action_required": "Its job waits for a maintainer's approval",
    "startup_failure": "Its job could not start",
}
_FITTING = {
    "success": (ExitStatus.OK,),
    "failure": (ExitStatus.REGRESSION, ExitStatus.NOT_MEASURED),
}


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
        if self.conclusion in _FITTING:
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
        return status in _FITTING.get(self.conclusion, ())


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
    pull: Pull
    ours: bool  # whether it is this repository's suite, not another project's programs
    report_url: str = ""
    pages: str = ""
    refusals: list[str] = field(default_factory=list)

    def parts(self, models: Sequence[Gpu]) -> list[Part]:
        """Return the parts in the order of .github/gpus.json; none if no GPU had a job.

        Such a run waits for approval to begin, or could not plan its jobs.
        """
        api, run = self.terms.api, self.terms.run
        names = [artifact.name_of(gpu) for gpu in models]
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
        mine = [one for one in left if one.name == artifact.name_of(gpu) and job.left(one.created)]
        if why := job.broke_off or self._why_not_its(gpu, job, mine):
            return Part(gpu, why, job.url)
        known = self.terms.known(gpu)
        try:
            with cpu_limit(
                artifact.CPU_LIMIT_S, "its result, or its policy, takes too long to read"
            ):
                found = self._judged(gpu, job, mine[-1], known) if mine else None
        except Unanswered:
            raise
        except Refused as refused:
            self.refusals.append(str(refused))
            return Part(gpu, refused.told, job.url)
        except Exception as fault:  # a fault in one file must not hide the other GPUs
            self.refusals.append(
                f"{gpu.name}: {type(fault).__name__}: {cut(inert(str(fault)), 300)}"
            )
            return Part(gpu, artifact.DAMAGED, job.url)
        if found is None:
            failed = job.conclusion == "failure"
            before = "Its job failed before anything was compared"
            return Part(gpu, before if failed else "Its job left no result", job.url)
        where = f"{self.terms.run.url}/artifacts/{mine[-1].id}"
        history, sources = self._history(gpu), self._sources(found)
        return Part(gpu, found, job.url, where, history, self.report_url, sources)

    def _why_not_its(self, gpu: Gpu, job: Job, left: Sequence[Artifact]) -> str:
        """Return why the artifacts cannot belong to this GPU's job, or "" if they can."""
        if not job.ran_on(gpu):
            if job.conclusion == "success" and not left and self._touches_nothing():
                return UNTOUCHED
            return "Its job ran on another runner than the one configured for it"
        return "Its run left several results of that name" if len(left) > 1 else ""

    def _touches_nothing(self) -> bool:
        measured = gpus.measured(gpus.file_of(self.terms.root))
        files = pull_request.changed_files(self.terms.api, self.terms.run, self.pull)
        return len(files) < _MOST_FILES and not gpus.touches(measured, files)

    def _judged(
        self, gpu: Gpu, job: Job, left: Artifact, known: Mapping[str, Row]
    ) -> Comparison | None:
        """Return the recomputed comparison, or None without one. Raise Refused."""
        told = artifact.read(left, self.terms, gpu, self.ours)
        if told is None:
            return None
        with refusing("The policy of its commit cannot be read"):
            settings = self.terms.settings(left.created)
        clocks = {name: row.clock for name, row in known.items()}
        with refusing(artifact.DAMAGED):
            found = recomputed(told, settings, clocks)
        if not job.fits(exit_status(found)):
            misfit = UserError(
                f"the job of {gpu.name} ended with {job.conclusion}, but its result has exit "
                f"status {exit_status(found).value}"
            )
            raise Refused("Its result was refused: it does not match how its job ended", misfit)
        there = {verdict.name for verdict in told.verdicts}
        with refusing("The baseline of its commit, or the filter, cannot be read"):
            expected = self.terms.expected(gpu, [r for n, r in known.items() if n not in there])
        # Our baseline has times of these, whatever the suite, the filter and the head's baseline.
        skipped = [verdict.name for verdict in found.verdicts if verdict.outcome is Outcome.SKIPPED]
        expected += [name for name in skipped if name in known and known[name].error is None]
        with refusing(artifact.DAMAGED):
            return recomputed(told, settings, clocks, expected)

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
        if not self.ours or Repository(self.terms.api, run.repository).head(_HISTORY) is None:
            return ""
        if self.pages:
            return f"{self.pages.rstrip('/')}/{gpu.slug}/"
        return f"{run.url.partition('/actions/')[0]}/tree/{_HISTORY}/{gpu.slug}"
