# SPDX-License-Identifier: Apache-2.0
"""Two builds, or a row of them, are equal when nothing that runs differs, whatever their names."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

import shell
from hand_made_cubin import cubin
from warpgauge.measure import build, cubins, toolkit
from warpgauge.measure.cubins import Identity
from warpgauge.measure.discovery import Binary

SHORT, LONG = "1a2b3c4", "v1.2-3-g1a2b3c4"
# A short string is moved by the code itself, half by half; a long one lies in a section.
_SOURCE = r"""
#include <cstdio>
#include <functional>
#include <string>
std::function<std::string()> told[] = {[] { return std::string(COMMIT); }, [] { return COMMIT; }};
int main(int count, char**) {
  for (auto& one : told) std::puts(one().c_str());
  std::puts(__FILE__);
  return count * FACTOR;
}
"""


def built(folder: Path, commit: str, factor: int = 1, more: str = "") -> Path:
    folder.mkdir()
    source = folder / "program.cpp"
    source.write_text(_SOURCE + more)
    program = folder / "program"
    told = [f'-DCOMMIT="{commit}"', f"-DFACTOR={factor}"]
    command = [os.environ.get("CXX", "c++"), "-std=c++17", "-O3", *told, str(source), "-o"]
    subprocess.run([*command, str(program)], check=True)
    return program


def identity(program: Path, commit: str) -> Identity:
    return cubins.identity_of([program], (commit, program.parent.name))


@pytest.mark.parametrize("commit", [SHORT, LONG])
def test_what_differs_in_commit_and_folder_alone_is_equal(tmp_path: Path, commit: str) -> None:
    other = commit.replace("1a2b3c4", "9f8e7d6")
    old, new = built(tmp_path / "1a2b3c4d5e", commit), built(tmp_path / "9f8e7d6c5b", other)
    assert old.read_bytes() != new.read_bytes()
    assert identity(old, commit) == identity(new, other)


def test_code_that_differs_is_another_program_on_the_host_alone(tmp_path: Path) -> None:
    old, new = (
        identity(built(tmp_path / folder, SHORT, factor), SHORT)
        for folder, factor in (("1a2b3c4d5e", 3), ("9f8e7d6c5b", 5))
    )
    assert old.kernels == new.kernels
    assert old.host != new.host


def test_kernels_that_differ_leave_the_host_equal(tmp_path: Path) -> None:
    section = '__attribute__((section(".nv_fatbin"), used)) static const char image[] = "%s";'
    old, new = (
        identity(built(tmp_path / folder, SHORT, more=section % text), SHORT)
        for folder, text in (("1a2b3c4d5e", "one"), ("9f8e7d6c5b", "two"))
    )
    assert old.host == new.host
    assert old.kernels != new.kernels


def test_names_that_nvcc_makes_anew_do_not_count(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With a cuobjdump that extracts the cubin beside a program."""
    shell.script(tmp_path / "cuobjdump", 'cp "${3%program}cubin" program.1.sm_90.cubin')
    monkeypatch.setattr(build, "cuda_compiler", lambda: None)
    monkeypatch.setattr(toolkit, "packaged", lambda: tmp_path / "none")
    section = '__attribute__((section(".nv_fatbin"), used)) static const char image[] = "%s";'
    names = ("bfc0dd94_9_sum_cu_0f2af4bd_6093own", "00c0dd94_9_sum_cu_1f2af4bd_716093own")
    programs = [
        built(tmp_path / f"{n}", SHORT, more=section % f"_GLOBAL__N__{name}")
        for n, name in enumerate(names)
    ]
    for program, name in zip(programs, names, strict=True):
        program.with_name("cubin").write_bytes(cubin({f".text._GLOBAL__N__{name}": b"code"}))
    assert len({identity(one, SHORT).kernels for one in programs}) == 2
    monkeypatch.setenv("PATH", f"{tmp_path}{os.pathsep}{os.environ['PATH']}")
    assert len({identity(one, SHORT).kernels for one in programs}) == 1
    programs[1].with_name("cubin").write_bytes(cubin({".text._GLOBAL__N__" + names[1]: b"other"}))
    assert len({identity(one, SHORT).kernels for one in programs}) == 2


