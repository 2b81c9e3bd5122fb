# SPDX-License-Identifier: Apache-2.0
"""What is forged, too large, broken or not ours gets one sentence, and nothing is written."""

from __future__ import annotations

import json
import tracemalloc
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import archives
from fake_github import TOKEN, Answer, FakeGitHub
from hosted_run import (
    ARTIFACT,
    BASE,
    HEAD,
    HOME,
    OTHER,
    RUN,
    HostedRun,
    Json,
    archive_of,
    changed,
    slower,
    text_of,
)
from hostile_text import ALIVE, RENDERER, outside_code
from warpgauge.github import api as github_api
from warpgauge.github import artifact
from warpgauge.reports import comparison_json
from warpgauge.system.errors import ExitStatus, UserError

NAME = "comparison.json"
GOOD = text_of(slower())
BLOB = f"/blob/{ARTIFACT}"


@pytest.fixture
def hosted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[HostedRun]:
    monkeypatch.setattr(github_api, "_PAUSES_S", ())
    with FakeGitHub() as api, FakeGitHub() as storage:
        yield HostedRun(tmp_path, api, storage)


def refusal(hosted: HostedRun) -> str:
    """The one sentence of a refusal, which leaves the pull request as it was."""
    with pytest.raises(UserError) as raised:
        hosted.comment()
    assert raised.value.status is ExitStatus.BAD_USAGE
    assert hosted.api.writes == []
    sentence = str(raised.value)
    assert sentence.isprintable()
    assert len(sentence) < 700
    assert TOKEN not in sentence
    return sentence


def refused(hosted: HostedRun, capsys: pytest.CaptureFixture[str]) -> str:
    """The one sentence in the log on a result that the comment names as refused, and no more."""
    assert hosted.comment() is ExitStatus.BAD_USAGE
    assert "Its result" in hosted.body or "It was measured against another base" in hosted.body
    assert "gemm/tiled" not in hosted.body
    assert "not measured yet" not in hosted.body
    assert hosted.body.partition("\n")[2].isascii() or len(hosted.body) < 1000
    sentence = capsys.readouterr().err.removeprefix("warpgauge ci comment: ").rstrip("\n")
    assert sentence.isprintable()
    assert len(sentence) < 700
    assert TOKEN not in sentence
    return sentence


DIFFERENCE = {"key": "x", "baseline": "y", "candidate": "z"}
NOTE = {"kind": "undated", "values": {}, "text": ""}
RESOURCE = {"key": "x", "words": "x", "before": "1", "after": "2", "worse": True}
FASTER = {"ratio": -0.06, "low": 0.05, "high": 0.07}


def of_side(side: str, source: str | None = None, **context: str) -> bytes:
    """A report whose first session of a side says something more."""
    document: Json = json.loads(GOOD)
    document[side]["source"] = source or document[side]["source"]
    document[side]["sessions"][0]["context"] |= context
    return json.dumps(document).encode()


def repeated(count: int, key: str, *path: str | int, **changes: object) -> bytes:
    """A report with the last item of the list at `path` so often, each with a `key` of its own."""
    document: Json = json.loads(GOOD)
    inner: Any = document
    for one in path:
        inner = inner[one]
    inner[:] = [{**inner[-1], **changes, key: f"a/{number}"} for number in range(count)]
    return json.dumps(document, separators=(",", ":")).encode()


def verdicts(index: int = 0, **changes: object) -> bytes:
    """A report one of whose verdicts says something else: the regression's, or the other."""
    document: Json = json.loads(GOOD)
    document["verdicts"][index] |= changes
    return json.dumps(document).encode()


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"event": "pull_request_target"}, "belongs to the event 'pull_request_target'"),
        ({"path": ".github/workflows/other.yml@gpu.yml"}, "'.github/workflows/other.yml'"),
        ({"id": RUN + 1}, "does not match GitHub's answer"),
        ({"repository": {"full_name": "warp/other"}}, "does not match GitHub's answer"),
        ({"head_sha": "main"}, "does not match GitHub's answer"),
        ({"html_url": "https://x/) @all ["}, "as html_url"),
        ({"run_attempt": None}, "no number called run_attempt"),
    ],
)
def test_a_run_of_something_else_is_refused(hosted: HostedRun, changes: Json, words: str) -> None:
    hosted.run |= changes
    assert words in refusal(hosted)


def test_a_number_in_the_artifact_or_in_the_comparison_is_passed_over(hosted: HostedRun) -> None:
    hosted.run["path"] += "@refs/pull/17/merge"  # as GitHub may write it
    hosted.artifacts.clear()
    content = changed(slower(), {"pull_request": 1, "number": 1, "html": 1})
    hosted.upload(archives.archive(("pr_number", b"1"), ("NR", b"1"), (NAME, content)))
    hosted.comment()
    assert [one.path for one in hosted.api.writes] == [f"/repos/{HOME}/issues/17/comments"]


