# SPDX-License-Identifier: Apache-2.0
"""A row's kernels have one digest, which changes with their code and how they are launched."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

import shell
from hand_made_cubin import cubin
from warpgauge.measure import build, program_identity
from warpgauge.measure.discovery import Binary

SUM, PTX, OF_LIBRARY = "_Z3sumv", "_Z3maxv", "gemm_of_a_library"


@pytest.fixture(autouse=True)
def tools(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A cuobjdump for programs that lie in a folder with their cubin and PTX, and a small ldd."""
    folder = tmp_path / "tools"
    folder.mkdir()
    for name, does in (
        (
            "cuobjdump",
            '[ $1 = -ptx ] && cat "$2.ptx" || cp "$3.cubin" x.1.sm_90.cubin',
        ),
        ("ldd", 'echo "  liba.so.1 => $1.library (0x00007f92)"'),
    ):
        shell.script(folder / name, does)
    monkeypatch.setenv("PATH", f"{folder}{os.pathsep}{os.environ['PATH']}")
    monkeypatch.setattr(build, "cuda_compiler", lambda: None)


def program(
    folder: Path, code: str = "code", ptx: str = f".entry {PTX}(", library: str = "version 1"
) -> Binary:
    folder.mkdir(exist_ok=True)
    path = folder / "bench_sum"
    path.write_text("a program")
    Path(f"{path}.cubin").write_bytes(cubin({f".text.{SUM}": code.encode()}))
    Path(f"{path}.ptx").write_text(ptx)
    Path(f"{path}.library").write_text(library)
    image = folder / "image"
    image.write_text("image")
    return Binary(path, (), inputs=(image,))


def test_the_same_code_launched_alike_has_the_same_digest_in_another_folder(
    tmp_path: Path,
) -> None:
    launches = {SUM: 12.0, PTX: 3.0, OF_LIBRARY: 4.0}
    one, other = (
        program_identity.of_row(program(tmp_path / name), launches) for name in ("one", "other")
    )
    assert one == other != ""


def test_other_code_and_another_launch_have_other_digests(tmp_path: Path) -> None:
    base = program(tmp_path / "base")
    known = program_identity.of_row(base, {SUM: 12.0})
    assert program_identity.of_row(base, {SUM: 13.0}) != known
    assert program_identity.of_row(program(tmp_path / "code", "CODE"), {SUM: 12.0}) != known
    elsewhere = program(tmp_path / "elsewhere", ptx="", library="version 22")
    assert program_identity.of_row(elsewhere, {SUM: 12.0}) == known


@pytest.mark.parametrize(
    ("kernel", "changed"),
    [(PTX, {"ptx": f".entry {PTX}(x"}), (OF_LIBRARY, {"library": "version 22"})],
)
def test_code_that_is_not_in_the_program_goes_by_where_it_comes_from(
    tmp_path: Path, kernel: str, changed: dict[str, str]
) -> None:
    launches = {kernel: 1.0}
    known = program_identity.of_row(program(tmp_path / "base"), launches)
    assert program_identity.of_row(program(tmp_path / "code", "CODE"), launches) == known
    assert program_identity.of_row(program(tmp_path / "changed", **changed), launches) != known
    loads = program(tmp_path / "loads")
    loads.inputs[0].write_text("another image")
    assert program_identity.of_row(loads, launches) != known


def test_a_program_that_was_built_anew_is_read_anew(tmp_path: Path) -> None:
    first = program_identity.of_row(program(tmp_path / "it"), {SUM: 1.0})
    again = program(tmp_path / "it", "CODE")
    os.utime(again.path, ns=(1, 1))
    assert program_identity.of_row(again, {SUM: 1.0}) != first


def test_a_row_without_kernels_and_a_program_that_cannot_be_read_tell_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    readable = program(tmp_path / "it")
    assert program_identity.of_row(readable, {}) == ""
    assert program_identity.of_row(Binary(tmp_path / "gone", ()), {SUM: 1.0}) == ""
    monkeypatch.setenv("PATH", "")
    assert program_identity.of_row(readable, {SUM: 1.0}) == ""
