# SPDX-License-Identifier: Apache-2.0
"""The pull request of a baseline is no longer than GitHub takes, whatever a runner wrote."""

from __future__ import annotations

import pytest

from comparisons import comparison, verdict
from warpgauge.github import proposal as proposal_text
from warpgauge.github.comment import LENGTH_LIMIT
from warpgauge.github.gpus import Gpu
from warpgauge.github.proposal import Added, Proposal
from warpgauge.github.recorded_files import MOST_ARTIFACTS, WorkflowRun
from warpgauge.records.model import Session
from warpgauge.verdict.comparison import Outcome

GPU = Gpu("nvidia-test", "NVIDIA Test", ("self-hosted", "test"), 60)
RUN = WorkflowRun(7, 1, "c" * 40, "main", "octocat", "2026-11-20T09:00:00Z")
FACTS = ("gpu_uuid", "driver_version", "runtime_version", "boot_id", "date")


@pytest.mark.parametrize("count", [1, MOST_ARTIFACTS])
@pytest.mark.parametrize(
    "text", ["580.1", "`" * 3000, "a ` " * 900, "\x1b|" * 1500, "\U0001f600\n" * 3000]
)
def test_body_and_comments_are_no_longer_than_github_takes(text: str, count: int) -> None:
    # More rows than there is room for, whatever that is.
    rows = [verdict(f"gemm/{n}/" + "x" * 60, Outcome.REGRESSION, 0.1) for n in range(999)]
    session = Session(f"2026-11-20 {text}", dict.fromkeys(FACTS, text))
    one = Added(session, (f"replaced: session {text}", text, text), comparison(rows))
    proposal = Proposal((one,) * count, {})
    body = proposal_text.body(proposal, GPU, RUN, "https://github.com/warp/gauge", count)
    comments = proposal_text.comments(proposal)
    assert len(comments) == count - 1
    assert all(len(told) <= LENGTH_LIMIT for told in (body, *comments))
    assert all("gemm/0/" in told and "**Left out" in told for told in (body, *comments))
