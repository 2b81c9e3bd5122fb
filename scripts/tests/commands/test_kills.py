# SPDX-License-Identifier: Apache-2.0
"""Twenty kills at random moments lose nothing, and leave nothing running."""

from __future__ import annotations

import json
import time
from pathlib import Path

import pytest

import fake_binary
from bench_process import BenchProcess
from clone import HOST_TIMES, TIMES
from kills import killed_and_resumed, left_running


@pytest.mark.parametrize("seed", [1])
def test_a_run_that_is_killed_twenty_times_holds_every_row(tmp_path: Path, seed: int) -> None:
    machine = BenchProcess(tmp_path)
    fake_binary.make(machine.built, "host", HOST_TIMES)
    fake_binary.make(machine.built, "sync", TIMES)
    argv = ["--processes=9", "--out=run.json"]
    done = killed_and_resumed(machine, argv, kills=20, longest_s=0.5, seed=seed)
    assert done.status == 3, done.err  # there is no baseline
    rows = {
        row["name"]: row for row in json.loads((tmp_path / "run.json").read_text())["benchmarks"]
    }
    assert rows.keys() == {*TIMES, *HOST_TIMES}
    assert all(len(row["process_medians"]) == 9 for row in rows.values())
    assert not list(tmp_path.glob("*.journal"))
    time.sleep(0.1)
    assert left_running(str(machine.built)) == []
