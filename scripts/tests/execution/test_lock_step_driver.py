# SPDX-License-Identifier: Apache-2.0
"""Two programs in lock-step, and everything that one of them can do to the other."""

from __future__ import annotations

import dataclasses
import json
import math
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import cast

import pytest

import clocks
import fake_lock_step
from warpgauge.execution import lock_step_driver, lock_step_protocol
from warpgauge.execution.lock_step_driver import DEVICE, HOST, findings, is_enough, main
from warpgauge.execution.lock_step_protocol import Finding, Plan, Program


@pytest.fixture(autouse=True)
def supplied_clock(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Deadlines run only while a side hangs, and slices take no time."""
    clock = clocks.while_one_hangs(tmp_path).module
    monkeypatch.setattr(lock_step_driver, "time", clock)
    monkeypatch.setattr(lock_step_protocol, "time", clock)
    monkeypatch.setattr(lock_step_protocol, "_LOOK_S", 0.05)
    monkeypatch.setattr(lock_step_protocol, "_ENDING_S", 600.0)


FAKE = [sys.executable, "-I", "-S", fake_lock_step.__file__]

Cases = Mapping[str, object]


def plan(tmp_path: Path, *sides: Cases, **more: object) -> Plan:
    """The fake program on both sides, which measures what both have.

    A side is its cases, or all it is told.
    """
    one = Plan([program(tmp_path, *sides)], str(tmp_path / "results"), [0, 1], 1, 20.0)
    return dataclasses.replace(one, **more)  # type: ignore[arg-type]


def program(tmp_path: Path, *sides: Cases, called: str = "side") -> Program:
    told = [one if "cases" in one else {"cases": one} for one in sides]
    base, candidate = ([*cast(Cases, one["cases"])] for one in told)
    return Program(
        commands=[
            [*FAKE, json.dumps({"hangs": str(tmp_path / f"{called}.hangs"), **one})] for one in told
        ],
        reports=[str(tmp_path / f"{called}{index}-") for index in range(len(told))],
        names=[name for name in base if name in candidate],
        cpu=None,
    )


def found(one: Plan) -> dict[str, Finding]:
    return {finding.name: finding for finding in findings(one)}


def test_the_log_ratio_is_that_of_the_candidate_over_the_base(tmp_path: Path) -> None:
    one = found(plan(tmp_path, {"a": 1e-6, "b": 2e-6}, {"a": 1.05e-6, "b": 1e-6}))
    assert one["a"].log_ratio == pytest.approx(math.log(1.05))
    assert one["b"].log_ratio == pytest.approx(math.log(0.5))
    assert one["a"].of is None


def test_only_one_side_works_at_a_time(tmp_path: Path) -> None:
    cases = {"cases": dict.fromkeys("abc", 1e-06), "log": str(tmp_path / "log")}
    found(plan(tmp_path, cases, cases))
    lines = (tmp_path / "log").read_text().splitlines()
    slices = len(lines) // 2
    assert slices == 3 * 2 * 3
    assert lines == ["begins", "ends"] * slices


def test_both_sides_time_as_many_calls_in_a_batch(tmp_path: Path) -> None:
    base, candidate = (
        {"cases": {"a": "calls"}, "clock": "host", "calls": calls} for calls in (4, 16)
    )
    one = found(plan(tmp_path, base, candidate))["a"]
    assert one.log_ratio == 0.0
    assert one.slices >= 5


@pytest.mark.parametrize(
    ("hellos", "asked"),
    [((2, 2), "0.001"), ((1, 2), ""), ((2, 1), ""), ((1, 1), "")],
)
@pytest.mark.parametrize("clock", ["host", "device"])
def test_slices_of_host_calls_are_as_long_on_both_sides(
    tmp_path: Path, hellos: tuple[int, int], asked: str, clock: str
) -> None:
    """A side of version 1 takes no length, and then no side gets one."""
    sides = [
        {"cases": {"a": "length"}, "clock": clock, "hello": f"lock-step {version}"}
        for version in hellos
    ]
    found(plan(tmp_path, *sides))
    told = {(tmp_path / f"side{index}-1.err").read_text().split()[-1] for index in range(2)}
    assert told == {asked if asked and clock == "host" else "none"}


def test_what_only_one_side_has_is_skipped(tmp_path: Path) -> None:
    one = found(plan(tmp_path, {"x": 1, "a": 1, "y": 1}, {"a": 1, "z": 1}))
    assert one.keys() == {"a"}
    assert one["a"].log_ratio == 0.0


@pytest.mark.parametrize("order", [[0, 1], [1, 0]])
def test_the_sides_start_one_after_the_other_in_the_order_of_the_pair(
    tmp_path: Path, order: list[int]
) -> None:
    """Whose CUDA context is first moves some times: that must be the pair's order, not a race."""
    log = str(tmp_path / "log")
    sides = [{"cases": {"a": 1}, "starts": log, "is": side} for side in ("base", "candidate")]
    one = found(plan(tmp_path, *sides, order=order))
    assert one["a"].log_ratio == 0.0
    names = ["base", "candidate"]
    told = [f"{names[side]} {what}" for side in order for what in ("starts", "greets")]
    assert (tmp_path / "log").read_text().splitlines() == told


def several(tmp_path: Path, *programs: tuple[Cases, Cases], **more: object) -> Plan:
    told = [
        program(tmp_path, *sides, called=f"program{number}-side")
        for number, sides in enumerate(programs)
    ]
    return dataclasses.replace(plan(tmp_path, {}, {}), programs=told, **more)  # type: ignore[arg-type]


def test_a_program_starts_while_the_one_before_ends_and_works_when_that_is_gone(
    tmp_path: Path,
) -> None:
    """Its start does not wait for the other's end, its measuring does."""
    log = str(tmp_path / "log")
    slow = {"cases": {"a": 1}, "ends": log, "is": "first"}
    after = {"cases": {"a": 2}, "starts": log, "works": log, "is": "second"}
    told = [*findings(several(tmp_path, (slow, {"a": 1}), (after, {"a": 1})))]
    ratios = {(one.program, one.name): one.log_ratio for one in told}
    assert ratios == {(0, "a"): 0.0, (1, "a"): pytest.approx(math.log(0.5))}
    order = (tmp_path / "log").read_text().splitlines()
    assert order == ["second starts", "second greets", "first ends", "second works"]


@pytest.mark.parametrize("ill", [{"cases": {"a": "crashes", "b": 1}}, {"at the end": "crashes"}])
@pytest.mark.parametrize("side", [0, 1])
def test_behind_a_program_that_fails_nothing_is_measured(
    tmp_path: Path, ill: Cases, side: int
) -> None:
    """What it left on the GPU would disturb the others: the runner waits for that to be gone."""
    good: Cases = {"cases": {"a": 1, "b": 1}}
    pairs = [(good, {**good, **ill}) if side else ({**good, **ill}, good), (good, good)]
    told = [*findings(several(tmp_path, *pairs))]
    assert {one.program for one in told} == {0}
    assert {one.name for one in told} == {"a", "b"}
    assert {one.of for one in told} == {None, side}


def test_a_program_that_cannot_start_beside_another_starts_when_that_is_gone(
    tmp_path: Path,
) -> None:
    room = str(tmp_path / "room")
    first = {"cases": {"a": 1}, "takes": room}
    after = {"cases": {"b": 1}, "needs": room}
    told = [*findings(several(tmp_path, (first, {"a": 1}), (after, {"b": 1})))]
    assert {(one.name, one.log_ratio, one.start) for one in told} == {("a", 0, 1), ("b", 0, 2)}


def test_what_a_program_leaves_behind_is_ended_before_the_next_one_works(tmp_path: Path) -> None:
    mark = str(tmp_path / "mark")
    first = {"cases": {"a": 1}, "leaves": mark}
    after = {"cases": {"b": 1}, "works": mark, "is": "second"}
    told = [*findings(several(tmp_path, (first, {"a": 1}), (after, {"b": 1})))]
    assert {one.name: one.left_behind for one in told} == {"a": True, "b": False}
    assert (tmp_path / "mark").read_text().splitlines() == ["child ends", "second works"]


def test_a_side_that_dies_as_it_waits_costs_no_benchmark(tmp_path: Path) -> None:
    mark = tmp_path / "once"
    dies = {"cases": {"a": 1, "b": 1}, "dies waiting": [str(mark), "b"]}
    other = {"cases": {"a": 1, "b": 1}, "behind": [str(mark), "b"]}
    told = found(plan(tmp_path, dies, other))
    assert mark.exists()
    assert [one.log_ratio for one in told.values()] == [0.0, 0.0]
    assert [one.start for one in told.values()] == [1, 2]


def test_a_side_that_lacks_what_it_is_to_measure_is_at_fault(tmp_path: Path) -> None:
    one = plan(tmp_path, {"a": 1, "b": 1}, {"a": 1})
    one.programs[0].names.append("b")
    told = found(one)
    assert told["a"].log_ratio == 0.0
    assert (told["b"].of, told["b"].ended_for) == (1, "reached its end when the base reached b")


def test_what_both_sides_lack_is_told_of_once(tmp_path: Path) -> None:
    one = plan(tmp_path, {"a": 1}, {"a": 1})
    one.programs[0].names.append("b")
    told = found(one)
    assert told["a"].log_ratio == 0.0
    assert (told["b"].began, told["b"].of, told["b"].status) == (False, 0, 0)


def test_a_benchmark_that_fails_on_one_side_has_no_ratio_and_costs_no_other(tmp_path: Path) -> None:
    one = found(plan(tmp_path, {"a": "fails", "b": 1}, {"a": 1, "b": 1}))
    assert one["a"].log_ratio is None
    assert one["a"].of is None  # its row tells
    assert one["b"].log_ratio == 0.0


@pytest.mark.parametrize(
    ("does", "why"),
    [
        ("crashes", ""),
        ("exits", ""),
        ("dies deaf", ""),
        ("leaves a child", ""),
        ("stops", "sent no message for 1 s"),
        ("hangs", "sent no message for 1 s"),
        ("garbage", "out of turn"),
        ("twice", "out of turn"),
        ("timeless", "sent 'slice 0', which measures nothing"),
        ("wordless", "sent 'slice', which measures nothing"),
    ],
)
@pytest.mark.parametrize("side", [0, 1])
def test_a_side_that_misbehaves_costs_its_own_benchmark(
    tmp_path: Path, does: str, why: str, side: int
) -> None:
    sides = [{"a": 1, "bad": does if side == index else 1, "c": 1} for index in (0, 1)]
    one = found(plan(tmp_path, *sides, deadline_s=1.0))
    assert one["bad"].of == side
    assert why in one["bad"].ended_for
    assert bool(why) == bool(one["bad"].ended_for)
    assert one["bad"].log_ratio is None
    by_itself = {"crashes": -11, "exits": 7, "dies deaf": 7, "leaves a child": 7}
    assert one["bad"].status == by_itself.get(does, -9)
    assert one["a"].log_ratio == one["c"].log_ratio == 0.0


def test_a_program_that_does_not_speak_the_protocol_is_told_of_once(tmp_path: Path) -> None:
    base = {"cases": {"a": 1, "b": 1}, "hello": "lock-step 3"}
    one = found(plan(tmp_path, base, {"a": 1, "b": 1}))
    assert {finding.of for finding in one.values()} == {0}
    said = "speaks another version of the protocol"
    assert {(finding.ended_for, finding.began) for finding in one.values()} == {(said, False)}


@pytest.mark.parametrize(
    ("command", "status"), [([sys.executable, "-c", "exit(2)"], 2), (["/no/such/program"], 0)]
)
def test_a_program_that_does_not_begin_is_told_of_with_its_status(
    tmp_path: Path, command: list[str], status: int
) -> None:
    one = plan(tmp_path, {"a": 1}, {"a": 1})
    one.programs[0].commands[1] = command
    [finding] = findings(one)
    assert (finding.of, finding.status, finding.began) == (1, status, False)


def test_sides_in_different_orders_cannot_be_measured_together(tmp_path: Path) -> None:
    one = found(plan(tmp_path, {"a": 1, "b": 1}, {"b": 1, "a": 1}))
    assert not any(finding.log_ratio is not None or finding.began for finding in one.values())


def test_a_side_that_ends_badly_behind_its_last_benchmark_is_told_with_all(tmp_path: Path) -> None:
    bad = {"cases": {"a": 1, "b": 1}, "at the end": "crashes"}
    all_found = list(findings(plan(tmp_path, bad, {"a": 1, "b": 1})))
    assert [one.name for one in all_found] == ["a", "b", "a", "b"]
    assert {(one.of, one.status) for one in all_found if one.after_last} == {(0, -11)}


def test_a_side_killed_between_two_benchmarks_costs_none(tmp_path: Path) -> None:
    bad = {"cases": {"a": 1, "b": 1}, "between": str(tmp_path / "once")}
    one = found(plan(tmp_path, bad, {"a": 1, "b": 1}))
    assert [finding.log_ratio for finding in one.values()] == [0.0, 0.0]
    assert [finding.start for finding in one.values()] == [1, 2]


def test_the_program_writes_a_line_for_each_benchmark(tmp_path: Path) -> None:
    one = plan(tmp_path, {"a": 1, "b": "crashes"}, {"a": 1, "b": 1})
    (tmp_path / "plan").write_text(json.dumps(dataclasses.asdict(one)))
    assert main(str(tmp_path / "plan")) == 0
    lines = [json.loads(line) for line in (tmp_path / "results").read_text().splitlines()]
    assert [line["name"] for line in lines] == ["a", "b"]
    assert lines[1]["of"] == 0


def test_slices_go_on_until_their_median_is_known() -> None:
    def of(slices: int, scatter: float = 0.0) -> list[float]:
        return [scatter * (-1) ** n for n in range(slices)]

    device, (older, host) = DEVICE, HOST.values()
    assert not is_enough(of(2), device, 0.1)
    assert is_enough(of(3), device, 0.1)
    assert not is_enough(of(4), host, 0.1)
    assert is_enough(of(5), host, 0.1)
    assert not is_enough(of(8, 0.01), device, 0.1)
    assert is_enough(of(9, 0.01), device, 0.1)
    assert not is_enough(of(6, 0.02), host, 0.1)
    assert is_enough(of(20, 0.01), host, 0.1)
    assert is_enough(of(40, 1.0), host, 0.1)
    assert not is_enough(of(39, 1.0), host, 0.1)
    assert is_enough(of(25, 1.0), older, 0.1)
    # Long ones end early; something is better than nothing.
    assert is_enough(of(3, 1.0), host, 0.25)
    assert not is_enough(of(2), host, 0.99)
    assert is_enough(of(1), host, 1.0)
    assert not is_enough(of(0), device, 60.0)
