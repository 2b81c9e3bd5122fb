# SPDX-License-Identifier: Apache-2.0
"""warpgauge ci propose: opens a pull request with the sessions that baseline.yml recorded."""

from __future__ import annotations

import os
import re
import tempfile
from collections.abc import Mapping, Sequence
from datetime import datetime, timezone
from pathlib import Path

from warpgauge.commands.ci import command_lines
from warpgauge.github import artifact, gpus, proposal
from warpgauge.github.api import GitHub, Repository, address, number
from warpgauge.github.pull_request import recorded_run
from warpgauge.system import git
from warpgauge.system.errors import ExitStatus, UserError

WORKFLOW = "baseline.yml"


def main(
    argv: Sequence[str],
    root: Path,
    environment: Mapping[str, str] = os.environ,
    now: datetime | None = None,
) -> ExitStatus:
    """Open the pull request. Raises UserError, and posts nothing, for anything invalid."""
    given, now = command_lines.propose().parse_args(argv), now or datetime.now(timezone.utc)
    api = GitHub.of(environment)
    repository = Repository(api, given.repository)
    gpu = gpus.chosen(gpus.file_of(root), given.gpu)
    asked = repository.name, given.run_id, WORKFLOW, root
    run = recorded_run(api, *asked, "workflow_dispatch")
    if git.require(root, "status", "--porcelain", "--", "baselines"):
        raise UserError(f"{root / 'baselines'} has uncommitted changes; commit or restore it")
    wanted = re.compile(rf"session-{re.escape(gpu.slug)}-[1-9][0-9]?")
    files = artifact.newest(api, repository.name, run.id, wanted.fullmatch)
    if not files:
        raise UserError(
            f"run {run.id} recorded no session of {gpu.name}, and its log says why; no pull "
            "request was opened",
            ExitStatus.NOT_MEASURED,
        )
    with tempfile.TemporaryDirectory(prefix="warpgauge-") as scratch:
        proposed = proposal.made(files, gpu, run.head, root, Path(scratch), now)
    title = proposal.title(proposed, gpu)
    body = proposal.body(proposed, gpu, run, given.sessions)
    branch = f"baseline/{gpu.slug}-{run.id}-{run.attempt}"
    message = f"{title}\n\nMeasured at {run.head}; {run.url}\n"
    repository.create_branch(branch, repository.commit(run.head, proposed.texts, message))
    about = {"title": title, "head": branch, "base": run.branch, "body": body}
    print(f"opened: {_opened(repository, about, proposal.comments(proposed))}")
    return ExitStatus.OK


def _opened(repository: Repository, about: Mapping[str, str], comments: Sequence[str]) -> str:
    """Open a pull request, comment on further sessions, and return its address."""
    base = f"/repos/{repository.name}"
    try:
        pull = repository.github.post(f"{base}/pulls", about)
        for text in comments:
            comment = {"body": text}
            repository.github.post(f"{base}/issues/{number(pull, 'number')}/comments", comment)
    except UserError as fault:
        raise UserError(
            f"{fault}; the new baseline is on the branch {about['head']}: open or complete the "
            "pull request by hand"
        ) from None
    return address(pull, "html_url")
