# SPDX-License-Identifier: Apache-2.0
"""The programs of a build folder are those of its manifest, wherever they lie."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from warpgauge.measure import manifest
from warpgauge.measure.manifest import Program
from warpgauge.system.errors import UserError

GEMM = {"name": "bench_gemm", "path": "benchmarks/bench_gemm", "device": True}
OTHER = {"name": "bench_copy", "path": "/opt/bench_copy", "sources": ["a.cpp"], "device": False}


def write(folder: Path, told: object) -> None:
    (folder / manifest.FILE).write_text(json.dumps(told))


def test_programs_lie_beside_the_manifest_or_anywhere(tmp_path: Path) -> None:
    write(tmp_path, {"version": 1, "programs": [GEMM, OTHER], "source_dir": "/home/me/project"})
    found = manifest.read(tmp_path)
    assert found.programs == (
        Program(Path("/opt/bench_copy"), False),
        Program(tmp_path / "benchmarks" / "bench_gemm", True),
    )
    assert found.source == Path("/home/me/project")


def test_a_program_of_the_working_directory_is_not_looked_for_in_path(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    write(tmp_path, {"version": 1, "programs": [{**GEMM, "path": "bench_gemm"}]})
    assert manifest.read(Path()).programs == (Program(tmp_path / "bench_gemm"),)


def test_a_folder_of_programs_is_written_as_it_is_read(tmp_path: Path) -> None:
    inputs = ("--kernels=/a b",), (Path("/x.cubin"),)
    program = Program(Path("/opt/bench_external"), True, 2, *inputs)
    written = manifest.Manifest((program, Program(Path("/opt/x"), False)), tmp_path)
    manifest.write(tmp_path / "new", written)
    assert manifest.read(tmp_path / "new") == written


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        *((text, "is not a manifest of version 1 (") for text in (
            "", "[]", '{"x": ' + "[" * 100_000,
            '{"version": 2, "programs": []}', '{"version": 1}',
            '{"version": 1, "programs": [], "source_dir": 3}',
            '{"version": 1, "programs": [3]}',
            '{"version": 1, "programs": [{"device": true}]}',
            '{"version": 1, "programs": [{"path": "", "device": true}]}',
            '{"version": 1, "programs": [{"path": "a\\u0000", "device": true}]}',
            '{"version": 1, "programs": [{"path": "a", "device": 1}]}',
            '{"version": 1, "programs": [{"path": "a", "device": true, "gpus": 0}]}',
            '{"version": 1, "programs": [{"path": "a", "device": true, "arguments": "x"}]}',
            '{"version": 1, "programs": [{"path": "a", "device": true, "arguments": [""]}]}',
        )),
        (json.dumps({"version": 1, "programs": [GEMM, {**GEMM, "path": "x/bench_gemm"}]}),
         "holds two programs named 'bench_gemm'"),
        ("a folder", "cannot be read (Is a directory)"),
    ],
)  # fmt: skip
def test_what_is_no_manifest_is_one_sentence(tmp_path: Path, text: str, fault: str) -> None:
    if text == "a folder":
        (tmp_path / manifest.FILE).mkdir()
    else:
        (tmp_path / manifest.FILE).write_text(text)
    with pytest.raises(UserError) as caught:
        manifest.read(tmp_path)
    message = str(caught.value)
    assert message.startswith(f"{tmp_path / manifest.FILE}: {fault}")
    assert "\n" not in message
