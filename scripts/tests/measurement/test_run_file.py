# SPDX-License-Identifier: Apache-2.0
"""The run file: Google Benchmark's JSON, a line a row, there whole or not at all."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from datetime import datetime
from pathlib import Path

import pytest

from warpgauge.commands.run_paths import named_after
from warpgauge.execution.discovery import Binary
from warpgauge.execution.turn_result import Outcome
from warpgauge.measurement import run_file
from warpgauge.measurement.merge import rows
from warpgauge.records import load
from warpgauge.records.model import Source
from warpgauge.system.errors import UserError

UPSTREAM = Path("/usr/share/benchmark/tools/compare.py"), Path("/usr/share/benchmark/compare.py")
BINARIES = [Binary(Path("bench_a"), ("a/x", "a/bad")), Binary(Path("bench_b"), ("b/y",))]


def outcome(binary: Binary, number: int, time: float, **context: object) -> Outcome:
    names = [name for name in binary.names if name != "a/bad"]
    base = {"run_type": "iteration", "iterations": 5, "cpu_time": 1.0, "time_unit": "ns"}
    benchmarks = [{"name": name, **base, "real_time": time} for name in names]
    date = {"date": f"2026-11-20T12:00:0{number}+00:00"}
    faults = {"a/bad": "it broke"} if binary.family == "a" else {}
    report = {"context": date | context, "benchmarks": benchmarks}
    return Outcome(binary, number, report, faults, 1.0)


def written(path: Path) -> Path:
    a, b = BINARIES
    # In the shuffled order of a real run: the second binary came first.
    outcomes = [outcome(b, 1, 7.0, cublas_version="13"), outcome(a, 1, 5.0, gpu_name="G")]
    outcomes += [outcome(a, 2, 6.0), outcome(b, 2, 8.0)]
    facts = {"processes": "2", "filter": ""}
    context = run_file.context(BINARIES, outcomes, facts, {"cpu_model": "C", "gpu_name": "other"})
    run_file.write(path, context, rows(BINARIES, outcomes))
    return path


def test_the_context_is_gathered_from_all_reports(tmp_path: Path) -> None:
    context = json.loads(written(tmp_path / "run.json").read_text())["context"]
    assert context["date"] == "2026-11-20T12:00:01+00:00"
    assert (context["gpu_name"], context["cublas_version"]) == ("G", "13")
    assert (context["cpu_model"], context["processes"]) == ("C", "2")


def test_the_loader_reads_it(tmp_path: Path) -> None:
    record = load.load(written(tmp_path / "run.json"))
    assert record.source is Source.RUN
    assert record.rows["a/bad"].error == "in round 1: it broke"
    (times,) = record.rows["b/y"].process_medians.values()
    assert times == pytest.approx((7e-9, 8e-9))


def test_google_benchmarks_own_compare_reads_it(tmp_path: Path) -> None:
    tool = next((path for path in UPSTREAM if path.exists()), None)
    if tool is None:
        pytest.skip("libbenchmark-tools is not installed")
    path = written(tmp_path / "run.json")
    command = [sys.executable, str(tool), "--no-color", "benchmarks", str(path), str(path)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert "b/y" in done.stdout


def test_a_failed_write_leaves_the_old_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "run.json"
    path.write_text("old")

    def full(descriptor: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(UserError, match="No space left on device"):
        run_file.write(path, {}, [])
    assert path.read_text() == "old"
    assert list(tmp_path.iterdir()) == [path]


def test_a_link_stays_a_link(tmp_path: Path) -> None:
    link = tmp_path / "latest.json"
    link.symlink_to(tmp_path / "run.json")
    run_file.write(link, {}, [])
    assert link.is_symlink()
    assert json.loads((tmp_path / "run.json").read_text()) == {"context": {}, "benchmarks": []}


def test_two_runs_of_one_second_get_two_names(tmp_path: Path) -> None:
    now = datetime(2026, 11, 20, 12, 0, 1)
    first = named_after(tmp_path, now)
    first.pair[0].touch()  # of the first there is no more than this yet
    second = named_after(tmp_path, now)
    second.folder.mkdir()
    third = named_after(tmp_path, now)
    assert [paths.run.name for paths in (first, second, third)] == [
        "2026-11-20-120001.json",
        "2026-11-20-120001-2.json",
        "2026-11-20-120001-3.json",
    ]


@pytest.mark.parametrize(("second", "told"), [("one", "one"), ("two", ""), ([], "")])
def test_a_run_that_went_on_after_a_reboot_is_of_no_one_boot(second: object, told: str) -> None:
    a, _ = BINARIES
    outcomes = [outcome(a, 1, 5.0, boot_id="one"), outcome(a, 2, 5.0, boot_id=second)]
    assert run_file.context([a], outcomes, {}, {"boot_id": "three"})["boot_id"] == told


@pytest.mark.parametrize(
    ("second", "told"), [("Release", "Release"), ("Debug", "Debug and Release")]
)
def test_programs_that_were_built_in_several_ways_are_of_all_of_them(
    second: str, told: str
) -> None:
    a, b = BINARIES
    outcomes = [outcome(a, 1, 5.0, build_type="Release"), outcome(b, 1, 5.0, build_type=second)]
    assert run_file.context(BINARIES, outcomes, {}, {})["build_type"] == told
