# SPDX-License-Identifier: Apache-2.0
"""A result is posted only as far as GitHub's own facts bear it out, and by our own rule."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from builders import STEADY, baseline, context, row, write
from comparisons import verdict
from fake_github import Answer, FakeGitHub
from hosted_run import (
    BASE,
    HEAD,
    HOME,
    OTHER,
    PULL,
    RUN,
    RUN_URL,
    HostedRun,
    Json,
    changed,
    paired,
    slower,
    text_of,
    unchanged,
)
from warpgauge.github import api as github_api
from warpgauge.github.gpus import file_of
from warpgauge.records.model import Clock
from warpgauge.reports.markdown.report import MARK
from warpgauge.reports.markdown.text import in_sentence as code
from warpgauge.system.errors import ExitStatus, UserError
from warpgauge.verdict.comparison import Outcome, Verdict
from warpgauge.verdict.note import Kind, Note

PASSED = text_of(unchanged())
POLICY = "baselines/policy.toml"
EXPECTED = """
[[expected]]
pattern = "^gemm/tiled$"
slower_by_at_most_percent = 6
reason = "the safer kernel"
expires = 2030-01-01
"""


@pytest.fixture
def hosted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[HostedRun]:
    monkeypatch.setattr(github_api, "_PAUSES_S", ())
    with FakeGitHub() as api, FakeGitHub() as storage:
        yield HostedRun(tmp_path, api, storage)


def passes(hosted: HostedRun) -> None:
    """Let the run have measured that nothing changed."""
    hosted.replace(PASSED)
    hosted.jobs[0]["conclusion"] = hosted.run["conclusion"] = "success"


def test_an_unchanged_commit_passes(hosted: HostedRun) -> None:
    passes(hosted)
    assert hosted.comment() is ExitStatus.OK
    assert "2 of 2 unchanged" in hosted.body


@pytest.mark.parametrize("conclusion", ["cancelled", "timed_out", "skipped", "neutral", None])
def test_a_job_that_did_not_end_by_itself_has_no_result(
    hosted: HostedRun, conclusion: str | None
) -> None:
    hosted.replace(PASSED)
    hosted.jobs[0]["conclusion"] = conclusion
    hosted.comment()
    assert "unchanged" not in hosted.body
    assert "Its job" in hosted.body


@pytest.mark.parametrize(
    ("content", "conclusion"), [(PASSED, "failure"), (text_of(slower()), "success")]
)
def test_a_result_that_does_not_fit_how_its_job_ended_is_refused(
    hosted: HostedRun, content: bytes, conclusion: str, capsys: pytest.CaptureFixture[str]
) -> None:
    hosted.replace(content)
    hosted.jobs[0]["conclusion"] = conclusion
    assert hosted.comment() is ExitStatus.BAD_USAGE
    assert "does not match how its job ended" in hosted.body
    assert "unchanged" not in hosted.body
    assert "gemm/tiled" not in hosted.body
    assert f"ended with {conclusion}" in capsys.readouterr().err


def test_an_artifact_without_a_job_of_that_name_is_not_looked_at(hosted: HostedRun) -> None:
    hosted.replace(PASSED)
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
    assert "unchanged" not in hosted.body


def test_a_called_workflow_s_job_has_the_caller_s_name_in_front(hosted: HostedRun) -> None:
    passes(hosted)
    hosted.jobs[0]["name"] = "performance / gate (NVIDIA H200)"
    hosted.comment()
    assert "2 of 2 unchanged" in hosted.body


@pytest.mark.parametrize("labels", [["ubuntu-24.04"], ["self-hosted"], [], None])
def test_a_job_on_another_runner_has_no_result(hosted: HostedRun, labels: list[str] | None) -> None:
    passes(hosted)
    hosted.jobs[0]["labels"] = labels
    hosted.comment()
    assert "Its job ran on another runner" in hosted.body
    assert "unchanged" not in hosted.body


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
    assert "unchanged" not in hosted.body
    assert f"measured against '{BASE}', not against {OTHER}" in capsys.readouterr().err


def test_a_changed_base_is_judged_again_without_a_run(
    hosted: HostedRun, capsys: pytest.CaptureFixture[str]
) -> None:
    passes(hosted)
    hosted.comment()
    assert "2 of 2 unchanged" in hosted.body
    hosted.pulls[0]["base"]["ref"] = "release"
    answer = Answer({"merge_base_commit": {"sha": OTHER}})
    hosted.api.on("GET", f"/repos/{HOME}/compare/release...{HEAD}", answer)
    assert hosted.comment("--pull-request", str(PULL)) is ExitStatus.BAD_USAGE
    assert "measured against another base" in hosted.body
    hosted.run["head_sha"] = OTHER  # no run of this head
    assert hosted.comment("--pull-request", str(PULL)) is ExitStatus.OK
    assert "nothing to do" in capsys.readouterr().out


def only(**changes: object) -> bytes:
    """A pass whose first row has something written over."""
    document: Json = json.loads(PASSED)
    document["verdicts"][0] |= changes
    return json.dumps(document).encode()


CLAIMS: list[Json] = [
    {"outcome": "REGRESSION"},
    {"outcome": "IMPROVED", "tolerance": 9.0},
    {"outcome": "MISSING", "reason": "gone"},
    {"outcome": "NEW"},
    {"minimum_effect": 9.0},
    {"tolerance": 9.0},
    {"accepted": "the maintainers agreed"},
    {"reason": "all is well"},
    {"candidate_seconds": 1e-9},
    {"family": "evil"},
    {"by_time": None, "novel": 1},
    {"why": {"paragraph": "all is well", "moved": []}},
    {"resources": [{"key": "registers", "words": "x", "before": "1", "after": "2", "worse": True}]},
]


@pytest.mark.parametrize("claim", CLAIMS, ids=lambda claim: next(iter(claim)))
def test_what_a_row_claims_beside_its_numbers_changes_nothing(
    hosted: HostedRun, claim: Json
) -> None:
    passes(hosted)
    hosted.comment()
    honest = hosted.body
    hosted.replace(only(**claim))
    assert hosted.comment() is ExitStatus.OK
    assert hosted.body.replace("910", "909") == honest


def test_what_a_file_claims_of_its_rows_changes_nothing(hosted: HostedRun) -> None:
    hosted.comment()
    honest = hosted.body
    claims = {"counts": {"PASS": 2}, "exit_status": 0, "headline": "All is well.", "alpha": 1e-9}
    hosted.replace(changed(slower(), claims))
    assert hosted.comment() is ExitStatus.OK
    assert hosted.body == honest


@pytest.mark.parametrize(
    ("note", "shown"),
    [
        (Note(Kind.KERNELS_VARY, names=("gemm/tiled",)), True),
        (Note(Kind.NOT_THE_CODE, names=("gemm/tiled",)), False),
        (Note(Kind.UNCONFIRMED, flagged=1, screened=2, reason="x"), False),
    ],
)
def test_a_note_that_pairs_cannot_make_is_left_out(
    hosted: HostedRun, note: Note, shown: bool
) -> None:
    passes(hosted)
    hosted.replace(text_of(replace(unchanged(), notes=(note,))))
    hosted.comment()
    assert (note.words(code) in hosted.body) is shown


@pytest.mark.parametrize(("commit", "shown"), [(BASE, True), (OTHER, False)])
def test_how_it_was_measured_is_told_of_the_right_base(
    hosted: HostedRun, commit: str, shown: bool
) -> None:
    passes(hosted)
    hosted.replace(text_of(replace(unchanged(), method=Note(Kind.PAIRED, commit=commit, pairs=4))))
    hosted.comment()
    assert ("4 pairs" in hosted.body) is shown


def test_a_bound_beyond_the_tolerance_is_no_pass(hosted: HostedRun) -> None:
    passes(hosted)
    hosted.replace(only(bound=0.04, tolerance=0.05))
    hosted.jobs[0]["conclusion"] = "failure"
    hosted.comment()
    assert "1 inconclusive" in hosted.body


def test_the_policy_is_the_head_s(hosted: HostedRun) -> None:
    hosted.file(POLICY, EXPECTED)
    hosted.jobs[0]["conclusion"] = "success"
    assert hosted.comment() is ExitStatus.OK
    assert "1 accepted" in hosted.body
    hosted.file(POLICY, EXPECTED, BASE)  # then it accepts nothing more
    hosted.jobs[0]["conclusion"] = "failure"
    hosted.comment()
    assert "1 regression" in hosted.body


def test_a_policy_that_cannot_be_read_is_said(
    hosted: HostedRun, capsys: pytest.CaptureFixture[str]
) -> None:
    hosted.file(POLICY, "[[")
    assert hosted.comment() is ExitStatus.BAD_USAGE
    assert "The policy of its commit cannot be read" in hosted.body
    assert POLICY in capsys.readouterr().err


@pytest.fixture
def suite(hosted: HostedRun) -> HostedRun:
    """The default branch's baseline has a benchmark more than the run."""
    passes(hosted)
    times = {"process_medians": {"s": [*STEADY]}}
    rows = [row(name, **times) for name in ("gemm/tiled", "gemm/gone")]
    rows.append(row("gemm/full", full_suite=1.0, **times))
    text = write(
        hosted.root / "baselines" / "nvidia-h200" / "gemm.json",
        baseline(rows, {"s": context()}, "NVIDIA H200"),
    ).read_text()
    hosted.file("baselines/nvidia-h200/gemm.json", text)
    return hosted


