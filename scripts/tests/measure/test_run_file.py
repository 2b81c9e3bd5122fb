# SPDX-License-Identifier: Apache-2.0
"""The run file: Google Benchmark's JSON, a line a row, there whole or not at all."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from dataclasses import replace
from datetime import datetime
from pathlib import Path

import pytest
from msgspec import structs

from reports import reported, written
from warpgauge.commands.measuring_command import named_after
from warpgauge.measure import run_file
from warpgauge.measure.discovery import Binary
from warpgauge.measure.plan import TurnResult
from warpgauge.measure.run_file import rows
from warpgauge.records import load
from warpgauge.records.model import Source
from warpgauge.records.sessions import only_session
from warpgauge.system.errors import UserError

UPSTREAM = Path("/usr/share/benchmark/tools/compare.py"), Path("/usr/share/benchmark/compare.py")
BINARIES = [Binary(Path("bench_a"), ("a/x", "a/bad")), Binary(Path("bench_b"), ("b/y",))]


def outcome(binary: Binary, number: int, time: float, **context: object) -> TurnResult:
    names = [name for name in binary.names if name != "a/bad"]
    base = {"run_type": "iteration", "iterations": 5, "cpu_time": 1.0, "time_unit": "ns"}
    benchmarks = [{"name": name, **base, "real_time": time} for name in names]
    date = {"date": f"2026-11-20T12:00:0{number}+00:00"}
    faults = {"a/bad": "it broke"} if binary.family == "a" else {}
    report = reported(benchmarks, binary, **date, **context)
    return TurnResult(binary, number, report, faults, 1.0)


def of_round(number: int, time: float, **counters: float) -> TurnResult:
    """One benchmark in one round, in ns."""
    binary = Binary(Path("bench_b"), ("b/y",))
    one = outcome(binary, number, time)
    rows = {name: structs.replace(row, counters=counters) for name, row in one.report.rows.items()}
    return replace(one, report=replace(one.report, rows=rows))


@pytest.mark.parametrize("disturbance", [{}, {"throttled": 1.0}, {"other_processes": 1.0}])
def test_a_time_beyond_the_ceilings_of_the_first_round_is_so_in_all(
    disturbance: dict[str, float],
) -> None:
    first = of_round(1, 100.0, limit_fraction=2.0, beyond_ceiling=2.0, **disturbance)
    rounds = [first, *(of_round(number, 100.0) for number in (2, 3, 4))]
    (row,) = written([rounds[0].binary], rounds)
    assert (row["limit_fraction"], row["beyond_ceiling"]) == (2.0, 2.0)


@pytest.mark.parametrize(
    ("counters", "flaw"),
    [
        ({}, True),
        ({"flops_per_second": 1e12}, False),
        ({"flops_per_second": 1e12, "beyond_ceiling": 1.3}, True),
    ],
    ids=["bytes", "flops", "what a program found"],
)
def test_bytes_are_held_to_a_stricter_bound_than_flops(
    counters: dict[str, float], *, flaw: bool
) -> None:
    first = of_round(1, 100.0, limit_fraction=1.3, throttled=1.0, **counters)
    rounds = [first, *(of_round(number, 100.0) for number in (2, 3, 4))]
    (row,) = written([first.binary], rounds)
    assert ("beyond_ceiling" in row) is flaw


def test_the_fraction_of_the_limit_is_that_of_the_reported_time() -> None:
    rounds = [of_round(1, 100.0, limit_fraction=0.5), of_round(2, 80.0), of_round(3, 60.0)]
    (row,) = written([rounds[0].binary], rounds)
    assert (row["real_time"], row["limit_fraction"]) == (80.0, 0.625)
    assert "beyond_ceiling" not in row
    rounds[1:] = [of_round(2, 10.0), of_round(3, 10.0)]
    (row,) = written([rounds[0].binary], rounds)
    assert (row["limit_fraction"], row["beyond_ceiling"]) == (5.0, 5.0)


def run_in(path: Path) -> Path:
    a, b = BINARIES
    # In the shuffled order of a real run: the second binary came first.
    outcomes = [outcome(b, 1, 7.0, cublas_version="13"), outcome(a, 1, 5.0, gpu_name="G")]
    outcomes += [outcome(a, 2, 6.0), outcome(b, 2, 8.0)]
    facts = {"processes": "2", "filter": ""}
    context = run_file.context(BINARIES, outcomes, facts, {"cpu_model": "C", "gpu_name": "other"})
    run_file.write({path: (context, rows(BINARIES, outcomes))})
    return path


def test_the_context_is_gathered_from_all_reports_and_the_loader_reads_it(tmp_path: Path) -> None:
    record = load.load(run_in(tmp_path / "run.json"))
    context = only_session(record).context
    assert context["date"] == "2026-11-20T12:00:01+00:00"
    assert (context["gpu_name"], context["cublas_version"]) == ("G", "13")
    assert (context["cpu_model"], context["processes"]) == ("C", "2")
    assert record.source is Source.RUN
    assert record.rows["a/bad"].error == "in round 1: it broke"
    (times,) = record.rows["b/y"].process_medians.values()
    assert times == pytest.approx((7e-9, 8e-9))


def test_google_benchmarks_own_compare_reads_it(tmp_path: Path) -> None:
    tool = next((path for path in UPSTREAM if path.exists()), None)
    if tool is None:
        pytest.skip("libbenchmark-tools is not installed")
    path = run_in(tmp_path / "run.json")
    command = [sys.executable, str(tool), "--no-color", "benchmarks", str(path), str(path)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert "b/y" in done.stdout


def test_a_link_stays_a_link_and_a_failed_write_leaves_the_old_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path, link = tmp_path / "run.json", tmp_path / "latest.json"
    link.symlink_to(path)
    run_file.write({link: ({}, [])})
    assert link.is_symlink()
    assert json.loads(path.read_text()) == {"context": {}, "benchmarks": []}

    def full(descriptor: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(UserError, match="No space left on device"):
        run_file.write({path: ({"date": "new"}, [])})
    assert json.loads(path.read_text()) == {"context": {}, "benchmarks": []}
    assert sorted(tmp_path.iterdir()) == [link, path]


def test_two_runs_of_one_second_get_two_names(tmp_path: Path) -> None:
    now = datetime(2026, 11, 20, 12, 0, 1)
    first = named_after(tmp_path, now)
    first.pair[0].touch()  # of the first there is no more than this yet
    second = named_after(tmp_path, now)
    second.folder.mkdir()
    third = named_after(tmp_path, now)
    names = [paths.run.name for paths in (first, second, third)]
    assert names == [f"2026-11-20-12000{second}.json" for second in (1, 2, 3)]


@pytest.mark.parametrize(
    ("key", "values", "left"),
    [
        ("boot_id", ("one", "one"), "one"),
        ("boot_id", ("one", "two"), ""),  # it went on after a reboot: it is of no one boot
        ("build_type", ("Release", "Release"), "Release"),
        ("build_type", ("Release", "Debug"), "Debug and Release"),
    ],
)
def test_what_differs_between_processes_is_of_none_or_of_all(
    key: str, values: tuple[object, object], left: str
) -> None:
    a, b = BINARIES
    outcomes = [outcome(a, 1, 5.0, **{key: values[0]}), outcome(b, 1, 5.0, **{key: values[1]})]
    assert run_file.context(BINARIES, outcomes, {}, {key: "three"})[key] == left
