# SPDX-License-Identifier: Apache-2.0
"""A file of benchmarks in Python becomes a program that a driver starts."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from warpgauge.measure import manifest, python_file
from warpgauge.system import environment
from warpgauge.system.errors import UserError


@pytest.fixture(autouse=True)
def root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(environment, "ROOT", tmp_path)
    return tmp_path


def test_its_program_runs_the_file_by_the_user_s_python(root: Path) -> None:
    file = root / "a folder" / "bench_made_up.py"
    file.parent.mkdir()
    file.write_text("import sys\nprint('imported', __name__)\nsys.exit(7)\n")
    folder = python_file.provide(file)
    found = manifest.read(folder)
    assert found.source == file.parent
    (program,) = found.programs
    assert (program.path.name, program.inputs, program.needs_gpu) == (
        "bench_made_up",
        (file,),
        True,
    )
    ended = subprocess.run([program.path, "--describe"], capture_output=True, text=True)
    assert (ended.returncode, ended.stdout) == (7, "imported warpgauge_benchmarks\n")
    assert python_file.provide(file) == folder


def test_bytecode_is_kept_in_the_build_folder_whatever_the_environment_says(root: Path) -> None:
    file = root / "own" / "bench_made_up.py"
    file.parent.mkdir()
    (file.parent / "package.py").touch()
    file.write_text("import package, sys\nsys.exit(7)\n")
    (program,) = manifest.read(python_file.provide(file)).programs
    environment_of_image = {**os.environ, "PYTHONDONTWRITEBYTECODE": "1"}
    assert subprocess.run([program.path], env=environment_of_image).returncode == 7
    assert [*root.glob("build/python/bytecode/**/package.*.pyc")]
    assert not [*file.parent.glob("**/*.pyc")]


def test_files_of_one_name_have_folders_of_their_own(root: Path) -> None:
    files = [root / name / "bench_x.py" for name in "ab"]
    for file in files:
        file.parent.mkdir()
        file.touch()
    assert len({python_file.provide(file) for file in files}) == 2


def test_a_file_that_is_not_there_is_named(root: Path) -> None:
    with pytest.raises(UserError, match=r"bench_y\.py"):
        python_file.provide(root / "bench_y.py")
