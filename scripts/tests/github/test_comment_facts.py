# SPDX-License-Identifier: Apache-2.0
"""A result is posted only as far as GitHub's own facts bear it out, and by our own rule."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest

from builders import failed, write
from fake_github import Answer, FakeGitHub
from gate_pair import HEAD, OTHER, pair, slower, unchanged
from hosted_run import HOME, PULL, RUN, HostedRun
from warpgauge.github import api as github_api
from warpgauge.github.gpus import file_of
from warpgauge.reports.markdown.report import MARK
from warpgauge.system.errors import ExitStatus, UserError


@pytest.fixture
def hosted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[HostedRun]:
    monkeypatch.setattr(github_api, "_PAUSES_S", ())
    with FakeGitHub() as api, FakeGitHub() as storage:
        yield HostedRun(tmp_path, api, storage)


def passes(hosted: HostedRun) -> None:
    """Let the run have measured that nothing changed."""
    hosted.replace(unchanged())
    hosted.ended("success")


def test_an_unchanged_commit_passes(hosted: HostedRun) -> None:
    passes(hosted)
    assert hosted.comment() is ExitStatus.OK
    assert "2 within tolerance" in hosted.body


@pytest.mark.parametrize("conclusion", ["cancelled", "timed_out", "skipped", "neutral", None])
def test_a_job_that_did_not_end_by_itself_has_no_result(
    hosted: HostedRun, conclusion: str | None
) -> None:
    hosted.replace(unchanged())
    hosted.jobs[0]["conclusion"] = conclusion
    hosted.comment()
    assert "within tolerance (" not in hosted.body
    assert "Its job" in hosted.body


def test_a_job_that_failed_has_not_passed_though_its_times_do(hosted: HostedRun) -> None:
    hosted.replace(unchanged())
    hosted.ended("failure")
    assert hosted.comment() is ExitStatus.OK
    assert hosted.body.startswith(f"{MARK}**NOT DECIDED** · **2 within tolerance")
    assert "Its job ended with `failure`, but the rules of the default branch" in hosted.body
    assert "judge its times as PASS" in hosted.body


def test_a_job_that_passed_has_not_if_our_rules_find_a_regression(hosted: HostedRun) -> None:
    hosted.ended("success")
    assert hosted.comment() is ExitStatus.OK
    assert hosted.body.startswith(f"{MARK}**FAIL** · slower: `gemm/tiled`")
    assert "judge its times as FAIL" in hosted.body


def test_an_artifact_without_a_job_of_that_name_is_not_looked_at(hosted: HostedRun) -> None:
    hosted.replace(unchanged())
    hosted.jobs = [hosted.job("which GPUs", "success"), hosted.job("gate (fast)", "success")]
    hosted.said(f"{MARK}old")
    hosted.comment()
    assert "was not measured" in hosted.body
    assert hosted.storage.asked == []


def test_two_jobs_of_one_name_cannot_be_told_apart(hosted: HostedRun) -> None:
    passes(hosted)
    hosted.jobs.append(hosted.job("gate (NVIDIA H200)", "success"))
    hosted.comment()
    assert "2 jobs of that name" in hosted.body
    assert "within tolerance (" not in hosted.body


def test_a_called_workflow_s_job_has_the_caller_s_name_in_front(hosted: HostedRun) -> None:
    passes(hosted)
    hosted.jobs[0]["name"] = "performance / gate (NVIDIA H200)"
    hosted.comment()
    assert "2 within tolerance" in hosted.body


@pytest.mark.parametrize("labels", [["ubuntu-24.04"], ["self-hosted"], [], None])
def test_a_job_on_another_runner_has_no_result(hosted: HostedRun, labels: list[str] | None) -> None:
    passes(hosted)
    hosted.jobs[0]["labels"] = labels
    hosted.comment()
    assert "Its job ran on another runner" in hosted.body
    assert "within tolerance (" not in hosted.body


@pytest.mark.parametrize("files", [["README.md"], ["README.md", "kernels/gemm.cu"]])
def test_a_hosted_job_without_a_result_is_right_where_nothing_that_is_measured_changed(
    hosted: HostedRun, files: Sequence[str]
) -> None:
    told = json.loads(file_of(hosted.root).read_text())
    write(file_of(hosted.root), {**told, "measured": ["kernels/**"]})
    hosted.artifacts.clear()
    hosted.jobs[0] |= {"labels": ["ubuntu-24.04"], "conclusion": "success"}
    hosted.changed[:] = [{"filename": name} for name in files]
    hosted.said(f"{MARK}old")
    hosted.comment()
    untouched = len(files) == 1
    assert ("nothing that is measured changed" in hosted.body) is untouched
    assert ("Its job ran on another runner" in hosted.body) is not untouched


def test_a_file_that_was_moved_away_is_a_change_too(hosted: HostedRun) -> None:
    told = json.loads(file_of(hosted.root).read_text())
    write(file_of(hosted.root), {**told, "measured": ["kernels/**"]})
    hosted.artifacts.clear()
    hosted.jobs[0] |= {"labels": ["ubuntu-24.04"], "conclusion": "success"}
    hosted.changed[:] = [{"filename": "old/gemm.cu", "previous_filename": "kernels/gemm.cu"}]
    hosted.comment()
    assert "Its job ran on another runner" in hosted.body


def test_two_artifacts_of_one_name_in_one_attempt_are_refused(hosted: HostedRun) -> None:
    passes(hosted)
    hosted.upload(b"", 910)
    hosted.comment()
    assert "several results of that name" in hosted.body
    assert hosted.storage.asked == []


def test_an_artifact_from_after_the_job_is_not_its(hosted: HostedRun) -> None:
    passes(hosted)
    hosted.artifacts[0]["created_at"] = "2026-11-20T12:00:01Z"
    hosted.comment()
    assert "Its job left no result" in hosted.body


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
    assert hosted.comment("--pull-request", str(PULL)) is ExitStatus.BAD_USAGE
    assert "measured against another base" in hosted.body
    hosted.run["head_sha"] = OTHER  # no run of this head
    assert hosted.comment("--pull-request", str(PULL)) is ExitStatus.OK
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
    left.row("gemm/tiled")["why"] = {"paragraph": "It spills, @all. <b>", "moved": moved}
    left.candidate["benchmarks"][1] = failed("gemm/bad", "wrong result @all")
    hosted.replace(left)
    assert hosted.comment() is ExitStatus.OK
    assert "1 slower" in hosted.body
    assert "1 failed" in hosted.body
    assert "`(explanation by the run, not checked) It spills, @all. <b>`" in hosted.body


def test_how_it_was_measured_is_read_from_the_pairs(hosted: HostedRun) -> None:
    hosted.replace(unchanged(looks="8 12"))
    hosted.comment()
    assert "8 pairs, and up to 12 for 2 open benchmarks" in hosted.body


def test_more_files_than_github_names_are_a_change(hosted: HostedRun) -> None:
    told = json.loads(file_of(hosted.root).read_text())
    write(file_of(hosted.root), {**told, "measured": ["kernels/**"]})
    hosted.artifacts.clear()
    hosted.jobs[0] |= {"labels": ["ubuntu-24.04"], "conclusion": "success"}
    hosted.changed[:] = [{"filename": f"docs/{number}"} for number in range(3000)]
    hosted.comment()
    assert "Its job ran on another runner" in hosted.body