@pytest.mark.parametrize(
    ("archive", "words"),
    [
        (b"", "is not a ZIP"),
        (b"<html>", "is not a ZIP"),
        (archives.archive((NAME, GOOD), (NAME, GOOD)), "twice"),
        (archives.archive((NAME, archive_of(GOOD))), "is not UTF-8"),
        (archives.packed([(NAME.encode(), archives.gigabyte(), 2**30)]), "of more than"),
        (archives.packed([(NAME.encode(), archives.gigabyte(), 99)]), "damaged"),
    ],
)
def test_a_forged_archive_is_refused(
    hosted: HostedRun, archive: bytes, words: str, capsys: pytest.CaptureFixture[str]
) -> None:
    hosted.artifacts.clear()
    hosted.upload(archive)
    tracemalloc.start()
    try:
        sentence = refused(hosted, capsys)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert words in sentence
    assert sentence.startswith("the artifact warpgauge-nvidia-h200 ") or NAME in sentence
    assert peak < 2**27  # the half is what reading any file makes room for


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"", "ends in the middle"),
        (b"\xff", "is not UTF-8"),
        (b"nonsense", "is not JSON"),
        (GOOD[:-20], "ends in the middle"),
        (b"[" * 100_000 + b"]" * 100_000, "is nested too deeply"),
        (b'{"a":' * 50 + b"1" + b"}" * 50, "is nested deeper"),
        (b"[" + b"1," * 1_300_000 + b"1]", "more than 1,250,000 values"),
        (b"[]", "names no format"),
        (b"{}", "names no format"),
        (b"1" * 5000, "a number"),
        (GOOD.replace(b"comparison/2", b"comparisons/2"), "has the format 'comparisons/2'"),
        (GOOD.replace(b'"alpha": 0.01', b'"alpha": NaN'), "(alpha: "),
        (GOOD.replace(b'"alpha": 0.01', b'"alpha": 1e999'), "(alpha: "),
        (GOOD.replace(b'"alpha": 0.01', b'"alpha": 0.01, "alpha": 0.01'), "twice"),
        (verdicts(baseline_seconds=-1), "is no comparison"),
        (verdicts(outcome="FINE"), "is no comparison"),
        (verdicts(name="sync/idle"), "twice"),
        (verdicts(name=""), "is no comparison"),
        (verdicts(1, name=" "), "cannot be the name of a benchmark"),
        (verdicts(1, name="x" * 5000), "cannot be the name of a benchmark"),
        (verdicts(name="x" * 10_000_000), "a text with more than 131,072 characters"),
        (verdicts(reason="a\0b"), "with a NUL"),
        (changed(slower(), {"x" * 200_000: 1}), "a text with more than"),
        (text_of(slower(commit=OTHER)), f"belongs to commit '{OTHER}', not to {HEAD}"),
        (text_of(slower(commit=f"{HEAD[:39]}")), "belongs to commit"),
        (text_of(slower(gpu="NVIDIA A100")), "on the GPU 'NVIDIA A100'"),
        (of_side("candidate", source="baseline"), "is a baseline, not a run file"),
        (of_side("baseline", programs="/sbin"), "another project's programs"),
        (of_side("candidate", programs=""), "another project's programs"),
        (changed(slower(), {"notes": [NOTE] * 1001}), "has more than 1,000 notes"),
        (changed(slower(), {"differences": [DIFFERENCE] * 1001}), "more than 1,000 differences"),
        (verdicts(resources=[RESOURCE] * 101), "has more than 100 resources of a verdict"),
        (repeated(20_001, "name", "verdicts", counters={}, resources=[]),
         "has more than 20,000 verdicts"),
        (repeated(1001, "key", "baseline", "sessions"), "has more than 1,000 sessions of a side"),
        (verdicts(1, change=FASTER), "'sync/idle' has a change, interval and bound"),
        (verdicts(1, bound=-0.5), "'sync/idle' has a change, interval and bound"),
        (verdicts(1, bound=None), "'sync/idle' is PASS, but its numbers"),
        (verdicts(1, p=None), "'sync/idle' is PASS, but its numbers"),
        (verdicts(1, evidence="screened"), "'sync/idle' was not measured in pairs"),
        (verdicts(1, evidence="none", processes=None), "'sync/idle' was not measured in pairs"),
        (text_of(slower(base=OTHER)), f"was measured against '{OTHER}', not against {BASE}"),
        (of_side("candidate", filter="gemm"), "was measured with another filter"),
        (of_side("candidate", families_left_out="gemm"), "was measured with --programs"),
    ],
)  # fmt: skip
def test_a_forged_comparison_is_refused(
    hosted: HostedRun, content: bytes, words: str, capsys: pytest.CaptureFixture[str]
) -> None:
    hosted.artifacts.clear()
    hosted.upload(archives.archive((NAME, content), method=0))
    assert words in refused(hosted, capsys)


