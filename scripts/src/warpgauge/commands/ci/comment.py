# SPDX-License-Identifier: Apache-2.0
"""warpgauge ci comment: posts what a run of the GPU workflow found on the pull request it is of."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path

from warpgauge.commands.ci import command_lines
from warpgauge.github import artifact, comment, gpus, pull_request
from warpgauge.github.api import GitHub
from warpgauge.github.artifact import Artifact
from warpgauge.github.comment import Part
from warpgauge.github.gpus import Gpu
from warpgauge.github.pull_request import Job, Run
from warpgauge.system.errors import ExitStatus


def main(
    argv: Sequence[str], root: Path, environment: Mapping[str, str] = os.environ
) -> ExitStatus:
    """Raises UserError for whatever is not as it should be; then nothing was posted."""
    given = command_lines.comment().parse_args(argv)
    api = GitHub.of(environment)
    models = gpus.read(gpus.file_of(root))
    run = pull_request.run_of(api, given.repository, given.run_id)
    number = _pull_request(api, run)
    # Everything is read before anything is written.
    parts = _parts(api, run, models) if run.complete else []
    if parts:
        body = comment.body(run, None, parts)
        # Reading takes a while, in which somebody may have pushed.
        number = _pull_request(api, run)
        print(f"posted: {comment.put(api, run.repository, number, body)}")
        return ExitStatus.OK
    if run.complete:
        print(f"run {run.id} ended without a job for any GPU")
    why = comment.to_be_measured(run)
    marked = comment.mark_outdated(api, run.repository, number, why)
    print(f"marked as outdated: {marked}" if marked else "no comment to mark as outdated yet")
    return ExitStatus.OK


def _pull_request(api: GitHub, run: Run) -> int:
    """Its number, where the run is the last word on its head. Raises UserError."""
    number = pull_request.number_of(api, run)
    pull_request.require_newest(api, run)
    return number


def _parts(api: GitHub, run: Run, models: Sequence[Gpu]) -> list[Part]:
    """What each GPU found, in the order of .github/gpus.json; nothing where there was no job.

    Such a run waits for the approval that lets it begin, or could not plan its jobs.
    """
    names = [artifact.name_of(gpu) for gpu in models]
    jobs = pull_request.gpu_jobs(api, run, models)
    artifacts = artifact.newest(api, run.repository, run.id, names.__contains__)
    if not jobs and not artifacts:
        return []
    return [
        _part(api, run, gpu, jobs.get(gpu.slug, pull_request.NO_JOB), artifacts.get(name))
        for gpu, name in zip(models, names, strict=True)
    ]


def _part(api: GitHub, run: Run, gpu: Gpu, job: Job, left: Artifact | None) -> Part:
    # What an earlier attempt left is not what this job found, which left nothing.
    recent = left is not None and left.created >= job.begin
    if left and recent and (found := artifact.read(api, run, left, gpu)) is not None:
        return Part(gpu, found, job.url, f"{run.url}/artifacts/{left.id}")
    return Part(gpu, job.ended, job.url)
