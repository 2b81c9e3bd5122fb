# SPDX-License-Identifier: Apache-2.0
"""warpgauge ci propose in the checkout of a hosted repository."""

from __future__ import annotations

from datetime import datetime, timezone

from fake_github import job
from hosted_project import RUN, Project
from hosted_repository import NAME, git
from warpgauge.commands.ci.results import propose
from warpgauge.system.errors import ExitStatus

NOW = datetime(2026, 11, 21, tzinfo=timezone.utc)
BASELINES = ["baselines/nvidia-test/memcpy.json", "baselines/nvidia-test/sync.json"]
BRANCH = f"baseline/nvidia-test-{RUN}-1"


class Proposing(Project):
    """scripts/warpgauge ci propose in such a checkout."""

    def session(self, document: object, number: int = 1, file: str = "run.json") -> None:
        self.upload(f"session-nvidia-test-{number}", document, file)

    def propose(self, **inputs: str) -> ExitStatus:
        event = {"inputs": {"gpu": "nvidia-test", "sessions": "1", "suite": "default", **inputs}}
        given = job(event, self.hosted.git, self.hosted.url, NAME, RUN)
        return propose([], self.root, given, NOW)

    def refused(self, status: ExitStatus = ExitStatus.BAD_USAGE) -> str:
        return self.refusal(self.propose, status)

    @property
    def body(self) -> str:
        (pull,) = self.hosted.pulls
        return str(pull["body"])

    def with_baseline(self) -> None:
        """Merge a session of another boot first."""
        self.session(self.recorded(boot_id="boot-0", date="2026-11-18T10:00:00+00:00"))
        self.propose()
        git(self.root, "pull", "--quiet", "origin", BRANCH)
        git(self.hosted.git, "update-ref", "-d", f"refs/heads/{BRANCH}")
        for one in (self.hosted.pulls, self.hosted.asked, self.hosted.artifacts):
            one.clear()
        self.push()