def test_one_forged_artifact_is_named_and_all_others_are_posted(
    hosted: HostedRun, capsys: pytest.CaptureFixture[str]
) -> None:
    hosted.gpus({"slug": "nvidia-h200", "name": "NVIDIA H200"}, {"slug": "b", "name": "B"})
    hosted.jobs.append(hosted.job("gate (B)"))
    hosted.upload(archive_of(b"{}"), 910, "b")
    assert hosted.comment() is ExitStatus.BAD_USAGE
    assert "Its result was refused" in hosted.body
    assert "gemm/tiled" in hosted.body
    assert "warpgauge-b/comparison.json" in capsys.readouterr().err


@pytest.mark.parametrize(
    "text",
    [
        "@warp/maintainers #1 GH-2 https://evil.example www.evil.example",
        "</code></td><script>alert(1)</script><img src=x onerror=alert(1)>",
        "](https://evil.example) ![x](https://evil.example/x.png) `` ` | \\|",
        "<!-- warpgauge comparison -->\n\n# All is well\r\n- [x] done",
        "\n```\n<script>x</script>\n~~~\n'; echo $(id) `id` #",
        "gemm\u202e\u2066/dellit\u200b\ufeff",
        "\ud800\U0001f600\x1b[31m##[group]",
        "x" * 4096,
    ],
)
def test_foreign_text_is_read_and_does_nothing(hosted: HostedRun, text: str) -> None:
    document: Json = json.loads(GOOD)
    document["verdicts"][0] |= {"name": text, "reason": text, "accepted": text}
    document["notes"] = [{"kind": "no_gpu", "values": {"reason": text}, "text": text}]
    document["refusal"] = None
    document["candidate"]["path"] = text
    document["differences"] = [{"key": text, "baseline": text, "candidate": text}]
    content = json.dumps(document).encode()
    headline = comparison_json.document(comparison_json.load(content.decode())).headline
    hosted.replace(json.dumps(document | {"headline": headline}).encode())
    hosted.comment()
    assert len(hosted.body) <= 65_536
    rendered = RENDERER.render(hosted.body)
    assert "<script" not in rendered
    assert "<img" not in rendered
    assert rendered.count("<a ") == 3  # the run, its job, and what that left
    ours = hosted.body.partition("\n\n")[2]
    assert not ALIVE.search(outside_code(RENDERER.render(ours)))
    assert all(one.isprintable() or one == "\n" for one in hosted.body.replace("\xa0", " "))


def test_an_artifact_that_says_it_is_too_large_or_expired_is_not_fetched(
    hosted: HostedRun, capsys: pytest.CaptureFixture[str]
) -> None:
    hosted.artifacts[0]["size_in_bytes"] = artifact.ARCHIVE_LIMIT_BYTES + 1
    assert "is larger than 32 MiB" in refused(hosted, capsys)
    hosted.artifacts[0]["expired"] = True
    assert "has expired" in refused(hosted, capsys)
    assert not hosted.storage.asked


def test_a_download_larger_than_it_was_said_to_be_is_aborted(
    hosted: HostedRun, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(artifact, "ARCHIVE_LIMIT_BYTES", 10_000)
    hosted.storage.on("GET", BLOB, Answer(bytes(1_000_000), headers={"Content-Length": ""}))
    assert "larger than 10000 bytes" in refused(hosted, capsys)


@pytest.mark.parametrize(
    "path",
    [
        *(f"/actions/runs/{RUN}{of_run}" for of_run in ("", "/jobs", "/artifacts")),
        *("/pulls", f"/actions/artifacts/{ARTIFACT}/zip", BLOB, "/issues/17/comments"),
    ],
)
def test_whatever_github_fails_at_no_result_is_posted(hosted: HostedRun, path: str) -> None:
    asked = hosted.storage if path == BLOB else hosted.api
    asked.on("GET", path if path == BLOB else f"/repos/{HOME}{path}", Answer(b"", 500))
    with pytest.raises(UserError, match="500"):
        hosted.comment()
    bodies = [str(one.body["body"]) for one in hosted.api.writes]
    assert all("**NOT DECIDED**" in one and "could not be read" in one for one in bodies)
    assert all("gemm/tiled" not in one for one in bodies)
