# SPDX-License-Identifier: Apache-2.0
"""The jobs that measured, as GitHub tells of them: which there were, where, and how each ended."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from warpgauge.github.api import GitHub, Json
from warpgauge.github.fields import address, at, text
from warpgauge.github.gpus import Gpu
from warpgauge.github.pull_request import Run
from warpgauge.system.errors import ExitStatus

# Why nothing is known, by GitHub's word for how a job ended.
_ENDED = {
    "cancelled": "Its job was cancelled",
    "skipped": "Its job was skipped",
    "timed_out": "Its job ran out of time",
    "action_required": "Its job waits for a maintainer's approval",
    "startup_failure": "Its job could not begin",
}
_FITTING = {
    "success": (ExitStatus.OK,),
    "failure": (ExitStatus.REGRESSION, ExitStatus.NOT_MEASURED),
}


@dataclass(frozen=True)
class Job:
    """`begin` and `end` are GitHub's times, which sort as text; empty where there is none."""

    conclusion: str
    labels: frozenset[str]
    group: str
    begin: str
    end: str
    url: str

    @property
    def broke_off(self) -> str:
        """Why nothing is known of what it did, "" if it ended by itself."""
        if self.conclusion in _FITTING:
            return ""
        return _ENDED.get(self.conclusion, "Its job did not end as jobs do")

    def ran_on(self, gpu: Gpu) -> bool:
        """Whether its runner was asked for as .github/gpus.json does, or more narrowly."""
        return self.labels.issuperset(map(str.lower, gpu.labels)) and gpu.group.lower() in (
            "",
            self.group,
        )

    def left(self, created: str) -> bool:
        """Whether something that was created then may be of this job."""
        return self.begin <= created and (not self.end or created <= self.end)

    def fits(self, status: ExitStatus) -> bool:
        """Whether a comparison of this exit status makes a job end so."""
        return status in _FITTING.get(self.conclusion, ())


def of_run(api: GitHub, run: Run, gpus: Sequence[Gpu]) -> dict[str, list[Job]]:
    """The jobs of each GPU's name in the latest attempt, by the GPU's slug.

    A job that was not run again is that of an earlier attempt. A called workflow's jobs have the
    caller's name in front: ``performance / gate (NVIDIA H200)``.
    """
    path = f"/repos/{run.repository}/actions/runs/{run.id}/jobs"
    slugs = {job_name(gpu): gpu.slug for gpu in gpus}
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


def job_name(gpu: Gpu) -> str:
    """What gpu.yml calls its job."""
    return f"gate ({gpu.name})"
