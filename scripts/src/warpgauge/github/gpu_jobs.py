# SPDX-License-Identifier: Apache-2.0
"""What became of the job of each GPU in a run, in the latest attempt that it had."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from warpgauge.github.api import GitHub, Json
from warpgauge.github.fields import address, at, text
from warpgauge.github.gpus import Gpu
from warpgauge.github.pull_request import Run

# GitHub's words for how a job ended, as a person says it.
_ENDED = {
    "success": "its job left no comparison",
    "failure": "its job failed before anything was compared",
    "cancelled": "its job was cancelled",
    "skipped": "its job was skipped",
    "timed_out": "its job ran out of time",
    "action_required": "its job waits for a maintainer's approval",
    "startup_failure": "its job could not begin",
}


@dataclass(frozen=True)
class Job:
    """`begin` is GitHub's time, of which later ones sort later; empty for what never began."""

    ended: str
    begin: str
    url: str


NONE = Job("it had no job", "", "")


def jobs(api: GitHub, run: Run, gpus: Sequence[Gpu]) -> dict[str, Job]:
    """The job of each GPU that has one, by the GPU's slug.

    A job that was not run again is that of an earlier attempt.
    """
    path = f"/repos/{run.repository}/actions/runs/{run.id}/jobs"
    slugs = {name_of(gpu): gpu.slug for gpu in gpus}
    return {
        slugs[name]: _job(answer)
        for answer in api.listed(path, {"filter": "latest"}, key="jobs")
        if (name := text(answer, "name")) in slugs
    }


def name_of(gpu: Gpu) -> str:
    """What gpu.yml calls its job."""
    return f"gate ({gpu.name})"


def _job(answer: Json) -> Job:
    conclusion, begin = at(answer, "conclusion"), at(answer, "started_at")
    return Job(
        _ENDED.get(str(conclusion), "its job did not end as jobs do"),
        begin if isinstance(begin, str) else "",
        address(answer, "html_url"),
    )
