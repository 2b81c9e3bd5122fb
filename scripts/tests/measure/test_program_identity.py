# SPDX-License-Identifier: Apache-2.0
"""Two builds are equal when nothing that runs differs, whatever they are called."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

import shell
from hand_made_cubin import cubin
from warpgauge.measure import build, cubins, toolkit
from warpgauge.measure.cubins import Identity

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
