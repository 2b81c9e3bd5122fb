# SPDX-License-Identifier: Apache-2.0
"""A result is posted only as far as GitHub's own facts bear it out, and by our own rule."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence

import pytest

from builders import failed, write
from fake_github import Answer
from gate_pair import HEAD, OTHER, Json, Pair, pair, slower, unchanged
from hosted_run import HOME, PULL, RUN, HostedRun
from warpgauge.github.gpus import file_of
from warpgauge.reports.formats.markdown import MARK
from warpgauge.system.errors import ExitStatus, UserError


def passes(hosted: HostedRun) -> None:
    """Let the run have measured that nothing changed."""
    hosted.replace(unchanged())
    hosted.ended("success")


def job(**changes: object) -> Callable[[HostedRun], None]:
    return lambda hosted: hosted.jobs[0].update(changes)


def of_hosted_runner(changed: Sequence[Json]) -> Callable[[HostedRun], None]:
    """Let the job have passed on a runner without a GPU, since only kernels/ is measured."""

    def change(hosted: HostedRun) -> None:
        listed = json.loads(file_of(hosted.root).read_text())
        write(file_of(hosted.root), {**listed, "measured": ["kernels/**"]})
        hosted.artifacts.clear()
        hosted.jobs[0]["labels"] = ["ubuntu-24.04"]
        hosted.changed[:] = changed

    return change


MOVED = {"filename": "old/gemm.cu", "previous_filename": "kernels/gemm.cu"}
OTHER_RUNNER = "Its job ran on another runner"
NO_RESULT: dict[str, tuple[Callable[[HostedRun], object], str]] = {
    "cancelled": (job(conclusion="cancelled"), "Its job was cancelled"),
    "out of time": (job(conclusion="timed_out"), "Its job ran out of time"),
    "skipped": (job(conclusion="skipped"), "Its job was skipped"),
    "unknown": (job(conclusion="neutral"), "Its job ended for an unknown reason"),
    "in progress": (job(conclusion=None), "Its job ended for an unknown reason"),
    "two jobs": (
        lambda hosted: hosted.jobs.append(hosted.job("gate (NVIDIA H200)", "success")),
        "2 jobs of that name",
    ),
    "hosted runner": (job(labels=["ubuntu-24.04"]), OTHER_RUNNER),
    "a label lacks": (job(labels=["self-hosted"]), OTHER_RUNNER),
    "no labels": (job(labels=[]), OTHER_RUNNER),
    "labels unknown": (job(labels=None), OTHER_RUNNER),
    "two artifacts": (lambda hosted: hosted.upload(b"", 910), "several results of that name"),
    "after the job": (
        lambda hosted: hosted.artifacts[0].update(created_at="2026-11-20T12:00:01Z"),
        "Its job left no result",
    ),
    "measured file": (of_hosted_runner([{"filename": "kernels/gemm.cu"}]), OTHER_RUNNER),
    "moved away": (of_hosted_runner([MOVED]), OTHER_RUNNER),
    "more than GitHub names": (
        of_hosted_runner([{"filename": f"docs/{number}"} for number in range(3000)]),
        OTHER_RUNNER,
    ),
}


@pytest.mark.parametrize(("change", "words"), NO_RESULT.values(), ids=NO_RESULT)
def test_what_github_does_not_confirm_is_no_result(
    hosted: HostedRun, change: Callable[[HostedRun], object], words: str
) -> None:
    passes(hosted)
    change(hosted)
    assert hosted.comment() is ExitStatus.OK
    assert words in hosted.body
    assert "within tolerance (" not in hosted.body
    assert hosted.storage.asked == []


def test_a_hosted_job_passes_where_nothing_that_is_measured_changed(hosted: HostedRun) -> None:
    passes(hosted)
    of_hosted_runner([{"filename": "README.md"}])(hosted)
    hosted.said(f"{MARK}old")
    hosted.comment()
    assert "nothing that is measured changed" in hosted.body


@pytest.mark.parametrize("name", ["gate (NVIDIA H200)", "performance / gate (NVIDIA H200)"])
def test_an_unchanged_commit_passes_by_whatever_workflow_called_the_job(
    hosted: HostedRun, name: str
) -> None:
    passes(hosted)
    hosted.jobs[0]["name"] = name
    assert hosted.comment() is ExitStatus.OK
    assert "2 within tolerance" in hosted.body


@pytest.mark.parametrize(
    ("left", "conclusion", "top", "judged"),
    [
        (unchanged(), "failure", "**NOT DECIDED** · **2 within tolerance", "PASS"),
        (slower(), "success", "**FAIL** · slower: `gemm/tiled`", "FAIL"),
    ],
)
def test_a_job_that_ended_otherwise_than_our_rules_judge_is_named_and_passes_nothing(
    hosted: HostedRun, left: Pair, conclusion: str, top: str, judged: str
) -> None:
    hosted.replace(left)
    hosted.ended(conclusion)
    assert hosted.comment() is ExitStatus.OK
    assert hosted.body.startswith(f"{MARK}{top}")
    said = f"Its job ended with `{conclusion}`, but the rules of the default branch"
    assert said in hosted.body
    assert f"judge its times as {judged}" in hosted.body


def test_an_artifact_without_a_job_of_that_name_is_not_looked_at(hosted: HostedRun) -> None:
    hosted.replace(unchanged())
    hosted.jobs = [hosted.job("which GPUs", "success"), hosted.job("gate (fast)", "success")]
    hosted.said(f"{MARK}old")
    hosted.comment()
    assert "was not measured" in hosted.body
    assert hosted.storage.asked == []


def test_a_base_that_the_pull_request_no_longer_has_is_said(
    hosted: HostedRun, capsys: pytest.CaptureFixture[str]
) -> None:
    passes(hosted)
    hosted.merge_base = OTHER
    assert hosted.comment() is ExitStatus.BAD_USAGE
    assert "measured against another base" in hosted.body
    assert "within tolerance (" not in hosted.body
    assert "measured against another base" in capsys.readouterr().err


def test_a_changed_base_is_judged_again_without_a_run(
    hosted: HostedRun, capsys: pytest.CaptureFixture[str]
) -> None:
    passes(hosted)
    hosted.comment()
    assert "2 within tolerance" in hosted.body
    hosted.pulls[0]["base"]["ref"] = "release"
    answer = Answer({"merge_base_commit": {"sha": OTHER}})
    hosted.api.on("GET", f"/repos/{HOME}/compare/release...{HEAD}", answer)
    hosted.event = {"action": "edited", "pull_request": {"number": PULL}}
    assert hosted.comment() is ExitStatus.BAD_USAGE
    assert "measured against another base" in hosted.body
    hosted.run["head_sha"] = OTHER  # no run of this head
    assert hosted.comment() is ExitStatus.OK
    assert "nothing to do" in capsys.readouterr().out


def test_what_github_does_not_answer_leaves_no_promise_on_the_comment(hosted: HostedRun) -> None:
    hosted.said(f"{MARK}> **Outdated.** Commit `x` is yet to be measured.\n\nold")
    hosted.api.on("GET", f"/repos/{HOME}/actions/runs/{RUN}/artifacts", Answer(b"", 500))
    with pytest.raises(UserError):
        hosted.comment()
    assert "not measured yet" not in hosted.body
    assert "could not be read" in hosted.body


def test_a_row_links_to_its_source(hosted: HostedRun) -> None:
    source = hosted.root / "benchmarks" / "gemm.cu"
    source.parent.mkdir()
    source.write_text("")
    left = slower()
    left.row("gemm/tiled")["source_line"] = 31
    hosted.replace(left)
    hosted.comment()
    line = f"https://github.com/{HOME}/blob/{HEAD}/benchmarks/gemm.cu#L31"
    assert line in hosted.body
    assert hosted.body.count("/blob/") == hosted.body.count("gemm.cu#L31")


def test_a_fault_of_ours_in_what_a_stranger_wrote_is_a_refusal(
    hosted: HostedRun, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("warpgauge.github.result.judge", lambda *_: [][0])
    assert hosted.comment() is ExitStatus.BAD_USAGE
    assert "Its result was refused: it is damaged" in hosted.body
    assert "IndexError" in capsys.readouterr().err


@pytest.mark.parametrize("is_new", [False, True])
@pytest.mark.parametrize("counter", ["throttled", "other_processes", "host_nodes"])
def test_a_row_that_was_disturbed_is_not_comparable(
    hosted: HostedRun, counter: str, is_new: bool
) -> None:
    left = unchanged()
    left.row("gemm/tiled")[counter] = 2.0
    if is_new:
        del left.base["benchmarks"][0]
    hosted.replace(left)
    assert hosted.comment() is ExitStatus.OK
    assert "1 not comparable" in hosted.body


def test_nothing_compared_is_no_pass(hosted: HostedRun) -> None:
    hosted.replace(pair({"host/clock_read": 1.0}))
    assert hosted.comment() is ExitStatus.OK
    assert "**NOT DECIDED**" in hosted.body


def test_what_fails_is_an_error_and_what_the_run_explains_is_marked(hosted: HostedRun) -> None:
    left = pair({"gemm/tiled": 1.05, "gemm/bad": 1.0, "sync/idle": 1.0})
    moved = [{"cause": "spills", "what": "local bytes", "before": "0", "after": "@all"}]
    lines = {"words": "n 1 → 2", "place": "a.cu:1", "lines": ["- @all"]}
    proved = [{**lines, "share": 0.9, "low": 0.8, "high": 1.0}]
    why = {"paragraph": "It spills, @all. <b>", "moved": moved, "proved": proved}
    left.row("gemm/tiled")["why"] = why
    left.candidate["benchmarks"][1] = failed("gemm/bad", "wrong result @all")
    hosted.replace(left)
    assert hosted.comment() is ExitStatus.OK
    assert "1 slower" in hosted.body
    assert "1 failed" in hosted.body
    assert "`(explanation by the run, not checked) It spills, @all. <b>`" in hosted.body
    assert "`n 1 → 2` (`a.cu:1`)<br>`- @all`<br>90" in hosted.body
    assert "(`explanation by the run, not checked`)" in hosted.body


def test_how_it_was_measured_is_read_from_the_pairs(hosted: HostedRun) -> None:
    hosted.replace(unchanged(looks=(8, 14)))
    hosted.comment()
    assert "8 pairs, and up to 14 for 2 open benchmarks" in hosted.body
