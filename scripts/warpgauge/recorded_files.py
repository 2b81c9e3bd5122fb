# SPDX-License-Identifier: Apache-2.0
"""The run files that a workflow run's GPU jobs left as artifacts, and what GitHub says of the run.

Nothing that a GPU runner wrote is believed here: commit, branch, event and who started it come from
GitHub, and of each artifact one file is read, in memory.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

from warpgauge import zip_file
from warpgauge.commits import is_full
from warpgauge.errors import UserError
from warpgauge.github_api import GitHub
from warpgauge.github_branch import Repository
from warpgauge.text import quoted

RUN_FILE = "run.json"

# A run of the full suite takes 0.5 MiB, one of 10,000 benchmarks 8 MiB.
LIMIT_BYTES = 8 * 1024 * 1024
# The log of the commands lies beside the run file.
_ARCHIVE_LIMIT_BYTES = 2 * LIMIT_BYTES
# A run of these workflows has one a GPU job.
MOST_ARTIFACTS = 20

_DAY = re.compile(r"20[0-9]{2}-[01][0-9]-[0-3][0-9]")
_LOGIN = re.compile(r"[A-Za-z0-9_-]{1,100}(\[bot\])?")


@dataclass(frozen=True)
class WorkflowRun:
    """What GitHub says of a run of one of our workflows."""

    id: int
    attempt: int
    commit: str
    branch: str
    event: str
    actor: str
    day: str  # that it was started, as 2026-11-20


def workflow_run(repository: Repository, run_id: int, workflow: str) -> WorkflowRun:
    """The run; raises UserError unless it is one of ``.github/workflows/<workflow>``."""
    told = repository.github.get(f"/repos/{repository.name}/actions/runs/{run_id}")
    wanted = f".github/workflows/{workflow}"
    # GitHub may append the branch: .github/workflows/nightly.yml@main.
    path = str(told.get("path", "")).partition("@")[0]
    if path != wanted:
        raise UserError(f"run {run_id} is of {quoted(path)}, and not of {wanted}; name another")
    actor = told.get("triggering_actor") or told.get("actor") or {}
    found = WorkflowRun(
        run_id,
        _number(told.get("run_attempt"), run_id),
        str(told.get("head_sha")),
        str(told.get("head_branch")),
        str(told.get("event")),
        str(actor.get("login") if isinstance(actor, dict) else None),
        str(told.get("created_at"))[:10],
    )
    known = is_full(found.commit) and _LOGIN.fullmatch(found.actor) and _DAY.fullmatch(found.day)
    if not known:
        raise _unclear(run_id)
    return found


def fetch(repository: Repository, run_id: int, wanted: re.Pattern[str]) -> Mapping[str, bytes]:
    """The run file of each artifact whose whole name is `wanted`, by that name, in their order.

    Of several of one name, which several attempts leave, the newest counts.
    """
    base = f"/repos/{repository.name}/actions"
    newest: dict[str, int] = {}
    for one in repository.github.listed(f"{base}/runs/{run_id}/artifacts", key="artifacts"):
        name = one.get("name")
        if isinstance(name, str) and wanted.fullmatch(name) and not one.get("expired"):
            _require_size(name, one.get("size_in_bytes"))
            newest[name] = max(newest.get(name, 0), _number(one.get("id"), run_id))
    if len(newest) > MOST_ARTIFACTS:
        raise UserError(f"run {run_id} has more than {MOST_ARTIFACTS} run files; none is read")
    return {name: _run_file(repository.github, base, name, newest[name]) for name in sorted(newest)}


def _run_file(github: GitHub, base: str, name: str, artifact: int) -> bytes:
    archive = github.download(f"{base}/artifacts/{artifact}/zip", _ARCHIVE_LIMIT_BYTES)
    try:
        return zip_file.member(archive, RUN_FILE, LIMIT_BYTES)
    except UserError as fault:
        raise UserError(f"the artifact {name} is refused: {fault}; nothing was written") from None


def _require_size(name: str, size: object) -> None:
    if not isinstance(size, int) or size > _ARCHIVE_LIMIT_BYTES:
        raise UserError(
            f"the artifact {name} is larger than {_ARCHIVE_LIMIT_BYTES // 2**20} MiB; none is read"
        )


def _number(value: object, run_id: int) -> int:
    if not isinstance(value, int) or isinstance(value, bool) or value < 1:
        raise _unclear(run_id)
    return value


def _unclear(run_id: int) -> UserError:
    return UserError(f"GitHub's answer about run {run_id} is not what its API promises; try again")
