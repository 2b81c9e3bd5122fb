# SPDX-License-Identifier: Apache-2.0
"""A checkout of a hosted repository, a run of one of its workflows, and what that uploaded."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest

from archives import archive
from builders import Json, row, run, scaled, write
from fake_github import FakeGitHub
from hosted_repository import NAME, Hosted, git
from warpgauge.system.errors import ExitStatus, UserError

NAMES = ("memcpy/a", "memcpy/b", "sync/c")
RUN = 77


@dataclass
class Project:
    """The checkout is at the commit that run `RUN` of `workflow` was dispatched at."""

    root: Path
    hosted: Hosted
    workflow: str
    commit: str = ""

    def recorded(self, factor: float = 1.0, /, **keys: str) -> Json:
        """The run file of its suite."""
        rows = [row(name, scaled(factor)) for name in NAMES]
        return run(rows, **{"commit": self.commit, **keys})

    def upload(self, artifact: str, document: object, file: str = "run.json") -> None:
        content = document if isinstance(document, bytes) else json.dumps(document).encode()
        self.hosted.artifacts.append((artifact, archive((file, content))))

    def push(self) -> None:
        """Commit what is there; the run was dispatched at that commit."""
        git(self.root, "add", "--all")
        git(self.root, "commit", "--quiet", "--allow-empty", "--message", "a commit")
        git(self.root, "push", "--quiet", "origin", "main")
        self.commit = git(self.root, "rev-parse", "HEAD")
        self.hosted.runs[RUN] = {
            "id": RUN, "run_attempt": 1, "created_at": "2026-11-20T09:00:00Z",
            "path": f".github/workflows/{self.workflow}", "event": "workflow_dispatch",
            "head_sha": self.commit, "head_branch": "main",
            "actor": {"login": "somebody"}, "triggering_actor": {"login": "octocat"},
            "run_number": 3, "status": "in_progress", "pull_requests": [],
            "repository": {"full_name": NAME}, "head_repository": {"full_name": NAME},
            "html_url": f"https://gh/{NAME}/actions/runs/{RUN}",
        }  # fmt: skip

    def refusal(self, work: Callable[[], object], status: ExitStatus = ExitStatus.BAD_USAGE) -> str:
        """The one sentence of `work`, after which nothing was written anywhere."""
        before = self.hosted.branches()
        with pytest.raises(UserError) as raised:
            work()
        assert raised.value.status is status
        assert self.hosted.writes() == []
        assert self.hosted.branches() == before
        assert git(self.root, "status", "--porcelain") == ""
        assert str(raised.value).isprintable()
        return str(raised.value)


@contextmanager
def checked_out(
    folder: Path, workflow: str, gpus: Sequence[str] = ("NVIDIA Test",)
) -> Iterator[Project]:
    """A clone of a repository with two families and these GPU models, and no baseline yet."""
    bare, root = folder / "bare.git", folder / "root"
    for one in (bare, root):
        one.mkdir()
    git(bare, "init", "--quiet", "--bare", "--initial-branch=main")
    git(root, "init", "--quiet", "--initial-branch=main")
    git(root, "remote", "add", "origin", str(bare))
    each = {"runs_on": ["self-hosted", "test"], "minutes": 60}
    listed = [{"slug": name.lower().replace(" ", "-"), "name": name, **each} for name in gpus]
    write(root / ".github" / "gpus.json", {"gpus": listed})
    for path in ("benchmarks/memcpy.cu", "benchmarks/sync.cpp", "baselines/README.md"):
        (root / path).parent.mkdir(exist_ok=True)
        (root / path).write_text("a file\n")
    hosted = Hosted(bare)
    with FakeGitHub(hosted.answer) as server:
        hosted.url = server.url
        made = Project(root, hosted, workflow)
        made.push()
        yield made
