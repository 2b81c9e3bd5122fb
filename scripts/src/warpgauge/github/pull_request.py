# SPDX-License-Identifier: Apache-2.0
"""The pull requests of a GPU workflow run, according to GitHub and not to the run's own files.

A run's own list of pull requests is empty for forks, so open ones with the same head are searched.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from urllib.parse import quote

from warpgauge.github.api import MOMENT, GitHub, Json, address, at, number, same, text
from warpgauge.system import git
from warpgauge.system.errors import ExitStatus, UserError
from warpgauge.system.git import FULL_COMMIT, is_full, short
from warpgauge.system.text import quoted

# The path and not the name, because any workflow may be called "gpu".
WORKFLOW = ".github/workflows/gpu.yml"
_EVENT = "pull_request"
# The most changed files that GitHub lists for a pull request.
MOST_FILES = 3000


@dataclass(frozen=True)
class Run:
    """A run of `workflow` for a pull request, in its latest attempt."""

    repository: str
    id: int
    number: int  # higher for later runs of the workflow
    attempt: int
    complete: bool
    head: str  # the commit
    branch: str
    head_repository: str  # OWNER/NAME; empty if deleted
    url: str
    conclusion: str = ""  # GitHub's word; empty while the run is in progress
    pulls: frozenset[int] = frozenset()  # empty for a fork
    workflow: str = WORKFLOW  # the path of its file
    actor: str = ""
    started: str = ""  # 2026-11-20T02:17:09Z


@dataclass(frozen=True)
class Pull:
    """An open pull request and its current base branch."""

    number: int
    base_branch: str


@dataclass(frozen=True)
class Base:
    """The base of a measurement: the commit at which the head left the base branch."""

    branch: str
    commit: str


def recorded_run(
    api: GitHub, repository: str, run_id: int, workflow: str, root: Path, *events: str
) -> Run:
    """Return the run of ``.github/workflows/<workflow>`` whose results are to be recorded.

    Raise UserError unless one of `events` started it and `root` is at its commit.
    """
    run = run_of(api, repository, run_id, f".github/workflows/{workflow}", *events)
    here = git.require(root, "rev-parse", "--verify", "HEAD")
    if here != run.head:
        raise UserError(
            f"run {run_id} measured commit {short(run.head)}, but {root} is at {short(here)}; "
            "check out that commit"
        )
    return run


def run_of(
    api: GitHub, repository: str, run_id: int, workflow: str = WORKFLOW, *events: str
) -> Run:
    """Return GitHub's data on the run, which one of `events` must have started. Raise UserError."""
    answer = api.get(f"/repos/{repository}/actions/runs/{run_id}")
    what = f"run {run_id} of {repository}"
    # GitHub may append the branch: .github/workflows/nightly.yml@main.
    if (path := text(answer, "path").partition("@")[0]) != workflow:
        raise UserError(f"{what} is a run of {quoted(path)}, not of {workflow}")
    wanted = events or (_EVENT,)
    if (event := text(answer, "event")) not in wanted:
        raise UserError(f"{what} was started by {quoted(event)}, not by {' or '.join(wanted)}")
    home, head = text(answer, "repository", "full_name"), text(answer, "head_sha")
    if number(answer, "id") != run_id or not same(home, repository) or not is_full(head):
        raise UserError(f"{what} does not match GitHub's answer; run this again")
    return Run(
        repository,
        run_id,
        number(answer, "run_number"),
        number(answer, "run_attempt"),
        text(answer, "status") == "completed",
        head,
        text(answer, "head_branch"),
        _head_repository(answer),
        address(answer, "html_url"),
        str(at(answer, "conclusion") or ""),
        _pulls_of(answer),
        workflow,
        str(at(answer, "triggering_actor", "login") or at(answer, "actor", "login") or ""),
        text(answer, "created_at", pattern=MOMENT),
    )


