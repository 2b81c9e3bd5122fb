# SPDX-License-Identifier: Apache-2.0
"""A GPU that stays slow ends the run, with the reason; one hungry benchmark does not.

What was disturbed is measured once more, on all sides, as long as that helps.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from contextlib import nullcontext
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from test_runner import Seen, errors, merged

import fake_binary
from clone import HOST_TIMES, TIMES, Repository
from warpgauge.measure import discovery, runner
from warpgauge.measure.journal import Journal
from warpgauge.measure.plan import Lane, Plan, TurnResult
from warpgauge.measure.runner import PersistentThrottling
from warpgauge.system.errors import ExitStatus, UserError

SLOW = {
    "throttled": 1.0,
    "sm_clock_hz": 1.2e9,
    "clock_event_reasons": 0x20,
    "temperature_celsius": 88.0,
}
FULL = {"sm_clock_hz": 1.98e9}


@pytest.fixture
def tired(repository: Repository) -> Repository:
    """With a baseline, and a GPU that is slow from the third round on; the first process probes."""
    # So long that the nanosecond by which the fakes' processes differ is nothing to it.
    long = {name: 100.0 * time for name, time in TIMES.items()}
    repository.binary("sync", long)
    repository.record()
    counters = {str(number): SLOW for number in range(4, 40)}
    repository.binary("sync", long, counters=counters)
    repository.output()
    return repository


def test_a_tired_gpu_ends_the_run_and_what_is_complete_is_shown(tired: Repository) -> None:
    out = tired.root / "run.json"
    said = r"^the GPU stays slow: .* to 1.200 GHz \(temperature\) in 3 programs in a row"
    with pytest.raises(UserError, match=said) as caught:
        tired.bench("--out", str(out))
    assert caught.value.status is ExitStatus.NOT_MEASURED
    # Two good ones, and three slow ones that were tried twice each; two rounds were spared.
    assert len((tired.built / "bench_sync.count").read_text()) == 1 + 2 + 3 * 2
    rows = {row["name"]: row for row in json.loads(out.read_text())["benchmarks"]}
    assert len(rows["host/copy"]["process_medians"]) in (4, 5)
    assert rows["sync/idle"]["throttled"] == 3.0
    shown, err = tired.output()
    assert "candidate: the SM clock was lowered to 1.200 GHz in 3 of 5 processes" in shown
    assert re.search(r"is kept: `scripts/bench --resume \S+/run\.journal`", err)


def test_a_run_goes_on_when_the_gpu_has_rested(tired: Repository) -> None:
    out = tired.root / "run.json"
    with pytest.raises(UserError, match="stays slow"):
        tired.bench("--out", str(out))
    before = len((tired.built / "bench_sync.count").read_text())
    told = tired.built / "bench_sync.told"
    lines = told.read_text().splitlines(keepends=True)
    told.write_text("".join(line for line in lines if not line.startswith("counter")))
    assert tired.resume(str(out.with_name("run.journal"))) is ExitStatus.OK
    assert len((tired.built / "bench_sync.count").read_text()) == before + 1 + 3 + 2
    rows = json.loads(out.read_text())["benchmarks"]
    assert {row["name"] for row in rows} == {*TIMES, *HOST_TIMES}
    assert all(len(row["process_medians"]) == 7 for row in rows)
    assert not any("throttled" in row for row in rows)


def test_a_regression_is_told_by_the_status_all_the_same(repository: Repository) -> None:
    repository.record()
    counters = {str(number): SLOW for number in range(6, 40)}
    repository.binary("sync", {**TIMES, "sync/busy": 9000.0}, counters=counters)
    with pytest.raises(UserError, match="stays slow") as caught:
        repository.bench("--processes=9", "--out", str(repository.root / "run.json"))
    assert caught.value.status is ExitStatus.REGRESSION
    assert "the GPU stays slow" in repository.output()[0]


def test_nothing_of_a_tired_gpu_is_recorded(tired: Repository) -> None:
    (before,) = tired.root.glob("baselines/*/sync.json")
    text = before.read_text()
    with pytest.raises(UserError, match="stays slow"):
        tired.bench("--record")
    assert before.read_text() == text


GEMM = {"gemm/a": 1000.0, "gemm/b": 2000.0}


def run(
    folder: Path,
    disturbed: Mapping[str, Mapping[str, float]],
    *,
    rounds: int = 5,
    sides: int = 1,
    faults: Mapping[str, str] | None = None,
    observer: Seen | None = None,
) -> tuple[Plan, list[TurnResult], list[Sequence[str]]]:
    """With these counters and faults in the processes of these numbers (all that were started)."""
    fake_binary.make(folder / "bin", "gemm", GEMM, counters=disturbed, faults=faults)
    binaries = tuple(discovery.find(folder / "bin", folder))
    settled: list[Sequence[str]] = []
    lanes = tuple(Lane(binaries, side=f"side {index}") for index in range(sides))
    plan = Plan(lanes, range(1, rounds + 1), 1, Journal(folder / "runs"), settle=settled.append)
    return plan, list(runner.run(plan, observer or Seen())), settled


def rows(plan: Plan, outcomes: list[TurnResult]) -> dict[str, Any]:
    return merged(plan, [one for one in outcomes if one.side == plan.lanes[0].side])


def processes(folder: Path) -> int:
    return len((folder / "bin" / "bench_gemm.count").read_text())


@pytest.mark.parametrize("counter", ["throttled", "other_processes"])
def test_a_disturbed_process_is_run_once_more(tmp_path: Path, counter: str) -> None:
    plan, outcomes, settled = run(tmp_path, {"2": {counter: 1.0}})
    assert [sorted(names) for names in settled] == [["gemm/a", "gemm/b"]]
    assert processes(tmp_path) == 6
    for row in rows(plan, outcomes).values():
        assert len(row["process_medians"]) == 5
        assert counter not in row
        assert "processes_left_out" not in row
    resumed = replace(plan, journal=Journal(plan.journal.folder))
    assert rows(resumed, list(runner.run(resumed, Seen()))) == rows(plan, outcomes)
    assert (len(settled), processes(tmp_path)) == (1, 6)  # what is recorded waits for no GPU


def test_what_fails_in_its_repetition_is_not_run_again_and_its_remarks_are_told(
    tmp_path: Path,
) -> None:
    """Of process 1 all is disturbed; 2 repeats it and breaks down."""
    seen = Seen()
    slow = {"1": {"throttled": 1.0}}
    plan, outcomes, _ = run(tmp_path, slow, rounds=3, faults={"2": "crash"}, observer=seen)
    asked = [{*one.binary.names} for one in outcomes]
    assert asked == [{*GEMM}, {"gemm/a"}, {"gemm/a"}]
    assert errors(rows(plan, outcomes)).keys() == {"gemm/b"}
    assert [one.faults.keys() for one in seen.repetitions] == [{"gemm/b"}]
    _, (outcome, _), _ = run(tmp_path / "other", slow, rounds=2, faults={"2": "child"})
    assert outcome.remarks == ("bench_gemm left a process behind, which was killed",)


@pytest.mark.parametrize(
    ("refused", "asked"),
    # A repetition confirms no other measurement, nor what it repeats.
    [(1, [{*GEMM}, {"gemm/a"}, {"gemm/a"}]), (2, [{*GEMM}, {"gemm/a"}, {"gemm/a"}]),
     (3, [{*GEMM}, {*GEMM}, {"gemm/a"}])],
)  # fmt: skip
def test_each_measurement_is_audited_before_its_repetition(
    tmp_path: Path, refused: int, asked: list[set[str]]
) -> None:
    measurements = 0

    def audit(outcome: TurnResult) -> TurnResult:
        nonlocal measurements
        measurements += 1
        return replace(outcome, faults={"gemm/b": "not seen"} if measurements == refused else {})

    fake_binary.make(tmp_path / "bin", "gemm", GEMM, counters={"1": {"throttled": 1.0}})
    lane = Lane(tuple(discovery.find(tmp_path / "bin", tmp_path)))
    plan = Plan((lane,), range(1, 4), 1, Journal(tmp_path / "runs"), audit=audit)
    outcomes = list(runner.run(plan, Seen()))
    assert [{*one.binary.names} for one in outcomes] == asked
    assert errors(rows(plan, outcomes)).keys() == {"gemm/b"}
    assert measurements == 4


def test_all_sides_of_a_pair_are_run_again_together(tmp_path: Path) -> None:
    plan, outcomes, settled = run(tmp_path, {"1": {"throttled": 1.0}}, rounds=3, sides=2)
    assert len(settled) == 1
    assert processes(tmp_path) == 8
    # Round 1 is of the processes 3 and 4 on both sides, and no longer of 1 and 2.
    first = [
        row.counters["samples"]
        for one in outcomes
        for row in list(one.report.rows.values())[:1]
        if one.round == 1
    ]
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


@pytest.mark.parametrize(
    ("between", "counters", "rested"),
    [
        ("gemm", FULL, True),
        ("gemm", {"throttled": 0.0}, True),
        ("host", {}, False),  # rows without a clock tell neither
    ],
)
def test_only_a_program_at_full_clock_in_between_shows_that_the_gpu_can(
    tmp_path: Path, between: str, counters: dict[str, float], rested: bool
) -> None:
    slow = {str(number): SLOW for number in range(1, 20)}
    binaries = []
    for number, family in enumerate(("copy", "gemm", "sync")):
        is_between = family == "gemm"
        own = {str(n): counters for n in range(1, 20)} if is_between else slow
        folder = tmp_path / str(number)
        name = between if is_between else family
        fake_binary.make(folder, name, {f"{name}/a": 1000.0}, counters=own)
        binaries += discovery.find(folder, folder)
    plan = Plan((Lane(tuple(binaries)),), range(1, 3), 1, Journal(tmp_path / "runs"))
    with nullcontext() if rested else pytest.raises(PersistentThrottling):
        list(runner.run(plan, Seen()))


def test_a_gpu_that_stays_slow_is_spared_the_remaining_rounds(tmp_path: Path) -> None:
    with pytest.raises(PersistentThrottling, match="the SM clock was lowered"):
        run(tmp_path, {"all": {"throttled": 1.0}}, rounds=7)
    assert processes(tmp_path) == 6
