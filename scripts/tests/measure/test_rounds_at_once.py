# SPDX-License-Identifier: Apache-2.0
"""Several rounds in one run of the driver: programs that load while the round before measures."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from test_lock_step import TIMES, loading, make, measured
from test_runner import SIDES, Seen, errors, plan

import fake_binary
from warpgauge.measure import drive_lines, runner
from warpgauge.measure.drive_lines import Fault
from warpgauge.measure.journal import Journal
from warpgauge.measure.runner import PersistentThrottling

pytestmark = pytest.mark.usefixtures("clock_of_hangs")


def test_all_rounds_of_programs_that_load_share_a_driver(tmp_path: Path) -> None:
    make(tmp_path)
    run = measured(tmp_path, loads=True)
    run.require_right(set(TIMES))
    assert len([*tmp_path.glob("**/*.plan")]) == 1
    assert [outcome.side for outcome in run.seen.outcomes] == [*SIDES, *SIDES[::-1], *SIDES]
    assert [turn.round for turn in run.seen.turns] == [1, 1, 2, 2, 3, 3]


def test_what_failed_in_a_round_of_a_shared_driver_is_not_tried_in_the_next(tmp_path: Path) -> None:
    make(tmp_path, {"candidate": {"gemm/b": "crash"}})
    run = measured(tmp_path, loads=True)
    run.require_right(TIMES.keys() - {"gemm/b"})
    assert errors(run.rows("candidate")).keys() == {"gemm/b"}
    crashes = [
        line
        for path in tmp_path.glob("**/*.lines")
        for line in drive_lines.recorded(path)
        if isinstance(line, Fault)
    ]
    assert len(crashes) == 1
    assert run.rows("base")["gemm/b"]["process_rounds"] == [1, 2, 3]


@pytest.mark.parametrize("loads", [False, True])
def test_a_program_that_never_starts_is_tried_in_one_round(tmp_path: Path, *, loads: bool) -> None:
    make(tmp_path)
    fake_binary.make(tmp_path / "candidate", "gemm", TIMES, faults={"always": "no start"})
    run = measured(tmp_path, loads=loads)
    assert (tmp_path / "candidate" / "bench_gemm.count").stat().st_size == 2  # in a pair, and alone
    assert errors(run.rows("candidate")).keys() == TIMES.keys()
    assert len(run.remarks) == 1
    assert all(row["process_rounds"] == [1, 2, 3] for row in run.rows("base").values())


@pytest.mark.parametrize(
    ("loads", "left", "drivers", "rounds"),
    [(False, [9, 1, 0], 2, 2), (True, [2, 1, 0], 2, 3), (True, [9], 1, 5), (True, [0], 0, 0)],
)
def test_no_more_rounds_run_than_fit(
    tmp_path: Path, *, loads: bool, left: list[int], drivers: int, rounds: int
) -> None:
    make(tmp_path)
    once = replace(plan(tmp_path, processes=5, sides=SIDES), rounds_left=iter(left).__next__)
    outcomes = list(runner.run(loading(once) if loads else once, Seen()))
    assert len([*tmp_path.glob("**/*.plan")]) == drivers
    assert {outcome.round for outcome in outcomes} == {*range(1, rounds + 1)}
    assert all(outcome.report.rows.keys() == TIMES.keys() for outcome in outcomes)
    for side in SIDES:
        processes = tmp_path / side / "bench_gemm.count"
        assert (processes.stat().st_size if rounds else 0) == rounds


def test_rounds_before_the_gpu_became_slow_are_kept(tmp_path: Path) -> None:
    slow = {str(number): {"throttled": 1.0} for number in range(3, 40)}
    make(tmp_path, counters=slow)
    journal = Journal(tmp_path / "x.journal")
    once = loading(replace(plan(tmp_path, processes=6, sides=SIDES), journal=journal))
    with pytest.raises(PersistentThrottling):
        list(runner.run(once, Seen()))
    counted = tmp_path / "base" / "bench_gemm.count"
    before = counted.stat().st_size
    make(tmp_path)  # the GPU has cooled down
    resumed = replace(once, journal=Journal(journal.folder))
    outcomes = list(runner.run(resumed, Seen()))
    assert counted.stat().st_size == before + 4  # rounds 3 to 6
    assert [outcome.round for outcome in outcomes] == [1, 1, 2, 2, 3, 3, 4, 4, 5, 5, 6, 6]
    rows = [row for outcome in outcomes for row in outcome.report.rows.values()]
    assert len(rows) == 2 * 6 * len(TIMES)
    assert not any("throttled" in row.counters for row in rows)
