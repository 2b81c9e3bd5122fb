# SPDX-License-Identifier: Apache-2.0
"""What is forged, too large, broken or not ours gets one sentence, and nothing is written."""

from __future__ import annotations

import copy
import tracemalloc
from collections.abc import Callable

import pytest

import archives
from builders import baseline, context, google, google_row, row
from fake_github import TOKEN, Answer
from gate_pair import HEAD, MEMBERS, OTHER, Json, Pair, archive_of, slower
from hosted_run import ARTIFACT, HOME, RUN, HostedRun
from hostile_text import TEXTS, require_harmless
from warpgauge.github import artifact
from warpgauge.system.errors import ExitStatus, UserError

NAME = MEMBERS[0]
GOOD, OTHERS = slower().files()[0], (MEMBERS[1], slower().files()[1])
BLOB = f"/blob/{ARTIFACT}"


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
    assert "Its result was refused: " in hosted.body
    assert "1 slower" not in hosted.body
    assert "not measured yet" not in hosted.body
    assert len(hosted.body) < 2000
    sentence = capsys.readouterr().err.removeprefix("warpgauge ci comment: ").rstrip("\n")
    assert sentence.isprintable()
    assert len(sentence) < 700
    assert TOKEN not in sentence
    return sentence


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"event": "pull_request_target"}, "was started by 'pull_request_target'"),
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


def test_a_number_in_the_artifact_is_passed_over(hosted: HostedRun) -> None:
    hosted.run["path"] += "@refs/pull/17/merge"  # as GitHub may write it
    hosted.artifacts.clear()
    hosted.upload(archives.archive(("pr_number", b"1"), ("NR", b"1"), (NAME, GOOD), OTHERS))
    hosted.comment()
    assert [one.path for one in hosted.api.writes] == [f"/repos/{HOME}/issues/17/comments"]


@pytest.mark.parametrize(
    ("archive", "words"),
    [
        (b"", "is not a ZIP"),
        (b"<html>", "is not a ZIP"),
        (archives.archive((NAME, GOOD), (NAME, GOOD)), "twice"),
        (archives.archive((NAME, archive_of(slower())), OTHERS), "zero bytes"),
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
    assert "the artifact warpgauge-nvidia-h200 " in sentence or NAME in sentence
    assert peak < 2**27  # the half is what reading any file makes room for


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"\xff", "is not UTF-8"),
        (GOOD[:-20], "ends in the middle"),
        (b"[" * 100_000 + b"]" * 100_000, "is nested too deeply"),
        (b"[" + b"1," * 1_300_000 + b"1]", "more than 1,250,000 values"),
        (b"{}", "benchmarks"),
        (GOOD.replace(b"run/1", b"run/9"), "has the format 'run/9'"),
        (GOOD.replace(b'"gemm/tiled"', b'"\\ud800"'), "surrogate"),
    ],
)
def test_a_file_that_cannot_be_read_is_refused(
    hosted: HostedRun, content: bytes, words: str, capsys: pytest.CaptureFixture[str]
) -> None:
    hosted.artifacts.clear()
    hosted.upload(archives.archive((NAME, content), OTHERS, method=0))
    assert words in refused(hosted, capsys)


def of_side(side: str, **changes: object) -> Callable[[Pair], object]:
    return lambda left: getattr(left, side)["context"].update(changes)


def of_row(**changes: object) -> Callable[[Pair], object]:
    return lambda left: left.row("gemm/tiled").update(changes)


def instead(side: str, document: Json) -> Callable[[Pair], object]:
    return lambda left: setattr(left, side, document)