@pytest.mark.parametrize("content", [b"", b"\x7fELF\x02\x01", b"text"])
def test_any_other_file_counts_as_it_is(tmp_path: Path, content: bytes) -> None:
    one, other = tmp_path / "one", tmp_path / "other"
    one.write_bytes(content)
    other.write_bytes(content + b"!")
    told = [cubins.identity_of([path], ()).host for path in (one, one, other)]
    assert told[0] == told[1] != told[2]


SUM, LOADED = "_Z3sumv", "_Z3maxv"


@pytest.fixture
def tools(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A cuobjdump for programs that lie in a folder with their cubin."""
    folder = tmp_path / "tools"
    folder.mkdir()
    shell.script(folder / "cuobjdump", 'cp "$3.cubin" x.1.sm_90.cubin')
    monkeypatch.setenv("PATH", f"{folder}{os.pathsep}{os.environ['PATH']}")
    monkeypatch.setattr(build, "cuda_compiler", lambda: None)


def of_build(folder: Path, code: str = "code", loaded: str = "image") -> Binary:
    folder.mkdir(exist_ok=True)
    path, image = folder / "bench_sum", folder / "loaded.cubin"
    path.write_text("a program")
    Path(f"{path}.cubin").write_bytes(cubin({f".text.{SUM}": code.encode()}))
    image.write_bytes(cubin({f".text.{LOADED}": loaded.encode()}))
    return Binary(path, (), inputs=(image,))


@pytest.mark.usefixtures("tools")
def test_the_same_code_launched_alike_has_the_same_digest_in_another_folder(
    tmp_path: Path,
) -> None:
    launches = {SUM: 12.0, LOADED: 3.0}
    one, other = (cubins.of_row(of_build(tmp_path / name), launches) for name in ("one", "other"))
    assert one == other != ""


@pytest.mark.usefixtures("tools")
def test_other_code_and_another_launch_have_other_digests(tmp_path: Path) -> None:
    base = of_build(tmp_path / "base")
    known = cubins.of_row(base, {SUM: 12.0})
    assert cubins.of_row(base, {SUM: 13.0}) != known
    assert cubins.of_row(of_build(tmp_path / "code", "CODE"), {SUM: 12.0}) != known


@pytest.mark.usefixtures("tools")
def test_a_cubin_that_is_loaded_counts_for_its_kernels(tmp_path: Path) -> None:
    base, code = of_build(tmp_path / "base"), of_build(tmp_path / "code", "CODE")
    known = cubins.of_row(base, {LOADED: 1.0})
    assert cubins.of_row(code, {LOADED: 1.0}) == known != ""
    other = of_build(tmp_path / "other", loaded="IMAGE")
    assert cubins.of_row(other, {LOADED: 1.0}) != known
    assert cubins.of_row(other, {SUM: 1.0}) == cubins.of_row(base, {SUM: 1.0})


@pytest.mark.usefixtures("tools")
def test_a_program_that_was_built_anew_is_read_anew(tmp_path: Path) -> None:
    first = cubins.of_row(of_build(tmp_path / "it"), {SUM: 1.0})
    again = of_build(tmp_path / "it", "CODE")
    os.utime(again.path, ns=(1, 1))
    assert cubins.of_row(again, {SUM: 1.0}) != first


@pytest.mark.usefixtures("tools")
def test_a_row_without_kernels_and_a_program_that_cannot_be_read_tell_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    readable = of_build(tmp_path / "it")
    assert cubins.of_row(readable, {}) == ""
    other = of_build(tmp_path / "other")
    assert cubins.of_row(other, {SUM: 1.0, "of_a_library": 1.0}) == ""
    assert cubins.of_row(Binary(tmp_path / "gone", ()), {SUM: 1.0}) == ""
    monkeypatch.setenv("PATH", "")
    assert cubins.of_row(readable, {SUM: 1.0}) == ""


@pytest.mark.usefixtures("tools")
def test_a_kernel_of_a_library_has_the_digest_of_what_may_hold_it(tmp_path: Path) -> None:
    source = tmp_path / "kernel.ptx"
    source.write_text("one")
    program = Binary(Path(sys.executable), inputs=(source,))  # dynamically linked, no kernels
    known = cubins.of_row(program, {"a_kernel_of_cublas": 1.0})
    assert known != ""
    assert cubins.of_row(program, {"a_kernel_of_cublas": 2.0}) != known
    source = tmp_path / "other.ptx"
    source.write_text("other")
    other = Binary(Path(sys.executable), inputs=(source,))
    assert cubins.of_row(other, {"a_kernel_of_cublas": 1.0}) != known
