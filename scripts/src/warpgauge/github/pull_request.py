# SPDX-License-Identifier: Apache-2.0
"""Which pull request a run of the GPU workflow belongs to: GitHub says, and nothing that it made.

A run's own list of pull requests is empty for forks; so the open one of the same head is found.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from warpgauge.github.api import GitHub
from warpgauge.github.fields import address, at, number, run_of_workflow, same, text
from warpgauge.github.gpus import Gpu
from warpgauge.system.errors import ExitStatus, UserError
from warpgauge.system.git import is_full, short
from warpgauge.system.text import inert, quoted

# The path and not the name: any workflow may be called "gpu".
WORKFLOW = ".github/workflows/gpu.yml"
_EVENT = "pull_request"


@dataclass(frozen=True)
class Run:
    """A run of WORKFLOW for a pull request, in its latest attempt."""

    repository: str
    id: int
    number: int  # later runs of the workflow have higher ones
    attempt: int
    complete: bool
    head: str  # the commit
    branch: str
    head_repository: str  # OWNER/NAME; empty when it is gone
    url: str

    @property
    def measured(self) -> str:
        return f"commit {short(self.head)} of run {self.id}"


def run_of(api: GitHub, repository: str, run_id: int) -> Run:
    """What GitHub knows of the run. Raises UserError for one that is not to be commented."""
    answer = run_of_workflow(api, repository, run_id, WORKFLOW)
    what = f"run {run_id} of {repository}"
    if (event := text(answer, "event")) != _EVENT:
        raise UserError(f"{what} is of the event {quoted(event)}, not of a pull request's")
    home, head = text(answer, "repository", "full_name"), text(answer, "head_sha")
    if number(answer, "id") != run_id or not same(home, repository) or not is_full(head):
        raise UserError(f"{what} is not what GitHub answered with; run this again")
    gone = at(answer, "head_repository") is None
    return Run(
        repository,
        run_id,
        number(answer, "run_number"),
        number(answer, "run_attempt"),
        text(answer, "status") == "completed",
        head,
        text(answer, "head_branch"),
        "" if gone else text(answer, "head_repository", "full_name"),
        address(answer, "html_url"),
    )


def require_newest(api: GitHub, run: Run) -> None:
    """Raise UserError, of status 0, where a later run has measured the same head, or will.

    Pull requests are closed and opened again, runs are run again, and each event comes late.
    """
    path = f"/repos/{run.repository}/actions/workflows/{Path(WORKFLOW).name}/runs"
    found = api.listed(path, "workflow_runs", event=_EVENT, head_sha=run.head)
    # The same commit may be on another branch, and a branch of the same name in another fork.
    numbers = [
        number(other, "run_number")
        for other in found
        if at(other, "event") == _EVENT
        and at(other, "head_sha") == run.head
        and at(other, "head_branch") == run.branch
        and same(at(other, "head_repository", "full_name"), run.head_repository)
    ]
    if max(numbers, default=0) > run.number:
        raise _nothing_to_do(run, "a later run measures it")


def number_of(api: GitHub, run: Run) -> int:
    """The number of the pull request whose head was measured.

    Raises UserError, of status 0 where there is none any more: it was closed, or has moved on.
    """
    if not run.head_repository:
        raise _nothing_to_do(run, "its repository is gone")
    owner = run.head_repository.partition("/")[0]
    path = f"/repos/{run.repository}/pulls"
    found = api.listed(path, state="open", head=f"{owner}:{run.branch}")
    # GitHub ignores a filter that it does not understand, so all is looked at again.
    of_branch = [
        pull
        for pull in found
        if at(pull, "state") == "open"
        and at(pull, "head", "ref") == run.branch
        and same(at(pull, "head", "repo", "full_name"), run.head_repository)
        and same(at(pull, "base", "repo", "full_name"), run.repository)
    ]
    if not of_branch:
        home = inert(f"{run.head_repository} has no open pull request of {quoted(run.branch)}")
        raise _nothing_to_do(run, home)
    ours = [number(pull, "number") for pull in of_branch if at(pull, "head", "sha") == run.head]
    if not ours:
        raise _nothing_to_do(run, "its pull request has moved on to another commit")
    if len(ours) > 1:
        numbers = ", ".join(f"#{pull}" for pull in ours)
        raise UserError(
            f"{run.measured} is the head of several pull requests ({numbers}), and GitHub does not "
            "say which one the run is of; close all but one, and run it again"
        )
    return ours[0]


def _nothing_to_do(run: Run, why: str) -> UserError:
    """It is no fault, and ends the command with status 0."""
    return UserError(f"{run.measured}: {why}; nothing to do", ExitStatus.OK)


# By GitHub's word for how a job ended.
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


NO_JOB = Job("it had no job", "", "")


def gpu_jobs(api: GitHub, run: Run, gpus: Sequence[Gpu]) -> dict[str, Job]:
    """The job of each GPU that has one, by the GPU's slug.

    A job that was not run again is that of an earlier attempt.
    """
    path = f"/repos/{run.repository}/actions/runs/{run.id}/jobs"
    slugs, found = {job_name(gpu): gpu.slug for gpu in gpus}, {}
    for answer in api.listed(path, "jobs", filter="latest"):
        if (name := text(answer, "name")) in slugs:
            ended = _ENDED.get(str(at(answer, "conclusion")), "its job did not end as jobs do")
            begin = str(at(answer, "started_at") or "")
            found[slugs[name]] = Job(ended, begin, address(answer, "html_url"))
    return found


def job_name(gpu: Gpu) -> str:
    """What gpu.yml calls its job."""
    return f"gate ({gpu.name})"
