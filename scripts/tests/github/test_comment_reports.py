# SPDX-License-Identifier: Apache-2.0
"""The pages that a comment links: made of what was checked, by the job that comments."""

from __future__ import annotations

from pathlib import Path

import pytest

from fake_github import Answer
from gate_pair import A100, H200, OTHER, slower, unchanged
from hosted_run import HOME, RUN, RUN_URL, HostedRun, in_a_process
from warpgauge.github import gpus
from warpgauge.reports.format import FORMATS
from warpgauge.system.environment import ROOT
from warpgauge.system.errors import ExitStatus, UserError

MADE = "https://github.com/warp/gauge/actions/runs/4343/artifacts/12"
SITE = "https://warp.github.io/gauge/"
H200_PAGE = "checked-report-nvidia-h200.html"


def made(hosted: HostedRun) -> dict[str, str]:
    """The pages, after which nothing was written on GitHub."""
    folder = hosted.root / "reports"
    assert hosted.comment("--reports", str(folder)) is ExitStatus.OK
    assert hosted.api.writes == []
    pages = folder.iterdir() if folder.exists() else ()
    return {path.name: path.read_text(encoding="utf-8") for path in pages}


def test_a_page_is_made_of_what_was_checked_and_not_of_what_the_run_made(
    hosted: HostedRun,
) -> None:
    (page,) = made(hosted).items()
    assert page[0] == H200_PAGE
    assert "gemm/tiled" in page[1]
    assert "@everyone" not in page[1]


def test_a_gpu_without_a_result_or_with_a_refused_one_has_no_page(hosted: HostedRun) -> None:
    hosted.gpus(H200, A100)
    hosted.jobs.append(hosted.job("gate (NVIDIA A100)"))
    assert [*made(hosted)] == [H200_PAGE]
    hosted.replace(slower(OTHER))
    (hosted.root / "reports" / H200_PAGE).unlink()
    assert made(hosted) == {}


def test_nothing_is_made_while_the_run_goes_on(hosted: HostedRun) -> None:
    hosted.run |= {"status": "in_progress", "conclusion": None}
    assert made(hosted) == {}


def test_a_result_that_cannot_be_read_is_told_by_the_comment_alone(hosted: HostedRun) -> None:
    hosted.api.on("GET", f"/repos/{HOME}/actions/runs/{RUN}/artifacts", Answer({}, 403))
    with pytest.raises(UserError, match="403"):
        made(hosted)
    assert hosted.api.writes == []


def test_the_comment_links_the_page_and_the_history_on_the_site(hosted: HostedRun) -> None:
    hosted.comment(PAGES=SITE)
    assert "[history]" not in hosted.body  # no night yet
    branch = [{"ref": "refs/heads/history", "object": {"sha": OTHER}}]
    hosted.api.get(f"/repos/{HOME}/git/matching-refs/heads/history", branch)
    hosted.comment(REPORT=MADE, PAGES=SITE)
    assert f"[report]({MADE})" in hosted.body
    assert f"[files]({RUN_URL}/artifacts/909)" in hosted.body
    assert f"[history]({SITE}nvidia-h200/)" in hosted.body
    hosted.comment(REPORT="", PAGES="")
    assert "[report]" not in hosted.body
    assert f"[history](https://github.com/{HOME}/tree/history/nvidia-h200)" in hosted.body


def test_a_gpu_without_a_result_links_no_report(hosted: HostedRun) -> None:
    hosted.gpus(H200, A100)
    hosted.jobs[0]["conclusion"] = "success"
    hosted.replace(unchanged())
    hosted.jobs.append(hosted.job("gate (NVIDIA A100)", "cancelled"))
    hosted.comment(REPORT=MADE)
    h200, a100 = (line for line in hosted.body.splitlines() if line.startswith("- **NVIDIA"))
    assert f"[report]({MADE})" in h200
    assert "[report]" not in a100


def test_the_page_is_made_as_a_workflow_makes_it(hosted: HostedRun, tmp_path: Path) -> None:
    # The command's own checkout is this repository.
    (gpu, *_) = gpus.read(gpus.file_of(ROOT))
    hosted.jobs[0] |= {"labels": [*gpu.labels], "runner_group_name": gpu.group}
    done = in_a_process(hosted, "--reports", str(tmp_path / "made"))
    assert (done.returncode, done.stderr) == (0, "")
    assert (tmp_path / "made" / H200_PAGE).read_bytes().startswith(b"<!doctype html>")
    assert FORMATS["html"].own.search((tmp_path / "made" / H200_PAGE).read_bytes())