def test_a_benchmark_of_the_baseline_that_is_not_in_the_result_is_missing(suite: HostedRun) -> None:
    suite.comment()
    assert "gemm/gone" in suite.body
    assert "1 missing" in suite.body
    assert "gemm/full" not in suite.body


def test_a_known_benchmark_keeps_its_clock(suite: HostedRun) -> None:
    """The host's tolerance is three times the device's."""
    document: Json = json.loads(PASSED)
    document["verdicts"][0] |= {"clock": "host", "bound": 0.025, "counters": {"host_clock": 1.0}}
    suite.replace(json.dumps(document).encode())
    suite.jobs[0]["conclusion"] = "failure"
    suite.comment()
    assert "1 inconclusive" in suite.body


def test_a_row_that_the_engine_doubts_is_no_pass(hosted: HostedRun) -> None:
    passes(hosted)
    hosted.replace(only(counters={"beyond_ceiling": 2.0}))
    hosted.jobs[0]["conclusion"] = "failure"
    hosted.comment()
    assert "1 not comparable" in hosted.body


def test_a_benchmark_that_the_head_took_out_of_the_baseline_is_not_missing(
    suite: HostedRun,
) -> None:
    suite.files.clear()
    suite.comment()
    assert "gemm/gone" not in suite.body
    assert "2 of 2 unchanged" in suite.body


