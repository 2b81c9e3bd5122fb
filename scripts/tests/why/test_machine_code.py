# SPDX-License-Identifier: Apache-2.0
"""Machine code is read with its source lines, from recorded text and from what is built here."""

from __future__ import annotations

from pathlib import Path

import pytest

from sass import built, recorded
from warpgauge.measure import toolkit
from warpgauge.system.errors import UserError
from warpgauge.why.code_change import loops_of
from warpgauge.why.machine_code import kernels_of, kind_of, parsed

_FRAMES = r"""
	.section	.text._Z3sumv,"ax",@progbits
_Z3sumv:
.text._Z3sumv:
	//## File "/cuda/targets/x86_64-linux/include/cub.cuh", line 7 inlined at "/a/b.cu", line 12
        /*0000*/                   LDC R1, c[0x0][0x28] ;
	//## File "/a/b.cu", line 13
.L_x_0:
        /*0010*/              @!UP0 BRA.U !UP1, `(.L_x_1) ;
        /*0020*/                   LDL.LU R3, [R1+0x28]   (*"SpillRefill"*)
.L_x_1:
        /*0030*/                   EXIT ;
.L_x_2:
        /*0040*/                   BRA `(.L_x_2);
        /*0050*/                   NOP;
"""


def test_an_instruction_has_its_place_in_the_code_and_in_the_source() -> None:
    (code,) = parsed(_FRAMES).values()
    assert [str(one) for one in code] == [
        "LDC R1, c[0x0][0x28]",
        "@!UP0 BRA.U !UP1, 0x30",
        "LDL.LU R3, [R1+0x28]",
        "EXIT",
    ]
    assert [one.address for one in code] == [0, 0x10, 0x20, 0x30]
    assert [one.is_spill for one in code] == [False, False, True, False]


def test_a_line_of_the_toolkit_is_told_by_where_it_is_used() -> None:
    (code,) = parsed(_FRAMES).values()
    assert [one.source for one in code] == ["b.cu:12", "b.cu:13", "b.cu:13", "b.cu:13"]


def test_a_loop_is_found_by_its_back_edge() -> None:
    (loop,) = loops_of(recorded("sum").code)
    assert (loop.source, loop.depth) == ("pair.cu:10", 1)
    names = [kind_of(recorded("sum").code[number]).name for number in loop.body]
    assert names.count("global load") == names.count("FP32") == names.count("branch") == 1


def test_code_that_lies_behind_and_jumps_back_is_no_loop() -> None:
    text = """
	.section	.text.kernel,"ax",@progbits
        /*0000*/  @P0 BRA `(.L_x_1) ;
.L_x_0:
        /*0010*/  EXIT ;
.L_x_1:
        /*0020*/  FADD R0, R0, R0 ;
        /*0030*/  BRA `(.L_x_0) ;
"""
    assert loops_of(parsed(text)["kernel"]) == []


def test_loops_in_loops_have_a_depth() -> None:
    text = """
	.section	.text.kernel,"ax",@progbits
.L_x_0:
        /*0000*/  FADD R0, R0, R0 ;
.L_x_1:
        /*0010*/  FMUL R0, R0, R0 ;
        /*0020*/  @P0 BRA `(.L_x_1) ;
        /*0030*/  @P1 BRA `(.L_x_0) ;
        /*0040*/  EXIT ;
"""
    found = loops_of(parsed(text)["kernel"])
    assert [(loop.head, loop.depth, len(loop.body)) for loop in found] == [(0, 1, 4), (16, 2, 2)]


def test_kernels_of_a_program_are_those_that_are_asked_for(tmp_path: Path) -> None:
    program = built(
        tmp_path,
        "namespace { __global__ void own(int* x) { *x = 1; } }\n"
        "__global__ void other(int* x) { *x = 2; }\n"
        "void call(int* x) { own<<<1, 1>>>(x); }\n",
    )
    everything = kernels_of(program)
    assert len(everything) == 2
    (own,) = (name for name in everything if "own" in name)
    assert kernels_of(program, [everything[own].name]) == {own: everything[own]}
    assert everything[own].code[0].source == "built.cu:1"


_NUMBER = "__global__ void number(int* x) { *x += __CUDA_ARCH__; }\nint main() {}"


def test_the_code_is_that_which_the_gpu_runs(tmp_path: Path) -> None:
    codes = [f"-gencode=arch=compute_{one},code=sm_{one}" for one in (80, 86, 90)]
    program = built(tmp_path, _NUMBER, *codes, kind="-fatbin")

    def constant(architecture: int) -> int:
        (kernel,) = kernels_of(program, architecture=architecture).values()
        numbers = {int(one, 16) for line in kernel.code for one in line.operands if one[:2] == "0x"}
        (found,) = numbers & {800, 860, 900}
        return found

    expected = {80: 800, 86: 860, 89: 860, 90: 900, 120: 900, 0: 900}
    assert {one: constant(one) for one in expected} == expected


def test_a_kernel_has_its_launch_bounds(tmp_path: Path) -> None:
    program = built(
        tmp_path,
        'extern "C" __global__ void any(int* x) { *x = 1; }\n'
        'extern "C" __global__ void __launch_bounds__(128) bound(int* x) { *x = 2; }\n',
    )
    assert {k: one.bounds for k, one in kernels_of(program).items()} == {"any": 1024, "bound": 128}


def test_source_lines_change_neither_the_code_nor_its_digest(tmp_path: Path) -> None:
    source = (
        "__global__ void k(float* x, int n) { for (int i = 0; i < n; ++i) x[i] += sinf(x[i]); }"
    )
    (with_lines,) = kernels_of(built(tmp_path / "with", source)).values()
    (without,) = kernels_of(built(tmp_path / "without", source, "-O3")).values()
    assert with_lines.digest == without.digest
    assert [*map(str, with_lines.code)] == [*map(str, without.code)]
    assert with_lines.code[0].source != without.code[0].source == ""


def test_without_a_disassembler_one_sentence_says_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setenv("CUDACXX", str(tmp_path / "nvcc"))
    monkeypatch.setattr(toolkit, "packaged", lambda: tmp_path)
    with pytest.raises(UserError, match="cuobjdump"):
        kernels_of(tmp_path / "program")
