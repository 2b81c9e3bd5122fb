# SPDX-License-Identifier: Apache-2.0
"""No two tests meet on a GPU, however many jobs ctest has."""

from __future__ import annotations

import json
import shutil
import subprocess
from pathlib import Path

import pytest

CMAKE = Path(__file__).parents[3] / ".cmake"

PROJECT = """
cmake_minimum_required(VERSION 3.25)
project(gpu_tests LANGUAGES NONE)
enable_testing()
include("{cmake}/gpu_tests.cmake")
foreach(number RANGE 1 4)
  # Fails when another one is there at the same time.
  add_test(NAME gpu_${{number}} COMMAND sh -c "mkdir gpu && sleep 0.2 && rmdir gpu")
  set_tests_properties(gpu_${{number}} PROPERTIES LABELS "{label}")
endforeach()
{alone}
"""
ALONE = "warpgauge_one_at_a_time(gpu_1 gpu_2 gpu_3 gpu_4)"

pytestmark = pytest.mark.skipif(shutil.which("cmake") is None, reason="cmake is not installed")


def configured(folder: Path, *, alone: str = ALONE, label: str = "gpu") -> Path:
    """The build folder of a project with four tests."""
    text = PROJECT.format(cmake=CMAKE, alone=alone, label=label)
    (folder / "CMakeLists.txt").write_text(text)
    done = ran("cmake", "-S", str(folder), "-B", str(folder / "build"))
    assert done.returncode == 0, done.stderr
    return folder / "build"


def ran(*command: str, folder: Path | None = None) -> subprocess.CompletedProcess[str]:
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)


def ctest(build: Path, *arguments: str) -> int:
    shutil.rmtree(build / "gpu", ignore_errors=True)
    return ran("ctest", "-j", "4", *arguments, folder=build).returncode


def test_tests_on_a_gpu_run_one_at_a_time(tmp_path: Path) -> None:
    build = configured(tmp_path)
    assert ctest(build) == 0
    # Two GPUs, or two slots of one: the lock holds all the same.
    gpus = [{"id": "0", "slots": 2}, {"id": "1", "slots": 2}]
    spec = tmp_path / "gpus.json"
    spec.write_text(json.dumps({"version": {"major": 1, "minor": 0}, "local": [{"gpus": gpus}]}))
    assert ctest(build, "--resource-spec-file", str(spec)) == 0
    # Without that they would meet.
    assert ctest(configured(tmp_path, alone="")) != 0


def checked(build: Path) -> subprocess.CompletedProcess[str]:
    script = str(CMAKE / "gpu_tests_are_alone.cmake")
    return ran("cmake", f"-DCTEST={shutil.which('ctest')}", f"-DFOLDER={build}", "-P", script)


def test_a_build_whose_gpu_tests_are_alone_passes_the_check_and_one_without_any_does_not(
    tmp_path: Path,
) -> None:
    done = checked(configured(tmp_path))
    assert done.returncode == 0, done.stderr
    assert "4 tests with the label gpu or bench, each of them alone" in done.stdout
    assert checked(configured(tmp_path, label="host")).returncode != 0


@pytest.mark.parametrize("label", ["gpu", "bench", "slow;bench"])
def test_one_that_may_meet_others_is_named(tmp_path: Path, label: str) -> None:
    alone = ALONE.replace(" gpu_3", "")
    done = checked(configured(tmp_path, alone=alone, label=label))
    assert done.returncode != 0
    assert "these may meet others on a GPU: gpu_3;" in " ".join(done.stderr.split())
