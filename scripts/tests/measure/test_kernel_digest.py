# SPDX-License-Identifier: Apache-2.0
"""A row's kernels have one digest, which changes with their code and how they are launched."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

import shell
from hand_made_cubin import cubin
from warpgauge.measure import build, cubins
from warpgauge.measure.discovery import Binary

SUM, LOADED = "_Z3sumv", "_Z3maxv"


@pytest.fixture(autouse=True)
def tools(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A cuobjdump for programs that lie in a folder with their cubin."""
    folder = tmp_path / "tools"
    folder.mkdir()
    shell.script(folder / "cuobjdump", 'cp "$3.cubin" x.1.sm_90.cubin')
    monkeypatch.setenv("PATH", f"{folder}{os.pathsep}{os.environ['PATH']}")
    monkeypatch.setattr(build, "cuda_compiler", lambda: None)


def program(folder: Path, code: str = "code", loaded: str = "image") -> Binary:
    folder.mkdir(exist_ok=True)
    path, image = folder / "bench_sum", folder / "loaded.cubin"
    path.write_text("a program")
    Path(f"{path}.cubin").write_bytes(cubin({f".text.{SUM}": code.encode()}))
    image.write_bytes(cubin({f".text.{LOADED}": loaded.encode()}))
    return Binary(path, (), inputs=(image,))


def test_the_same_code_launched_alike_has_the_same_digest_in_another_folder(
    tmp_path: Path,
) -> None:
    launches = {SUM: 12.0, LOADED: 3.0}
    one, other = (cubins.of_row(program(tmp_path / name), launches) for name in ("one", "other"))
    assert one == other != ""


def test_other_code_and_another_launch_have_other_digests(tmp_path: Path) -> None:
    base = program(tmp_path / "base")
    known = cubins.of_row(base, {SUM: 12.0})
    assert cubins.of_row(base, {SUM: 13.0}) != known
    assert cubins.of_row(program(tmp_path / "code", "CODE"), {SUM: 12.0}) != known


def test_a_cubin_that_is_loaded_counts_for_its_kernels(tmp_path: Path) -> None:
    base, code = program(tmp_path / "base"), program(tmp_path / "code", "CODE")
    known = cubins.of_row(base, {LOADED: 1.0})
    assert cubins.of_row(code, {LOADED: 1.0}) == known != ""
    other = program(tmp_path / "other", loaded="IMAGE")
    assert cubins.of_row(other, {LOADED: 1.0}) != known
    assert cubins.of_row(other, {SUM: 1.0}) == cubins.of_row(base, {SUM: 1.0})


def test_a_program_that_was_built_anew_is_read_anew(tmp_path: Path) -> None:
    first = cubins.of_row(program(tmp_path / "it"), {SUM: 1.0})
    again = program(tmp_path / "it", "CODE")
    os.utime(again.path, ns=(1, 1))
    assert cubins.of_row(again, {SUM: 1.0}) != first


def test_a_row_without_kernels_and_a_program_that_cannot_be_read_tell_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    readable = program(tmp_path / "it")
    assert cubins.of_row(readable, {}) == ""
    other = program(tmp_path / "other")
    assert cubins.of_row(other, {SUM: 1.0, "of_a_library": 1.0}) == ""
    assert cubins.of_row(Binary(tmp_path / "gone", ()), {SUM: 1.0}) == ""
    monkeypatch.setenv("PATH", "")
    assert cubins.of_row(readable, {SUM: 1.0}) == ""
