# SPDX-License-Identifier: Apache-2.0
"""What cannot have changed: what the comment makes of it, from run files and from its artifact."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

import archives
from builders import STEADY, baseline, context, row, write
from gate_pair import BASE, HEAD, OTHER, pair, unchanged
from hosted_run import HostedRun
from hostile_text import TEXTS, require_harmless
from warpgauge.github.artifact import CHANGED_FILE
from warpgauge.reports.formats.markdown import MARK
from warpgauge.system.errors import ExitStatus
from warpgauge.why.changes import Changes, KernelChange, ProgramChange, Use

SAME = {"same_code": "gemm/gone\ngemm/tiled"}
BASELINE = "baselines/nvidia-h200/gemm.json"
KERNEL = KernelChange(
    "softmax<float>", 90, ("bench_reduce",), Use(32, 0, 64, 0, 100), Use(48, 2, 64, 0, 110)
)
FOUND = Changes(
    BASE, HEAD, (90,), ("gemm/gone", "gemm/tiled"),
    (ProgramChange("bench_reduce", ("reduce/softmax",), ("softmax.cu.o",), 1),), (), (), (KERNEL,),
)  # fmt: skip


def upload(hosted: HostedRun, content: bytes | Changes, number: int = 910) -> None:
    """Add the artifact of the job that says what changed."""
    if isinstance(content, Changes):
        content = msgspec.json.encode(content)
    hosted.upload(archives.streamed((CHANGED_FILE, content)), number, "changed")


def with_changes(**changes: Any) -> Changes:  # noqa: ANN401
    return msgspec.structs.replace(FOUND, **changes)


@pytest.fixture
def passing(hosted: HostedRun) -> HostedRun:
    """Nothing changed; the baseline has a benchmark more, whose code is equal."""
    hosted.replace(unchanged().context(**SAME))
    hosted.ended("success")
    rows = [row(name, process_medians={"s": [*STEADY]}) for name in ("gemm/tiled", "gemm/gone")]
    told = baseline(rows, {"s": context(gpu_name="NVIDIA H200")}, "NVIDIA H200")
    text = write(hosted.root / BASELINE, told).read_text()
    for commit in (BASE, HEAD):
        hosted.file(BASELINE, text, commit)
    return hosted


def test_what_was_left_out_is_neither_missing_nor_passed_and_the_comment_says_so(
    passing: HostedRun,
) -> None:
    assert passing.comment() is ExitStatus.OK
    assert passing.body.startswith(f"{MARK}**PASS**")
    assert "2 within tolerance" in passing.body
    assert "missing" not in passing.body
    said = "2 of 3 benchmarks cannot have changed: their machine code and host code are equal."
    assert f"{said} 1 of them were measured as a control." in passing.body
    assert "gemm/gone" not in passing.body


def test_a_control_that_is_slower_fails(hosted: HostedRun) -> None:
    hosted.replace(pair({"gemm/tiled": 1.05, "sync/idle": 1.0}).context(**SAME))
    hosted.comment()
    assert hosted.body.startswith(f"{MARK}**FAIL** · slower: `gemm/tiled`")
    assert "1 benchmark that cannot have changed is slower" in hosted.body


def test_sides_that_leave_out_others_are_no_pair(hosted: HostedRun) -> None:
    left = unchanged().context(**SAME)
    left.base["context"]["same_code"] = "gemm/tiled"
    hosted.replace(left)
    assert hosted.comment() is ExitStatus.BAD_USAGE
    assert "same_code" in hosted.body


def test_the_changes_of_the_code_stand_behind_a_line(passing: HostedRun) -> None:
    upload(passing, FOUND)
    assert passing.comment() is ExitStatus.OK
    table = passing.body[passing.body.index("<details><summary>2 benchmarks cannot have") :]
    assert "1 kernel did</summary>" in table
    assert "`bench_reduce`: 1 benchmark can have changed: 1 kernel" in table
    kernel = "| `softmax<float> (sm_90)` | 32 → 48 | 0 → 2 | 64 | 0 | 100 → 110 |"
    assert kernel in table


def test_what_exceeds_the_policy_is_not_folded(passing: HostedRun) -> None:
    upload(passing, with_changes(beyond_policy=("softmax takes 48 registers",)))
    passing.comment()
    assert "<details open><summary>2 benchmarks cannot" in passing.body
    assert "Over a limit of the policy: `softmax takes 48 registers`." in passing.body


def test_ten_kernels_are_shown_and_what_is_too_long_is_linked(passing: HostedRun) -> None:
    upload(passing, with_changes(kernels=(KERNEL,) * 14))
    passing.comment()
    assert passing.body.count("softmax<float>") == 10
    assert "4 changed kernels more than are shown" in passing.body
    passing.artifacts.pop()
    long = ProgramChange("bench" * 20, (), ("part" * 50,) * 3, 1)
    upload(passing, with_changes(can_have_changed=(long,) * 500), 911)
    passing.comment()
    assert "It does not fit here: [see the run](" in passing.body
    assert "partpart" not in passing.body


@pytest.mark.parametrize("text", TEXTS)
def test_hostile_names_are_shown_and_do_nothing(passing: HostedRun, text: str) -> None:
    use = KERNEL.before
    upload(
        passing,
        with_changes(
            can_have_changed=(ProgramChange(text, (text,), (text,), 1),),
            kernels=(KernelChange(text, 90, (text,), use, None, (text,)),),
            beyond_policy=(text,),
        ),
    )
    assert passing.comment() is ExitStatus.OK
    require_harmless(passing.body, links=3)


REFUSED: dict[str, tuple[bytes | Changes, str]] = {
    "another base": (with_changes(base=OTHER), "its base is"),
    "another head": (with_changes(candidate=OTHER), "its candidate is"),
    "a working tree": (with_changes(candidate="the working tree\x1b[2J"), "its candidate is"),
    "another format": (b'{"warpgauge_format": "fleet/1"}', "is no changed/1"),
    "no JSON": (b"{", "ends in the middle"),
    "too deep": (b"[" * 100_000, "nested too deeply"),
    "too large": (b" " * (9 << 20), "more than"),
    "empty": (b"", "is empty"),
}


@pytest.mark.parametrize(("content", "words"), REFUSED.values(), ids=REFUSED)
def test_a_forged_artifact_is_refused_and_the_times_are_posted(
    passing: HostedRun, content: bytes | Changes, words: str, capsys: pytest.CaptureFixture[str]
) -> None:
    upload(passing, content)
    assert passing.comment() is ExitStatus.BAD_USAGE
    said = capsys.readouterr().err
    assert words in said
    assert "\x1b" not in said
    assert passing.body.startswith(f"{MARK}**PASS**")
    assert "cannot have changed," not in passing.body
    assert "What changed in the code was refused: " in passing.body
    require_harmless(passing.body, links=3)
