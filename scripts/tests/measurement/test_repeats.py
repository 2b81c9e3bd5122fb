# SPDX-License-Identifier: Apache-2.0
"""What was disturbed is measured once more, on all sides, as long as that helps."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

import pytest
from test_runner import Seen, errors, merged

import fake_binary
from warpgauge.execution import discovery
from warpgauge.execution.plan import Lane, Plan
from warpgauge.execution.turn_result import Outcome
from warpgauge.measurement import merge, runner
from warpgauge.measurement.throttle_guard import PersistentThrottling

TIMES = {"gemm/a": 1000.0, "gemm/b": 2000.0}


def run(
    folder: Path,
    disturbed: Mapping[str, Mapping[str, float]],
    *,
    rounds: int = 5,
    sides: int = 1,
    faults: Mapping[str, str] | None = None,
    observer: Seen | None = None,
) -> tuple[Plan, list[Outcome], list[Sequence[str]]]:
    """With these counters and faults in the processes of these numbers (all that were started)."""
    fake_binary.make(folder / "bin", "gemm", TIMES, counters=disturbed, faults=faults)
    binaries = tuple(discovery.find(folder / "bin", folder))
    settled: list[Sequence[str]] = []
    lanes = tuple(Lane(binaries, side=f"side {index}") for index in range(sides))
    plan = Plan(lanes, range(1, rounds + 1), 1, folder / "runs", settle=settled.append)
    return plan, runner.run(plan, observer or Seen()), settled


def rows(plan: Plan, outcomes: list[Outcome]) -> dict[str, merge.JsonRow]:
    return merged(plan, [one for one in outcomes if one.side == plan.lanes[0].side])


def processes(folder: Path) -> int:
    return len((folder / "bin" / "bench_gemm.count").read_text())


@pytest.mark.parametrize("counter", ["throttled", "other_processes"])
def test_a_disturbed_process_is_run_once_more(tmp_path: Path, counter: str) -> None:
    plan, outcomes, settled = run(tmp_path, {"2": {counter: 1.0}})
    assert settled == [("gemm/a", "gemm/b")]
    assert processes(tmp_path) == 6
    for row in rows(plan, outcomes).values():
        assert len(row["process_medians"]) == 5
        assert counter not in row
        assert "processes_left_out" not in row


def test_what_fails_in_its_repetition_is_not_run_again_and_its_remarks_are_told(
    tmp_path: Path,
) -> None:
    """Of process 1 all is disturbed; 2 repeats it and breaks down."""
    seen = Seen()
    slow = {"1": {"throttled": 1.0}}
    plan, outcomes, _ = run(tmp_path, slow, rounds=3, faults={"2": "crash"}, observer=seen)
    assert [one.binary.names for one in outcomes] == [tuple(TIMES), ("gemm/a",), ("gemm/a",)]
    assert errors(rows(plan, outcomes)).keys() == {"gemm/b"}
    assert [one.faults.keys() for one in seen.repetitions] == [{"gemm/b"}]
    _, (outcome, _), _ = run(tmp_path / "other", slow, rounds=2, faults={"2": "child"})
    assert outcome.remarks == ("bench_gemm left a process behind, which was ended",)


def test_all_sides_of_a_pair_are_run_again_together(tmp_path: Path) -> None:
    plan, outcomes, settled = run(tmp_path, {"1": {"throttled": 1.0}}, rounds=3, sides=2)
    assert len(settled) == 1
    assert processes(tmp_path) == 8
    # Round 1 is of the processes 3 and 4 on both sides, and no longer of 1 and 2.
    first = [one.report["benchmarks"][0]["samples"] for one in outcomes if one.round == 1]
    assert sorted(first) == [3, 4]
    assert not errors(rows(plan, outcomes))


@pytest.mark.parametrize(
    ("counter", "which", "rounds", "settles", "started"),
    [
        ("other_processes", "all", 7, 3, 10),  # it stays: it is left alone
        ("throttled", "all", 3, 1, 4),  # to the end: nothing is left to be spared
        ("throttled", "odd", 6, 3, 9),  # no more than half of a run is repeated
    ],
)
def test_what_is_not_helped_is_told_and_no_more_than_half_of_a_run_repeated(
    tmp_path: Path, counter: str, which: str, rounds: int, settles: int, started: int
) -> None:
    numbers = ["all"] if which == "all" else [str(number) for number in range(1, 40, 2)]
    disturbed = {number: {counter: 1.0} for number in numbers}
    plan, outcomes, settled = run(tmp_path, disturbed, rounds=rounds)
    assert (len(settled), processes(tmp_path)) == (settles, started)
    if which == "all":
        said = 1.0 if counter == "other_processes" else 3.0
        assert all(row[counter] == said for row in rows(plan, outcomes).values())


def test_a_gpu_that_stays_slow_is_spared_the_remaining_rounds(tmp_path: Path) -> None:
    with pytest.raises(PersistentThrottling, match="the SM clock was lowered"):
        run(tmp_path, {"all": {"throttled": 1.0}}, rounds=7)
    assert processes(tmp_path) == 6


def test_only_the_rows_that_were_measured_again_are_replaced() -> None:
    def report(time: float) -> dict[str, list[dict[str, object]]]:
        return {"benchmarks": [{"name": name, "real_time": time} for name in ("a", "b")]}

    once, again = report(1.0), report(2.0)
    found = runner.with_repeated(once, again, ["b"])
    assert found["benchmarks"] == [once["benchmarks"][0], again["benchmarks"][1]]
    assert runner.with_repeated(once, {}, ["a"]) == once


def test_an_errored_row_is_not_disturbed() -> None:
    row = {"name": "a", "error_occurred": True, "error_message": "wrong", "throttled": 1.0}
    assert runner.disturbed([{"benchmarks": [row]}]) == ()