RECORDED = baseline([row("gemm/tiled", process_medians={"s": [1.0]})], {"s": context()})
LINES = {"words": "n 1 → 2", "place": "a.cu:1", "lines": [], "share": 1.0, "low": -1.0, "high": 1e3}
FORGED: list[tuple[Callable[[Pair], object], str]] = [
    *(
        (of_side(side, **{key: value}), f"its {side} states {key} '{value}', not '")
        for side, key, value in (
            *(("candidate", "commit", commit) for commit in (OTHER, HEAD[:39])),
            *((side, "dirty", "true") for side in ("base", "candidate")),
            *((side, "inject", "work=2") for side in ("base", "candidate")),
            *(("base", "filter", "gemm"), ("candidate", "filter", "gemm")),
            *(("candidate", "not_built", "sync"), ("base", "not_built", "gemm")),
            *(("base", "build_dir", "x"), ("candidate", "manifest", "x")),
            *(("base", "pair_side", "candidate"), ("base", "boot_id", "boot-2")),
            *(("base", "driver_version", "590"), ("base", "suite", "full")),
        )
    ),
    (of_side("candidate", gpu_name="NVIDIA A100"), "its base states gpu_name 'NVIDIA H200', not"),
    (of_side("candidate", gpu_uuid="GPU-2"), "its base states gpu_uuid 'GPU-1', not 'GPU-2'"),
    (of_side("base", isolated="no (x)"), "states isolated 'no (x)', not ''"),
    (
        lambda left: [side["context"].pop("gpu_uuid") for side in left.sides],
        "does not state gpu_uu",
    ),
    (of_side("candidate", programs="/sbin"), "its candidate is of another project's programs"),
    (of_side("base", programs=""), "its base is of another project's programs"),
    (of_side("base", pair_id="other"), "its two run files are not of one pair"),
    (instead("base", RECORDED), "run-base.json is a baseline, not a run file"),
    (instead("candidate", google([google_row("gemm/tiled", 1.0)])), "run.json is a Google"),
    (of_row(name="sync/idle"), "is in the file twice"),
    (of_row(process_medians=[-1.0]), "must be positive"),
    (of_row(process_rounds=[1, 2]), "'process_rounds' has 2 entries"),
    (of_row(pairs=["a"]), "'pairs'"),
    (of_row(why="because"), "'why' is not a paragraph"),
    (of_row(why={"paragraph": "", "proved": [LINES | {"share": 1e9}]}), "paragraph and a list"),
    (of_row(why={"paragraph": "", "proved": [LINES] * 99}), "is not a paragraph and"),
]


@pytest.mark.parametrize(("forge", "words"), FORGED, ids=[words for _, words in FORGED])
def test_what_cannot_be_the_pairs_of_this_pull_request_is_refused(
    hosted: HostedRun,
    forge: Callable[[Pair], object],
    words: str,
    capsys: pytest.CaptureFixture[str],
) -> None:
    left = copy.deepcopy(slower())
    forge(left)
    hosted.replace(left)
    assert words in refused(hosted, capsys)


def test_pairs_of_another_gpu_on_both_sides_are_refused(
    hosted: HostedRun, capsys: pytest.CaptureFixture[str]
) -> None:
    for gpu in ("NVIDIA A100", ""):
        hosted.replace(slower(gpu=gpu))
        assert f"states gpu_name '{gpu}', not 'NVIDIA H200'" in refused(hosted, capsys)


def test_more_benchmarks_than_any_suite_has_are_refused(
    hosted: HostedRun, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(artifact, "MOST_ROWS", 1)
    assert "holds more than 1 benchmarks" in refused(hosted, capsys)


def test_one_forged_artifact_is_named_and_all_others_are_posted(
    hosted: HostedRun, capsys: pytest.CaptureFixture[str]
) -> None:
    hosted.gpus({"slug": "nvidia-h200", "name": "NVIDIA H200"}, {"slug": "b", "name": "B"})
    hosted.jobs.append(hosted.job("gate (B)"))
    hosted.upload(archive_of((b"{}", b"{}")), 910, "b")
    assert hosted.comment() is ExitStatus.BAD_USAGE
    assert "Its result was refused" in hosted.body
    assert "gemm/tiled" in hosted.body
    assert "warpgauge-b/runs/run-base.json" in capsys.readouterr().err


@pytest.mark.parametrize("text", TEXTS)
def test_foreign_text_is_read_and_does_nothing(hosted: HostedRun, text: str) -> None:
    left = slower(name=f"gemm/{text}", cpu_model=text, flags=text)
    left.candidate["context"]["cpu_model"] = f"{text} more"
    moved = [{"cause": text, "what": text, "before": text, "after": text}]
    slow = left.row(f"gemm/{text}")
    proved = [{**LINES, "words": text, "place": text, "lines": [text] * 3, "note": text}]
    slow |= {"label": text, "why": {"paragraph": text, "moved": moved, "proved": proved}}
    left.candidate["benchmarks"].append({"name": "sync/bad", "error_occurred": True,
                                         "error_message": text, "real_time": 0})  # fmt: skip
    hosted.replace(left)
    hosted.comment()
    assert "1 slower" in hosted.body
    assert len(hosted.body) <= 65_536
    # The run, its job, and what that left.
    require_harmless(hosted.body, links=3)


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
