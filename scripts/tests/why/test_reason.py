# SPDX-License-Identifier: Apache-2.0
"""What is told of a cause, whatever the names in it, and of machine code without a measurement."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from counter_sets import kernel
from sass import built
from traces import WORK, call, range_of
from warpgauge.measure import build, toolkit
from warpgauge.measure.discovery import Binary
from warpgauge.system.errors import ExitStatus
from warpgauge.why import explain, reason
from warpgauge.why.causes import causes
from warpgauge.why.code_causes import code_changes, is_same_code
from warpgauge.why.cupti import Activity, Call, device_of
from warpgauge.why.evidence import Evidence
from warpgauge.why.machine_code import Instruction, Kernel
from warpgauge.why.reason import Reason, Reasons


def code(*opcodes: str, name: str = "f") -> dict[str, Kernel]:
    made = tuple(Instruction(16 * n, "", one, ("R1",), "k.cu:3") for n, one in enumerate(opcodes))
    return {name: Kernel(name, made, " ".join(opcodes))}


def explained(before: Evidence, after: Evidence, slowdown: float, name: str = "a/b") -> Reason:
    told = causes(before, after, slowdown)
    same = is_same_code(before, after)
    return Reason(name, told, code_changes(before.code, after.code), (before, after), same)


def test_every_format_tells_the_same_shares() -> None:
    calls = {"cudaLaunchKernel": Call(1.0, 2e-6)}
    before = Evidence(2e-6, True, calls=calls)
    after = Evidence(3e-6, True, calls={**calls, "cudaMemsetAsync": Call(1.0, 8e-7)})
    found = Reasons((explained(before, after, 0.5),))
    (one,) = json.loads(reason.document(found))["benchmarks"]
    assert (one["causes"][0]["key"], round(one["unexplained"], 2)) == ("added_memset", 0.2)
    for text in (reason.plain(found), reason.markdown(found)):
        assert "80 %" in text
        assert "cudaMemsetAsync" in text
    assert found.exit_status is ExitStatus.OK


def test_a_hostile_name_cannot_leave_its_line_or_cell() -> None:
    found = Reasons((explained(Evidence(1.0), Evidence(2.0), 1.0, "a|b\n<x>\x1b[31m"),))
    for text in (reason.plain(found), reason.markdown(found)):
        assert "\x1b" not in text
        assert "b\n" not in text
    assert "<x>" not in reason.markdown(found)


def test_the_same_machine_code_is_said_and_excludes_causes_of_code() -> None:
    stalls = {"wait": 4.0, "selected": 1.0}
    slow = kernel({**stalls, "long_scoreboard": 9.0}, instructions=5e8, local_sectors=5e7)
    sides = [
        Evidence(one["time"], counters=one, code=code("FADD", "EXIT"), code_is_whole=True)
        for one in (kernel(stalls, instructions=4e8), slow)
    ]
    found = explained(sides[0], sides[1], sides[1].seconds / sides[0].seconds - 1.0)
    assert found.same_code
    assert "machine code is the same" in found.paragraph
    assert found.explanation is not None
    assert "spills" not in {one.key for one in found.explanation.causes}


def test_what_became_faster_has_nothing_to_explain() -> None:
    for slowdown, words in ((-0.05, "a/b is 5 % faster."), (0.0, "a/b is not slower.")):
        paragraph = explained(Evidence(1.0), Evidence(1.0 + slowdown), slowdown).paragraph
        assert paragraph == f"{words} There is nothing to explain."


def test_the_same_code_is_not_said_of_kernels_of_which_some_are_unknown() -> None:
    own = code("FADD", "EXIT")
    found = explained(Evidence(1.0, code=own, code_is_whole=True), Evidence(2.0, code=own), 1.0)
    assert not found.same_code


def test_kernels_of_one_template_are_compared() -> None:
    before, after = (f"_ZN1a4tileILi{n}EEEvPf" for n in (128, 64))  # a::tile<n>(float*)
    sides = [
        Evidence(1.0, code=code("LDG.E.128", "EXIT", name=before)),
        Evidence(2.0, code=code("LDG.E", "EXIT", name=after)),
    ]
    (change,) = code_changes(*(one.code for one in sides)).values()
    assert change.widths
    sides[1] = Evidence(2.0, code={**(sides[1].code or {}), **code(name="_ZN1a4tileILi2EEEvPf")})
    assert not code_changes(*(one.code for one in sides))


def test_a_register_that_is_spilled_is_told_from_an_array() -> None:
    before = Evidence(1e-5, code=code("FADD", "EXIT"))
    ((name, kernel),) = code("STL", "LDL", "FADD", "EXIT").items()
    spilled = tuple(replace(one, is_spill=one.opcode == "STL") for one in kernel.code)
    words = []
    for one in (kernel, replace(kernel, code=spilled)):
        (cause,) = causes(before, Evidence(2e-5, code={name: one}), 1.0).causes
        assert cause.key == "spills"
        words.append(cause.words)
    assert "array" in words[0]
    assert "array" not in words[1]


def test_without_counters_the_code_names_causes() -> None:
    before = Evidence(1e-5, code=code("LDG.E.128", "FADD", "EXIT"))
    for after, key in (
        (("LDG.E", "LDG.E", "LDG.E", "LDG.E", "FADD", "EXIT"), "narrower"),
        (("LDG.E.128", "STL", "LDL", "FADD", "EXIT"), "spills"),
        (("LDG.E.128", "F2F.F64.F32", "DADD", "EXIT"), "fp64"),
    ):
        told = causes(before, Evidence(2e-5, code=code(*after)), 1.0)
        assert [(one.key, one.share) for one in told.causes] == [(key, None)]


def test_without_a_measurement_there_is_the_code_alone() -> None:
    sides = [Evidence(1.0, code=code(*words)) for words in (("FADD",), ("DADD", "EXIT"))]
    found = Reason(
        "a/b", None, code_changes(*(one.code for one in sides)), missing=("There is no GPU.",)
    )
    assert Reasons((found,)).exit_status is ExitStatus.NOT_MEASURED
    assert "There is no GPU." in found.paragraph
    assert any("FP64" in line for line in found.code_lines)


def test_without_counters_changed_code_is_told_but_no_cause() -> None:
    before = Evidence(1.0, code=code("FADD", "FMUL", "EXIT"))
    after = Evidence(1.3, code=code("FMUL", "FADD", "EXIT"))
    paragraph = explained(before, after, 0.3).paragraph
    assert "unknown" in paragraph
    assert "f changed: as many instructions of each kind" in paragraph


_SCALE = """
template <int N> __global__ void scale(TYPE* x) { x[threadIdx.x] *= N; }
template __global__ void scale<ARGUMENT>(TYPE*);
__global__ void other(float* x) { x[threadIdx.x] = ADDED; }
"""


def by_code(folder: Path, *texts: str) -> Reason:
    """Of two programs, by what their source replaces of the above."""
    pair = [
        Binary(built(folder / str(number), text), ("a/b",)) for number, text in enumerate(texts)
    ]
    return explain.by_code("a/b", (pair[0], pair[1]), "There is no GPU.")


def scale(argument: int = 3, added: int = 1) -> str:
    text = _SCALE.replace("ARGUMENT", str(argument)).replace("ADDED", str(added))
    return text.replace("TYPE", "float")


def test_two_programs_tell_which_kernels_changed(tmp_path: Path) -> None:
    assert "the same machine code" in by_code(tmp_path / "same", scale(), scale()).paragraph
    changed = by_code(tmp_path / "changed", scale(), scale(added=2)).paragraph
    assert "1 kernel of its program changed" in changed
    assert "'other'" in changed
    renamed = by_code(tmp_path / "renamed", scale(), scale(argument=5))
    assert "1 kernel of its program changed" in renamed.paragraph
    assert "alone" not in renamed.paragraph
    added = by_code(tmp_path / "added", scale(), scale().replace("other", "another")).paragraph
    assert "2 kernels are only on one side" in added


def test_programs_that_cannot_be_read_are_not_called_the_same(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr(toolkit, "packaged", lambda: tmp_path)
    monkeypatch.setattr(build, "cuda_compiler", lambda: None)
    pair = Binary(tmp_path / "a", ("a/b",)), Binary(tmp_path / "b", ("a/b",))
    found = explain.by_code("a/b", pair, "There is no GPU.")
    assert "cuobjdump is missing" in found.paragraph
    assert "same" not in found.paragraph


def test_what_the_device_does_in_an_operation_is_counted() -> None:
    work = [
        Activity("kernel", WORK, 300, 400, correlation=1),
        Activity("memset", "", 400, 450, correlation=1),
        Activity("memcpy", "pageable to device", 500, 550, correlation=1),
        Activity("kernel", WORK, 900, 1000, correlation=2),  # of a timed replay
    ]
    trace = [
        *range_of("operation", 10, 20),
        *range_of("launch", 100, 200),
        call("cudaGraphLaunch_v10000", 110, 190, correlation=1),
        call("cudaGraphLaunch_v10000", 800, 850, correlation=2),
        *work,
    ]
    found = device_of(trace)
    kernel = f"kernel {WORK}"
    kinds = [kernel, "memcpy pageable to device", "memset"]
    assert {kind: one.count for kind, one in found.items()} == dict.fromkeys(kinds, 1.0)
    assert round(found[kernel].seconds * 1e9) == 100
