# SPDX-License-Identifier: Apache-2.0
"""Which processes run, in which order, and what is run of a program once something failed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import pytest

import fake_binary
from reports import written
from warpgauge.measure import discovery, journal, runner, selection
from warpgauge.measure.discovery import Binary
from warpgauge.measure.plan import Lane, Plan, Turn, TurnResult, command, order


@dataclass
class Seen:
    """An observer that keeps what it sees."""

    turns: list[Turn] = field(default_factory=list)
    benchmarks: list[str] = field(default_factory=list)
    outcomes: list[TurnResult] = field(default_factory=list)
    repetitions: list[TurnResult] = field(default_factory=list)

    def begins(self, *turns: Turn) -> None:
        self.turns += turns

    def runs(self, benchmark: str) -> None:
        self.benchmarks.append(benchmark)

    def ended(self, outcome: TurnResult) -> None:
        self.outcomes.append(outcome)

    def repeated(self, outcome: TurnResult) -> None:
        self.repetitions.append(outcome)


def lane(folder: Path, side: str = "") -> Lane:
    """The programs in a folder that is called as the side is."""
    return Lane(tuple(discovery.find(folder / (side or "bin"), folder)), side=side)


def plan(folder: Path, *, processes: int = 2, seed: int = 1, sides: Sequence[str] = ("",)) -> Plan:
    lanes = tuple(lane(folder, side) for side in sides)
    return Plan(lanes, range(1, processes + 1), seed, journal.scratch(folder))


SIDES = ("base", "candidate")
LETTERS = dict.fromkeys([f"gemm/{letter}" for letter in "abcdefgh"], 1000.0)


def merged(the_plan: Plan, outcomes: Sequence[TurnResult]) -> dict[str, Any]:
    return {str(row["name"]): row for row in written(the_plan.lanes[0].binaries, outcomes)}


def errors(rows: dict[str, Any]) -> dict[str, str]:
    return {name: row["error_message"] for name, row in rows.items() if "error_message" in row}


def test_the_seed_alone_decides_the_order(tmp_path: Path) -> None:
    for family in "abcdef":
        fake_binary.make(tmp_path / "bin", family)
    first, again, other = (
        [[turn.binary.family for turn in turns] for turns in order(plan(tmp_path, seed=seed))]
        for seed in (3, 3, 4)
    )
    assert first == again != other
    assert all(sorted(names) == list("abcdef") for names in first)
    assert first[0] != first[1]


def test_every_binary_runs_once_a_round(tmp_path: Path) -> None:
    fake_binary.make(tmp_path / "bin", "sync")
    fake_binary.make(tmp_path / "bin", "host")
    seen = Seen()
    outcomes = list(runner.run(plan(tmp_path, processes=3), seen))
    begun = sorted((turn.round, turn.binary.family) for turn in seen.turns)
    assert begun == [(n, family) for n in (1, 2, 3) for family in ("host", "sync")]
    assert seen.outcomes == outcomes
    assert len(outcomes) == 6
    for family in ("host", "sync"):
        assert (tmp_path / "bin" / f"bench_{family}.count").read_text() == "xxx"


def test_the_order_within_a_program_is_another_in_every_round_and_the_same_for_all_sides(
    tmp_path: Path,
) -> None:
    for side in SIDES:
        fake_binary.make(tmp_path / side, "gemm", LETTERS)
    outcomes = list(runner.run(plan(tmp_path, processes=3, seed=7, sides=SIDES), Seen()))
    ran = [(one.round, [*one.report.rows]) for one in outcomes]
    for number in (1, 2, 3):
        base, candidate = (names for round, names in ran if round == number)
        assert base == candidate
        assert sorted(base) == list(LETTERS)
    assert len({tuple(names) for _, names in ran}) == 3


def test_a_crash_in_a_shuffled_program_is_laid_to_the_benchmark_that_ran(tmp_path: Path) -> None:
    fake_binary.make(tmp_path / "bin", "gemm", LETTERS, ill={"gemm/c": "crash"})
    once = plan(tmp_path)
    rows = merged(once, list(runner.run(once, Seen())))
    assert errors(rows).keys() == {"gemm/c"}
    assert "SIGSEGV" in errors(rows)["gemm/c"]
    assert len(rows) == 8


def test_a_side_that_can_be_told_no_order_leaves_the_other_in_its_own(tmp_path: Path) -> None:
    for side in SIDES:
        fake_binary.make(tmp_path / side, "gemm", LETTERS, plain=side == "base")
    outcomes = list(runner.run(plan(tmp_path, processes=3, seed=7, sides=SIDES), Seen()))
    ran = {tuple(one.report.rows) for one in outcomes}
    assert ran == {tuple(LETTERS)}
    assert not any(outcome.faults for outcome in outcomes)


@pytest.mark.parametrize("lock_steps", [True, False])
def test_pairs_measure_ceilings_in_the_first_round(tmp_path: Path, *, lock_steps: bool) -> None:
    for side in SIDES:
        fake_binary.make(tmp_path / side, "gemm", LETTERS, ceilings=True)
    once = plan(tmp_path, processes=3, sides=SIDES)
    once.apart.update(() if lock_steps else LETTERS)
    outcomes = list(runner.run(once, Seen()))
    measured = [(one, row) for one in outcomes for row in one.report.rows.values()]
    candidates = [row for one, row in measured if one.side == "candidate"]
    assert all(bool(row.pairs) is lock_steps for row in candidates)
    rows = [(one.side, one.round, "limit_fraction" in row.counters) for one, row in measured]
    assert len(rows) == 2 * 3 * len(LETTERS)
    found = {(number, has) for side, number, has in rows if side == "candidate"}
    assert found == {(1, True), (2, False), (3, False)}


def test_a_process_alone_measures_ceilings_in_every_round(tmp_path: Path) -> None:
    fake_binary.make(tmp_path / "bin", "gemm", LETTERS, ceilings=True)
    outcomes = list(runner.run(plan(tmp_path, processes=3), Seen()))
    rows = [row for one in outcomes for row in one.report.rows.values()]
    assert len(rows) == 3 * len(LETTERS)
    assert all("limit_fraction" in row.counters for row in rows)


def test_it_is_told_which_benchmark_runs(tmp_path: Path, clock_of_hangs: None) -> None:
    times = {"gemm/a": 1e3, "gemm/b": 2e3, "gemm/c": 3e3}
    fake_binary.make(tmp_path / "bin", "gemm", times, ill={"gemm/b": "hang"})
    seen = Seen()
    once = plan(tmp_path, processes=1)
    list(runner.run(once, seen))
    assert tuple(seen.benchmarks) == seen.turns[0].binary.names


def test_a_command_has_gpu_arguments_for_gpu_binaries_and_a_filter_for_what_is_asked_for() -> None:
    sync = Binary(Path("bench_sync"), ("a", "a+b", "c"), total=3)
    host = Binary(Path("bench_host"), ("host",), needs_gpu=False, total=1)
    lane, device = Lane((sync, host), ("--inject=a=2",)), ("--device=1",)
    more = ["--inject=a=2", "--device=1"]
    assert command(lane, sync, device, sync.names) == ["bench_sync", *more]
    assert command(lane, host, device, host.names) == ["bench_host", "--inject=a=2"]
    chosen = r"--benchmark_filter=^(a\+b|c)$"
    assert command(lane, sync, device, ("a+b", "c")) == ["bench_sync", *more, chosen]


def test_a_program_with_nothing_left_to_run_does_not_start(tmp_path: Path) -> None:
    fake_binary.make(tmp_path / "bin", "gemm", {"gemm/only": 1.0}, faults={"2": "crash"})
    the_plan = plan(tmp_path, processes=4)
    outcomes = list(runner.run(the_plan, Seen()))
    asked = [(outcome.round, outcome.binary.names) for outcome in outcomes]
    assert asked == [(1, ("gemm/only",)), (2, ("gemm/only",)), (3, ()), (4, ())]
    assert (tmp_path / "bin" / "bench_gemm.count").read_text() == "xx"
    (message,) = errors(merged(the_plan, outcomes)).values()
    assert message == "in round 2: bench_gemm was killed by SIGSEGV: an illegal memory access"


def test_what_fails_on_one_side_runs_on_the_other(tmp_path: Path) -> None:
    fake_binary.make(tmp_path / "base", "gemm", ill={"gemm/one": "crash"})
    fake_binary.make(tmp_path / "candidate", "gemm")
    outcomes = list(runner.run(plan(tmp_path, processes=3, sides=SIDES), Seen()))
    asked = {side: [one.binary.names for one in outcomes if one.side == side] for side in SIDES}
    both = ["gemm/one", "gemm/two"]
    in_order = {side: [sorted(names) for names in rounds] for side, rounds in asked.items()}
    assert in_order == {"base": [both, both[1:], both[1:]], "candidate": [both] * 3}


@pytest.mark.parametrize("plain", [True, False])
def test_a_report_of_another_run_is_not_taken_for_ones_own(tmp_path: Path, plain: bool) -> None:
    faults = {"2": "no start", "3": "no start"}
    fake_binary.make(tmp_path / "bin", "gemm", faults=faults, plain=plain)
    the_plan = plan(tmp_path, processes=1)
    assert not errors(merged(the_plan, list(runner.run(the_plan, Seen()))))
    rows = merged(the_plan, list(runner.run(the_plan, Seen())))
    # It is unknown which benchmark a plain program would have begun with.
    assert list(errors(rows)) == (["gemm/one"] if plain else ["gemm/one", "gemm/two"])


@pytest.mark.parametrize("plain", [True, False])
@pytest.mark.parametrize("from_the_first_look", [True, False])
def test_a_program_of_thousands_of_benchmarks_loses_one(
    tmp_path: Path, from_the_first_look: bool, plain: bool
) -> None:
    """Linux takes 128 KiB in an argument, and no longer list of names."""
    long = "with_a_name_that_says_what_it_does_and_of_which_size"
    times = {f"gemm/{long}/n:{number}": 1000.0 for number in range(2100)}
    bad = f"gemm/{long}/n:1500"
    fake_binary.make(tmp_path / "bin", "gemm", times, ill={bad: "crash"}, plain=plain)
    once = plan(tmp_path)
    if not from_the_first_look:
        (lane,) = once.lanes
        some = selection.only(lane.binaries, [*times][1:])
        once = replace(once, lanes=(replace(lane, binaries=tuple(some)),))
    rows = merged(once, list(runner.run(once, Seen())))
    assert errors(rows).keys() == {bad}
    assert [*rows] == [*times][0 if from_the_first_look else 1 :]
