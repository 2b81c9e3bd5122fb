# SPDX-License-Identifier: Apache-2.0
"""The benchmark of the comparison itself measures what it says; loading stays in its bounds."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from pathlib import Path

import pytest

import speed
from large_runs import BASELINE, PROCESSES, write_pair
from warpgauge.records.load import load


def test_the_generated_rows_are_shaped_like_the_recorded_ones(tmp_path: Path) -> None:
    recorded = json.loads(min(BASELINE.glob("*.json")).read_text())["benchmarks"][0]
    path, _ = write_pair(tmp_path, 200)
    (made, *_), names = json.loads(path.read_text())["benchmarks"], load(path).rows.keys()
    assert len(names) == 200
    assert recorded.keys() <= made.keys()
    assert len(made["process_medians"]) == PROCESSES
    assert made["name"].startswith(recorded["name"])


def test_it_runs_as_the_readme_says_and_gives_its_options_on() -> None:
    script = str(Path(speed.__file__))
    command = [sys.executable, script, "--benchmarks=100", "--times=1", "--", "--color=never"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    head, _, ours, goal = done.stdout.splitlines()
    assert head.startswith("two run files of 100 benchmarks x 7 processes")
    assert ours.startswith("compare.py --color=never")
    assert float(ours.split()[-2]) > 0  # seconds
    assert float(ours.split()[-1]) > 10  # MiB: no Python is smaller
    assert goal.split()[-2:] == ["2.00", "300"]


def test_a_command_that_fails_is_no_measurement(tmp_path: Path) -> None:
    absent = str(tmp_path / "absent.json")
    command = [sys.executable, str(speed.SCRIPTS / "compare.py"), absent, absent]
    with pytest.raises(SystemExit, match="cannot be read"):
        speed.measured(command)


def test_an_absent_peer_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(speed, "PEERS", ())
    assert "not here (Debian package libbenchmark-tools)" in speed.report(20, 1, [], peer=True)


def test_the_peer_reads_the_same_files() -> None:
    if speed.peer_command(()) is None:
        pytest.skip("libbenchmark-tools is not installed")
    assert "Google Benchmark's compare.py" in speed.report(20, 1, [], peer=True)


@pytest.mark.timed
def test_loading_grows_with_the_file_and_no_faster(tmp_path: Path) -> None:
    seconds = []
    for count in (500, 4000):
        path, _ = write_pair(tmp_path, count)
        begin = time.process_time()
        load(path)
        seconds.append(time.process_time() - begin)
    # 0.02 ms a row on a quiet machine. A row eight times as many may cost thrice as much.
    assert seconds[1] < max(24 * seconds[0], 1.0)