def test_keys_that_are_new_or_gone_silence_nobody(hosted: HostedRun) -> None:
    passes(hosted)
    document: Json = json.loads(PASSED)
    for key in ("headline", "counts", "alpha", "differences", "notes", "method", "exit_status"):
        del document[key]
    document["novel"] = {"nested": [1]}
    for one in document["verdicts"]:
        for key in ("family", "by_time", "reason", "accepted", "resources", "minimum_effect"):
            del one[key]
        one["novel"] = 3
    hosted.replace(json.dumps(document).encode())
    assert hosted.comment() is ExitStatus.OK
    assert "2 of 2 unchanged" in hosted.body


@pytest.mark.parametrize("version", [1, 99])
def test_another_version_is_said_in_the_comment(
    hosted: HostedRun, version: int, capsys: pytest.CaptureFixture[str]
) -> None:
    hosted.replace(PASSED.replace(b"comparison/2", b"comparison/%d" % version))
    assert hosted.comment() is ExitStatus.BAD_USAGE
    assert f"comparison/{version}" in hosted.body
    assert "comparison/2" in hosted.body
    assert capsys.readouterr().err


def test_what_github_does_not_answer_leaves_no_promise_on_the_comment(hosted: HostedRun) -> None:
    hosted.said(f"{MARK}> **Outdated.** Commit `x` is yet to be measured.\n\nold")
    hosted.api.on("GET", f"/repos/{HOME}/actions/runs/{RUN}/artifacts", Answer(b"", 500))
    with pytest.raises(UserError):
        hosted.comment()
    assert "not measured yet" not in hosted.body
    assert "could not be read" in hosted.body


def test_a_row_links_to_its_source_and_the_comment_to_what_was_before(hosted: HostedRun) -> None:
    source = hosted.root / "benchmarks" / "gemm.cu"
    source.parent.mkdir()
    source.write_text("")
    slow = verdict("gemm/tiled", Outcome.REGRESSION, 0.05, source_line=31.0)
    evil: Verdict = verdict("../x", Outcome.REGRESSION, 0.05, source_line=1.0)
    hosted.replace(text_of(paired([slow, evil])))
    hosted.comment()
    line = f"https://github.com/{HOME}/blob/{HEAD}/benchmarks/gemm.cu#L31"
    assert line in hosted.body
    assert hosted.body.count("/blob/") == hosted.body.count("gemm.cu#L31")
    before = RUN_URL.replace(str(RUN), "4000")
    hosted.comments[0]["body"] = hosted.body.replace(RUN_URL, before)
    hosted.comment()
    assert f"[previous result]({before})" in hosted.body


@pytest.mark.parametrize("address", ["https://e.co/actions/runs/1", RUN_URL.replace("4242", "9")])
def test_a_benchmark_that_is_called_like_a_link_is_no_previous_result(
    hosted: HostedRun, address: str
) -> None:
    hosted.replace(text_of(slower(name=f"[run]({address})")))
    hosted.comment()
    hosted.replace(text_of(slower()))
    hosted.comment()
    assert address not in hosted.body