def newest_run(api: GitHub, repository: str, pull: int, workflow: str) -> Run | None:
    """Return the newest run for the head of a pull request, or None."""
    answer = api.get(f"/repos/{repository}/pulls/{pull}")
    head = text(answer, "head", "sha", pattern=FULL_COMMIT)
    home = str(at(answer, "head", "repo", "full_name") or "")
    numbers = {
        number(run, "run_number"): number(run, "id")
        for run in _runs(api, repository, workflow, head)
        if same(_head_repository(run), home) and pull in (_pulls_of(run) or {pull})
    }
    return run_of(api, repository, numbers[max(numbers)], workflow) if numbers else None


def require_newest(api: GitHub, run: Run) -> None:
    """Raise UserError with status 0 if a later run has measured, or will measure, the same head.

    Pull requests are closed and reopened, runs are repeated, and each event arrives late.
    """
    if any(
        number(other, "run_number") > run.number
        # The same commit may be on another branch, or on a branch of this name in another fork.
        and at(other, "head_branch") == run.branch
        and same(_head_repository(other), run.head_repository)
        and _pulls_of(other) == run.pulls
        for other in _runs(api, run.repository, run.workflow, run.head)
    ):
        raise nothing_to_do(run, "a later run measures it")


def pulls_of(api: GitHub, run: Run) -> list[Pull]:
    """Return the open pull requests with the measured commit, each with its own base.

    Raise UserError with status 0 if there is none any more: closed, or the head moved.
    """
    if not run.head_repository:
        raise nothing_to_do(run, "its repository was deleted")
    path, owner = f"/repos/{run.repository}/pulls", run.head_repository.partition("/")[0]
    found = _of_head(run, api.listed(path, state="open", head=f"{owner}:{run.branch}"))
    # The branch may have been renamed since.
    found = found or _of_head(run, api.listed(path, state="open"))
    if not found:
        raise nothing_to_do(run, "no open pull request has it as its head")
    return found


def base_of(api: GitHub, run: Run, pull: Pull, other: str = "") -> Base:
    """Return where the head left the pull request's base branch, or `other`, by GitHub's data."""
    branch = other.removeprefix("origin/") or pull.base_branch
    between = f"{quote(branch, safe='')}...{run.head}"
    answer = api.get(f"/repos/{run.repository}/compare/{between}?per_page=1")
    return Base(branch, text(answer, "merge_base_commit", "sha", pattern=FULL_COMMIT))


def changed_files(api: GitHub, run: Run, pull: Pull) -> list[str]:
    """Return the paths that a pull request changes, including old names of renamed files."""
    files = api.listed(f"/repos/{run.repository}/pulls/{pull.number}/files")
    names = [(at(one, "filename"), at(one, "previous_filename")) for one in files]
    return [str(name) for both in names for name in both if name]


def nothing_to_do(run: Run, why: str) -> UserError:
    """Return an error that ends the command with status 0, because it is not a fault."""
    what = f"commit {short(run.head)} of run {run.id}"
    return UserError(f"{what}: {why}; nothing to do", ExitStatus.OK)


def _of_head(run: Run, pulls: Iterable[Json]) -> list[Pull]:
    # GitHub ignores filters that it does not understand, so everything is checked again.
    return [
        Pull(number(pull, "number"), text(pull, "base", "ref"))
        for pull in pulls
        if at(pull, "state") == "open"
        and at(pull, "head", "sha") == run.head
        and same(at(pull, "head", "repo", "full_name"), run.head_repository)
        and same(at(pull, "base", "repo", "full_name"), run.repository)
        and (not run.pulls or number(pull, "number") in run.pulls)
    ]


def _runs(api: GitHub, repository: str, workflow: str, head: str) -> list[Json]:
    path = f"/repos/{repository}/actions/workflows/{PurePosixPath(workflow).name}/runs"
    found = api.listed(path, "workflow_runs", event=_EVENT, head_sha=head)
    return [run for run in found if at(run, "event") == _EVENT and at(run, "head_sha") == head]


def _head_repository(answer: Json) -> str:
    gone = at(answer, "head_repository") is None
    return "" if gone else text(answer, "head_repository", "full_name")


def _pulls_of(answer: Json) -> frozenset[int]:
    listed = at(answer, "pull_requests")
    items = listed if isinstance(listed, list) else []
    return frozenset(number(one, "number") for one in items)
