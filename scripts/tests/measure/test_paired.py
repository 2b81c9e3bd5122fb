# SPDX-License-Identifier: Apache-2.0
"""Two builds run in pairs, round by round, and become two run files whose rounds meet."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from test_runner import SIDES, Seen

import fake_binary
from reports import written
from warpgauge.measure import ab_run, discovery, journal, runner, selection
from warpgauge.measure.ab_run import Side
from warpgauge.measure.discovery import Binary
from warpgauge.measure.journal import Journal
from warpgauge.measure.plan import Lane, Plan, TurnResult, command, order
from warpgauge.records.sessions import are_paired, only_session

GEMM = {"gemm/a": 1000.0, "gemm/b": 2000.0}
FACTS = {"order_seed": "1", "filter": ""}


class Watched(Seen):
    """Runs lanes for real, and keeps what ran in which order."""

    def __init__(self, folder: Path) -> None:
        super().__init__()
        self._folder = folder
        self.commands: list[list[str]] = []

    def __call__(self, lanes: Sequence[Lane], rounds: range) -> list[TurnResult]:
        plan = Plan(tuple(lanes), rounds, 1, journal.scratch(self._folder))
        self.commands += [
            command(lane, binary, (), binary.names) for lane in lanes for binary in lane.binaries
        ]
        return list(runner.run(plan, self))

    @property
    def ran(self) -> list[tuple[int, str, str]]:
        return [(turn.round, turn.binary.family, turn.lane.side) for turn in self.turns]


def side(folder: Path, **facts: str) -> Side:
    return Side(tuple(discovery.find(folder, folder)), facts)


Sides = dict[str, Side]


def measured(sides: Sides, names: Sequence[str] | None, rounds: range, run: Watched) -> Sides:
    """Return the sides with results of these rounds; if `names` are given, of those alone."""
    chosen = {name: side if names is None else side.only(names) for name, side in sides.items()}
    return ab_run.with_results(
        sides, run([side.lane(name) for name, side in chosen.items()], rounds)
    )


def both(folder: Path) -> Sides:
    return {name: side(folder / name) for name in SIDES}


def documents(sides: Sides) -> list[dict[str, Any]]:
    """Rows of both sides by name."""
    found = (written(side.binaries, side.outcomes, looks=()) for side in sides.values())
    return [{str(row["name"]): row for row in rows} for rows in found]


def test_the_sides_take_turns_in_going_first(tmp_path: Path) -> None:
    for name in SIDES:
        fake_binary.make(tmp_path / name, "gemm", GEMM)
        fake_binary.make(tmp_path / name, "sync")
    run = Watched(tmp_path)
    measured(both(tmp_path), None, range(1, 4), run)
    gemm = [(number, side) for number, family, side in run.ran if family == "gemm"]
    orders = {1: SIDES, 2: SIDES[::-1], 3: SIDES}
    assert gemm == [(number, side) for number, order in orders.items() for side in order]
    families = [family for _, family, _ in run.ran]
    assert all(one == other for one, other in zip(families[::2], families[1::2], strict=True))


def test_a_round_has_the_same_order_whichever_round_a_run_begins_with() -> None:
    lane = Lane(tuple(Binary(Path(f"bench_{family}"), (f"{family}/a",)) for family in "abcdef"))
    whole, rest = (order(Plan((lane,), r, 5, Journal(Path()))) for r in (range(1, 9), range(4, 9)))
    assert whole[3:] == rest
    assert len({tuple(turn.binary.family for turn in turns) for turns in whole}) > 1


def test_rows_say_which_rounds_their_times_come_from(tmp_path: Path) -> None:
    lowered = {2: {"throttled": 1.0}, 3: {"throttled": 1.0}}  # at the second try, too
    fake_binary.make(tmp_path / "base", "gemm", GEMM, counters=lowered)
    fake_binary.make(tmp_path / "candidate", "gemm", GEMM)
    sides = measured(both(tmp_path), None, range(1, 4), Watched(tmp_path))
    one, other = documents(sides)
    assert one["gemm/a"]["process_rounds"] == [1, 3]
    assert one["gemm/a"]["process_medians"] == [1001.0, 1004.0]
    assert other["gemm/a"]["process_rounds"] == [1, 2, 3]


def test_a_second_look_adds_its_rounds_to_the_rows_that_it_measured(tmp_path: Path) -> None:
    for name in SIDES:
        fake_binary.make(tmp_path / name, "gemm", GEMM)
        fake_binary.make(tmp_path / name, "sync")
    run = Watched(tmp_path)
    sides = measured(both(tmp_path), None, range(1, 3), run)
    run.commands.clear()
    sides = measured(sides, ("gemm/b",), range(3, 6), run)
    assert [Path(command[0]).name for command in run.commands] == ["bench_gemm", "bench_gemm"]
    assert all(command[1:] == ["--benchmark_filter=^(gemm/b)$"] for command in run.commands)
    for found in documents(sides):
        assert found["gemm/b"]["process_rounds"] == [1, 2, 3, 4, 5]
        assert found["gemm/b"]["process_medians"] == [2001.0, 2002.0, 2003.0, 2004.0, 2005.0]
        assert found["gemm/a"]["process_rounds"] == [1, 2]
        assert found["sync/one"]["process_rounds"] == [1, 2]
        assert not any(row.get("error_occurred") for row in found.values())


def test_a_fault_in_a_second_look_is_an_error_of_what_it_was_to_measure(tmp_path: Path) -> None:
    fake_binary.make(tmp_path / "base", "gemm", GEMM)
    fake_binary.make(tmp_path / "candidate", "gemm", GEMM, faults={"3": "crash"})
    run = Watched(tmp_path)
    sides = measured(both(tmp_path), None, range(1, 3), run)
    one, other = documents(measured(sides, ("gemm/b",), range(3, 5), run))
    assert other["gemm/b"]["error_message"].startswith("in round 3: bench_gemm was killed")
    assert "error_message" not in other["gemm/a"]
    assert "error_message" not in one["gemm/b"]


def test_a_program_that_one_side_lacks_runs_alone(tmp_path: Path) -> None:
    fake_binary.make(tmp_path / "base", "gemm", GEMM)
    fake_binary.make(tmp_path / "base", "old")
    fake_binary.make(tmp_path / "candidate", "gemm", GEMM)
    fake_binary.make(tmp_path / "candidate", "new")
    run = Watched(tmp_path)
    one, other = documents(measured(both(tmp_path), None, range(1, 3), run))
    alone = [(family, side) for _, family, side in run.ran if family != "gemm"]
    assert sorted(alone) == [("new", "candidate")] * 2 + [("old", "base")] * 2
    assert list(one) == ["gemm/a", "gemm/b", "old/one", "old/two"]
    assert list(other) == ["gemm/a", "gemm/b", "new/one", "new/two"]


def test_a_program_that_cannot_run_on_one_side_is_an_error_of_that_side(tmp_path: Path) -> None:
    fake_binary.make(tmp_path / "base", "gemm", listing_fault="no libcublas")
    fake_binary.make(tmp_path / "candidate", "gemm", GEMM)
    for names in (None, ("gemm/a",)):
        sides = measured(both(tmp_path), names, range(1, 2), Watched(tmp_path))
        one, other = documents(sides)
        assert "no libcublas" in one["gemm"]["error_message"]
        assert "error_message" not in other["gemm/a"]


def test_the_two_files_know_each_other_and_themselves(tmp_path: Path) -> None:
    fake_binary.make(tmp_path / "bin", "gemm", GEMM)
    base = side(tmp_path / "bin", commit="b" * 40, dirty="false")
    candidate = side(tmp_path / "bin", commit="c" * 40, dirty="true", inject="gemm=2")
    sides = {"base": base, "candidate": candidate}
    sides = measured(sides, None, range(1, 4), Watched(tmp_path))
    files = {name: tmp_path / f"{name}.json" for name in sides}
    kept = ab_run.written(sides, files, FACTS, {"cpu_model": "C"}, [3])
    one, other = (only_session(kept[name]).context for name in sides)
    assert are_paired(kept["base"], kept["candidate"])
    assert (one["pair_side"], other["pair_side"]) == ("base", "candidate")
    assert (one["commit"], one["dirty"], one.get("inject")) == ("b" * 40, "false", None)
    assert (other["commit"], other["dirty"], other["inject"]) == ("c" * 40, "true", "gemm=2")
    assert one["processes"] == other["processes"] == "3"
    assert one["cpu_model"] == "C"
    again = ab_run.written(sides, files, FACTS, {}, [3])
    assert not are_paired(kept["base"], again["candidate"])


def test_extra_work_goes_into_one_side(tmp_path: Path) -> None:
    fake_binary.make(tmp_path / "bin", "gemm", GEMM)
    base = side(tmp_path / "bin")
    candidate = Side(base.binaries, {}, ("--inject=gemm=2",))
    run = Watched(tmp_path)
    measured({"base": base, "candidate": candidate}, ("gemm/a",), range(1, 2), run)
    chosen = "--benchmark_filter=^(gemm/a)$"
    assert [command[1:] for command in run.commands] == [[chosen], ["--inject=gemm=2", chosen]]


@pytest.mark.parametrize("name", ["gemm/n:4", "a.b", "a+(b)|c", r"^a\b$", "a[0]{2}", "x?*", "a b"])
def test_a_filter_for_some_names_finds_them_and_no_others(name: str) -> None:
    others = [name + "x", "x" + name, name[:-1], "gemm/n:40"]
    expression = selection.exactly([name, "other"])
    assert re.search(expression, name)
    assert not any(re.search(expression, other) for other in others)
    # What POSIX calls special is escaped, and nothing else.
    assert selection.exactly(["a.b", "c[1]{2}", "d:e-f/g"]) == r"^(a\.b|c\[1]\{2}|d:e-f/g)$"