def test_a_fault_of_ours_in_what_a_stranger_wrote_is_a_refusal(
    hosted: HostedRun, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("warpgauge.github.result.recomputed", lambda *_: [][0])
    assert hosted.comment() is ExitStatus.BAD_USAGE
    assert "Its result was refused" in hosted.body
    assert "IndexError" in capsys.readouterr().err


@pytest.mark.parametrize("counter", ["throttled", "other_processes", "host_nodes"])
def test_a_row_that_was_disturbed_is_not_comparable(hosted: HostedRun, counter: str) -> None:
    passes(hosted)
    hosted.replace(only(counters={counter: 2.0}))
    hosted.jobs[0]["conclusion"] = "failure"
    assert hosted.comment() is ExitStatus.OK
    assert "1 not comparable" in hosted.body


@pytest.mark.parametrize("rows", [[], [verdict("host/clock_read", clock=Clock.HOST, host_clock=1)]])
def test_nothing_compared_is_no_pass(hosted: HostedRun, rows: list[Verdict]) -> None:
    hosted.replace(text_of(paired(rows)))
    assert hosted.comment() is ExitStatus.OK
    assert "**NOT DECIDED**" in hosted.body
    assert "Only the host's controls" in hosted.body


def test_a_known_benchmark_is_not_new(suite: HostedRun) -> None:
    rows = {"baseline": "absent", "candidate": "measured"}
    suite.replace(only(rows=rows, change=None, p=None, bound=None))
    suite.jobs[0]["conclusion"] = "failure"
    suite.comment()
    assert "1 not comparable" in suite.body


@pytest.mark.parametrize("name", ["gemm/tiled", "gemm/full"])
@pytest.mark.parametrize("base", ["absent", "skipped"])
def test_a_benchmark_with_a_time_in_the_baseline_is_not_skipped(
    suite: HostedRun, name: str, base: str
) -> None:
    """Not of the full suite either, nor if the head takes it out of its baseline."""
    suite.files.clear()
    rows = {"baseline": base, "candidate": "skipped"}
    suite.replace(only(name=name, rows=rows, change=None, p=None, bound=None))
    suite.comment()
    assert "1 missing" in suite.body


def test_a_policy_that_takes_too_long_ends_soon_and_is_said(
    hosted: HostedRun, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("warpgauge.github.artifact.CPU_LIMIT_S", 0.3)
    slow = '[[tolerance]]\npattern = "(a+)+$"\npercent = 5\nreason = "slow"\n'
    hosted.file(POLICY, slow)
    hosted.replace(text_of(slower(name=f"gemm/{'a' * 40}!")))
    assert hosted.comment() is ExitStatus.BAD_USAGE
    assert "takes too long" in capsys.readouterr().err


def test_an_entry_that_expired_since_the_job_still_counts(hosted: HostedRun) -> None:
    hosted.file(POLICY, EXPECTED.replace("2030-01-01", "2026-11-20"))  # the job's day
    hosted.jobs[0]["conclusion"] = "success"
    assert hosted.comment() is ExitStatus.OK
    assert "1 accepted" in hosted.body


def test_more_files_than_github_names_are_a_change(hosted: HostedRun) -> None:
    told = json.loads(file_of(hosted.root).read_text())
    write(file_of(hosted.root), {**told, "measured": ["kernels/**"]})
    hosted.artifacts.clear()
    hosted.jobs[0] |= {"labels": ["ubuntu-24.04"], "conclusion": "success"}
    hosted.changed[:] = [{"filename": f"docs/{number}"} for number in range(3000)]
    hosted.comment()
    assert "Its job ran on another runner" in hosted.body


def test_a_failure_by_resources_has_some(hosted: HostedRun) -> None:
    hosted.replace(only(by_time="PASS", outcome="REGRESSION"))
    hosted.comment()
    assert "**FAIL**" not in hosted.body


@pytest.mark.parametrize("change", [{"gpu_name": "NVIDIA A100"}, {"gpu_name": ""}])
@pytest.mark.parametrize("side", ["baseline", "candidate"])
def test_both_sides_are_of_the_gpu(hosted: HostedRun, side: str, change: Json) -> None:
    passes(hosted)
    document: Json = json.loads(PASSED)
    document[side]["sessions"][0]["context"] |= change
    hosted.replace(json.dumps(document).encode())
    assert hosted.comment() is ExitStatus.BAD_USAGE
    assert "another commit, GPU or suite" in hosted.body
