# SPDX-License-Identifier: Apache-2.0
"""Two programs in lock-step, and everything that one of them can do to the other."""

from __future__ import annotations

import json
import math
import sys
from itertools import pairwise
from pathlib import Path

import pytest

import fake_lock_step
from warpgauge.execution.lock_step_driver import (
    DEVICE,
    Enough,
    Finding,
    Plan,
    findings,
    main,
    median_error,
)

FAKE = [sys.executable, "-I", "-S", fake_lock_step.__file__]

Cases = dict[str, object]


def plan(tmp_path: Path, base: Cases, candidate: Cases, **more: object) -> Plan:
    """Both sides of the fake program; `base` and `candidate` are its cases, or all it is told."""
    told = [one if "cases" in one else {"cases": one} for one in (base, candidate)]
    given: dict[str, object] = {
        "commands": [[*FAKE, json.dumps(one)] for one in told],
        "outputs": [str(tmp_path / "base"), str(tmp_path / "candidate")],
        "names": [name for name in told[0]["cases"] if name in told[1]["cases"]],  # type: ignore[attr-defined,operator]
        "results": str(tmp_path / "results"),
        "cpu": None,
        "first": 0,
        "seed": 1,
        "deadline_s": 20.0,
        **more,
    }
    return Plan(**given)  # type: ignore[arg-type]


def found(one: Plan) -> dict[str, Finding]:
    return {finding.name: finding for finding in findings(one)}


def test_the_log_ratio_is_that_of_the_candidate_over_the_base(tmp_path: Path) -> None:
    one = found(plan(tmp_path, {"a": 1e-6, "b": 2e-6}, {"a": 1.05e-6, "b": 1e-6}))
    assert one["a"].log_ratio == pytest.approx(math.log(1.05))
    assert one["b"].log_ratio == pytest.approx(math.log(0.5))
    assert not one["a"].fault
    assert not one["a"].lowered


def test_only_one_side_works_at_a_time(tmp_path: Path) -> None:
    cases = {"cases": dict.fromkeys("abc", 1e-06), "log": str(tmp_path / "log")}
    found(plan(tmp_path, cases, cases))
    lines = (tmp_path / "log").read_text().splitlines()
    slices = sorted(tuple(map(float, line.split())) for line in lines)
    assert len(slices) >= 3 * 2 * DEVICE.fewest
    assert all(one[1] <= other[0] for one, other in pairwise(slices))


def test_both_sides_time_as_many_calls_in_a_batch(tmp_path: Path) -> None:
    base, candidate = (
        {"cases": {"a": "calls"}, "clock": "host", "calls": calls} for calls in (4, 16)
    )
    one = found(plan(tmp_path, base, candidate))["a"]
    assert one.log_ratio == 0.0
    assert one.host


def test_what_only_one_side_has_is_skipped(tmp_path: Path) -> None:
    one = found(plan(tmp_path, {"x": 1, "a": 1, "y": 1}, {"a": 1, "z": 1}))
    assert one.keys() == {"a"}
    assert one["a"].log_ratio == 0.0


def test_a_benchmark_that_fails_on_one_side_has_no_ratio_and_costs_no_other(tmp_path: Path) -> None:
    one = found(plan(tmp_path, {"a": "fails", "b": 1}, {"a": 1, "b": 1}))
    assert one["a"].log_ratio is None
    assert not one["a"].fault  # its row tells
    assert one["b"].log_ratio == 0.0


@pytest.mark.parametrize(
    ("does", "why"),
    [
        ("crashes", "ended"),
        ("exits", "ended"),
        ("stops", "said nothing for 0.3 s"),
        ("hangs", "said nothing for 0.3 s"),
        ("garbage", "out of turn"),
        ("twice", "out of turn"),
        ("timeless", "told no time"),
    ],
)
@pytest.mark.parametrize("side", [0, 1])
def test_a_side_that_misbehaves_costs_its_own_benchmark(
    tmp_path: Path, does: str, why: str, side: int
) -> None:
    sides: list[Cases] = [{"a": 1, "bad": 1, "c": 1}, {"a": 1, "bad": 1, "c": 1}]
    sides[side]["bad"] = does
    deadline = 0.3 if does in ("stops", "hangs") else 20.0
    one = found(plan(tmp_path, *sides, deadline_s=deadline))
    assert one["bad"].of == side
    assert why in one["bad"].fault
    assert one["bad"].log_ratio is None
    assert one["bad"].status == {"crashes": -11, "exits": 7}.get(does, -9)
    assert one["a"].log_ratio == one["c"].log_ratio == 0.0


def test_a_program_that_does_not_speak_the_protocol_is_told_of_once(tmp_path: Path) -> None:
    base = {"cases": {"a": 1, "b": 1}, "hello": "lock-step 2"}
    one = found(plan(tmp_path, base, {"a": 1, "b": 1}))
    assert {finding.of for finding in one.values()} == {0}
    assert {finding.fault for finding in one.values()} == {"speaks another version of the protocol"}


def test_a_program_that_refuses_the_option_is_told_of_with_its_status(tmp_path: Path) -> None:
    one = plan(tmp_path, {"a": 1}, {"a": 1})
    refuses = [sys.executable, "-c", "import sys; sys.exit(2)"]
    one.commands[0] = refuses
    [finding] = findings(one)
    assert (finding.of, finding.status) == (0, 2)


def test_sides_in_different_orders_are_not_measured(tmp_path: Path) -> None:
    one = found(plan(tmp_path, {"a": 1, "b": 1}, {"b": 1, "a": 1}))
    assert all(finding.log_ratio is None and finding.fault for finding in one.values())


def test_a_slice_at_a_lowered_clock_is_told(tmp_path: Path) -> None:
    assert found(plan(tmp_path, {"a": 1e-6}, {"a": "lowered"}))["a"].lowered


def test_the_program_writes_a_line_for_each_benchmark(tmp_path: Path) -> None:
    one = plan(tmp_path, {"a": 1, "b": "crashes"}, {"a": 1, "b": 1})
    (tmp_path / "plan").write_text(json.dumps(one.__dict__))
    assert main(str(tmp_path / "plan")) == 0
    lines = [json.loads(line) for line in (tmp_path / "results").read_text().splitlines()]
    assert [line["name"] for line in lines] == ["a", "b"]
    assert lines[1]["of"] == 0


def test_measuring_ends_when_the_median_is_known_or_it_has_been_long_enough() -> None:
    rule = Enough(fewest=5, most=20, error=1e-3, seconds=1.0)
    assert not rule.reached([0.0] * 4, 0.5)
    assert rule.reached([0.0] * 5, 0.5)
    noisy = [0.1 * (-1) ** index for index in range(19)]
    assert not rule.reached(noisy, 0.5)
    assert rule.reached([*noisy, 0.1], 0.5)
    assert rule.reached(noisy, 1.0)
    assert not rule.reached([0.0], 1.0)
    assert rule.reached([0.0], 4.0)  # slow calls: something is better than nothing


def test_the_error_of_a_median_needs_no_shape_of_the_noise() -> None:
    values = [index / 100 for index in range(-50, 51)]
    assert median_error(values) == pytest.approx(0.06)  # six of 101 ranks
    assert median_error([1.0]) == math.inf
    assert median_error([0.0, 1.0] * 10) == 0.5  # of two states
