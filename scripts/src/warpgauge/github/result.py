# SPDX-License-Identifier: Apache-2.0
"""What a run found, GPU by GPU, as far as GitHub's own word on its jobs bears it out."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from warpgauge.github import artifact, gpu_jobs, gpus, pull_request
from warpgauge.github.api import Unanswered
from warpgauge.github.artifact import Artifact, Refused
from warpgauge.github.branch import Repository
from warpgauge.github.comment import Part
from warpgauge.github.gpu_jobs import Job
from warpgauge.github.gpus import Gpu
from warpgauge.github.pull_request import Pull
from warpgauge.github.terms import Terms
from warpgauge.records.benchmark_filter import cpu_limit
from warpgauge.records.model import Clock, Row
from warpgauge.reports.provenance import place
from warpgauge.reports.ranking import folds
from warpgauge.system.errors import UserError
from warpgauge.system.text import cut, inert
from warpgauge.verdict.comparison import Comparison
from warpgauge.verdict.comparison_settings import ComparisonSettings
from warpgauge.verdict.recomputed import recomputed

UNTOUCHED = "nothing that is measured changed"
_HISTORY = "history"
# Of this process, for one GPU's result; 20,000 rows take three seconds.
_CPU_LIMIT_S = 12.0
# GitHub names no more of a pull request.
_MOST_FILES = 3000


@dataclass
class Result:
    """`refusals` are sentences for the log: what was amiss with a result that is not shown.

    `report_url` leads to the reports that we made, `pages` to the site of the nights.
    """

    terms: Terms
    pull: Pull
    ours: bool  # the suite of this repository, and not another project's programs
    report_url: str = ""
    pages: str = ""
    refusals: list[str] = field(default_factory=list)

    def parts(self, models: Sequence[Gpu]) -> list[Part]:
        """In the order of .github/gpus.json; nothing where there was no job for any.

        Such a run waits for the approval that lets it begin, or could not plan its jobs.
        """
        api, run = self.terms.api, self.terms.run
        names = [artifact.name_of(gpu) for gpu in models]
        jobs = gpu_jobs.of_run(api, run, models)
        left = artifact.of_run(api, run.repository, run.id, names.__contains__)
        if not any(jobs.values()):
            return []
        return [self._part(gpu, jobs[gpu.slug], left) for gpu in models]

    def _part(self, gpu: Gpu, jobs: Sequence[Job], left: Iterable[Artifact]) -> Part:
        if len(jobs) != 1:
            several = f"Its run has {len(jobs)} jobs of that name, and one is expected"
            return Part(gpu, several if jobs else "It had no job")
        (job,) = jobs
        # What an earlier attempt left is not what this job found, which left nothing.
        mine = [one for one in left if one.name == artifact.name_of(gpu) and job.left(one.created)]
        if why := job.broke_off or self._why_not_its(gpu, job, mine):
            return Part(gpu, why, job.url)
        known = self.terms.known(gpu)
        try:
            with cpu_limit(_CPU_LIMIT_S, "what it left, or its policy, takes too long to read"):
                found = self._judged(gpu, job, mine[-1], known) if mine else None
        except Unanswered:
            raise
        except Refused as refused:
            self.refusals.append(str(refused))
            return Part(gpu, refused.told, job.url)
        except Exception as fault:  # whatever a stranger found: the other GPUs are shown
            self.refusals.append(
                f"{gpu.name}: {type(fault).__name__}: {cut(inert(str(fault)), 300)}"
            )
            return Part(gpu, artifact.DAMAGED, job.url)
        if found is None:
            failed = job.conclusion == "failure"
            told = (
                "Its job failed before anything was compared" if failed else "Its job left nothing"
            )
            return Part(gpu, told, job.url)
        where = f"{self.terms.run.url}/artifacts/{mine[-1].id}"
        history, sources = self._history(gpu), self._sources(found)
        return Part(gpu, found, job.url, where, history, self.report_url, sources)

    def _why_not_its(self, gpu: Gpu, job: Job, left: Sequence[Artifact]) -> str:
        """Why what was left cannot be the word of this GPU's job; "" where it can."""
        if not job.ran_on(gpu):
            hosted = job.conclusion == "success" and not left and self._touches_nothing()
            return (
                UNTOUCHED
                if hosted
                else "Its job ran on another runner than the one that is set up for it"
            )
        return "Its run left several results of that name" if len(left) > 1 else ""

    def _touches_nothing(self) -> bool:
        measured = gpus.measured(gpus.file_of(self.terms.root))
        files = pull_request.changed_files(self.terms.api, self.terms.run, self.pull)
        return len(files) < _MOST_FILES and not gpus.touches(measured, files)

    def _judged(
        self, gpu: Gpu, job: Job, left: Artifact, known: Mapping[str, Row]
    ) -> Comparison | None:
        """Raises Refused."""
        told = artifact.read(left, self.terms, gpu, self.ours)
        if told is None:
            return None
        try:
            settings = self.terms.settings(left.created)
        except Unanswered:
            raise
        except UserError as fault:
            raise Refused("The policy of its commit cannot be read", fault) from None
        clocks = {name: row.clock for name, row in known.items()}
        found = _recomputed(told, settings, clocks)
        if not job.fits(found.exit_status):
            misfit = UserError(
                f"the job of {gpu.name} ended with {job.conclusion}, and what it left is of exit "
                f"status {found.exit_status.value}"
            )
            raise Refused("Its result was refused: it does not fit how its job ended", misfit)
        there = {verdict.name for verdict in told.verdicts}
        try:
            expected = self.terms.expected(gpu, [r for n, r in known.items() if n not in there])
        except Unanswered:
            raise
        except UserError as fault:
            raise Refused(
                "The baseline of its commit, or the filter, cannot be read", fault
            ) from None
        return _recomputed(told, settings, clocks, expected)

    def _sources(self, found: Comparison) -> Mapping[str, str]:
        """Where each benchmark that is shown by itself is written."""
        home = self.terms.run.url.partition("/actions/")[0]
        sources = {}
        for verdict in (one for one in found.verdicts if not folds(one)):
            if at := place(self.terms.root, found, verdict):
                line = f"#L{at['line']}" if "line" in at else ""
                sources[verdict.name] = f"{home}/blob/{self.terms.run.head}/{at['file']}{line}"
        return sources

    def _history(self, gpu: Gpu) -> str:
        """Of this GPU's nights, where there are any."""
        run = self.terms.run
        if not self.ours or Repository(self.terms.api, run.repository).head(_HISTORY) is None:
            return ""
        if self.pages:
            return f"{self.pages.rstrip('/')}/{gpu.slug}/"
        return f"{run.url.partition('/actions/')[0]}/tree/{_HISTORY}/{gpu.slug}"


def _recomputed(
    told: Comparison,
    settings: ComparisonSettings,
    clocks: Mapping[str, Clock],
    expected: Collection[str] = (),
) -> Comparison:
    try:
        return recomputed(told, settings, clocks, expected)
    except UserError as fault:
        raise Refused(artifact.DAMAGED, fault) from None
