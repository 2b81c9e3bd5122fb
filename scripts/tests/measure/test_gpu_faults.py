# SPDX-License-Identifier: Apache-2.0
"""What a real GPU can do to a run costs the row that did it; a minute and a half on an H200.

Needs the program of fixtures/testing/bench_faults.cpp, which a build with tests makes, and a GPU;
skipped without.
"""

from __future__ import annotations

import json
import random
import shutil
import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

import fake_binary
from bench_process import BenchProcess
from kills import killed_and_resumed, left_running
from warpgauge.measure import gpu_watch

ROOT = Path(__file__).parents[3]
RIGHT = {f"faults/{letter}_right" for letter in "aceg"}
PRESET = "cmake --preset ci && cmake --build --preset ci"


@pytest.fixture(scope="module")
def program() -> Path:
    """The newest that was built."""
    built = sorted(ROOT.glob("build/*/**/bench_faults"), key=lambda one: one.stat().st_mtime)
    if not built:
        pytest.skip(f"bench_faults is not built, which needs nvcc: {PRESET}")
    command = [str(built[-1]), "--benchmark_filter=a_right"]
    tried = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    if tried.returncode == 3:
        pytest.skip(f"no usable GPU: {tried.stderr.strip().splitlines()[-1]}")
    assert tried.returncode == 0, tried.stderr
    return built[-1]


@pytest.fixture
def machine(tmp_path: Path, program: Path) -> BenchProcess:
    """A tree that has this program only."""
    made = BenchProcess(tmp_path)
    made.built.mkdir(parents=True)
    shutil.copy2(program, made.built / program.name)
    fake_binary.write_manifest(made.built, [fake_binary.program(program.name)])
    return made


def document(machine: BenchProcess) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((machine.root / "run.json").read_text())
    return found


def rows(machine: BenchProcess) -> Mapping[str, Mapping[str, Any]]:
    return {row["name"]: row for row in document(machine)["benchmarks"]}


def require_nothing_left(machine: BenchProcess) -> None:
    assert left_running(str(machine.built)) == []
    uuid = document(machine)["context"]["gpu_uuid"]
    gpu_watch.GpuWatch(uuid, print).wait()
    left = gpu_watch.users_now(uuid)
    assert [user for user in left if user.name.startswith("bench_faults")] == []


def test_each_fault_costs_its_own_row_and_says_its_cause(machine: BenchProcess) -> None:
    done = machine.run("--processes=2", "--timeout=10", "--out=run.json")
    assert done.status == 3, done.err
    found = rows(machine)
    errors = {name: row.get("error_message", "") for name, row in found.items()}
    assert "cudaErrorIllegalAddress" in errors["faults/b_illegal_address"]
    said = "in round 1: bench_faults sent nothing for 10 s and was killed"
    assert errors["faults/d_endless"].startswith(said)
    assert "out of device memory: needs" in errors["faults/f_out_of_memory"]
    assert {name for name, error in errors.items() if not error} == RIGHT
    assert all(len(found[name]["process_medians"]) == 2 for name in RIGHT)
    require_nothing_left(machine)


def test_a_run_that_is_killed_twenty_times_holds_every_row(machine: BenchProcess) -> None:
    seed = random.SystemRandom().getrandbits(16)
    argv = ["--processes=3", "--filter=_right", "--out=run.json"]
    done = killed_and_resumed(machine, argv, kills=20, longest_s=4.0, seed=seed)
    assert done.status == 3, (seed, done.err)  # there is no baseline
    found = rows(machine)
    assert found.keys() == RIGHT, seed
    assert all(len(row["process_medians"]) == 3 for row in found.values()), seed
    assert not any("other_processes" in row and row["other_processes"] for row in found.values())
    require_nothing_left(machine)
