# SPDX-License-Identifier: Apache-2.0
"""What the driver tells of a program becomes the results of its turns."""

from __future__ import annotations

from pathlib import Path

import pytest

from warpgauge.measure.discovery import Binary
from warpgauge.measure.drive_lines import End, Fault, Report
from warpgauge.measure.driven_program import DrivenProgram
from warpgauge.measure.journal import Journal
from warpgauge.measure.plan import Lane, Plan, Turn

REPORT = (
    '{"context": {}, "benchmarks": [{"name": "%s", "run_type": "iteration", "real_time": 1, '
    '"time_unit": "s"}]}'
)


@pytest.mark.parametrize(("sides", "whose"), [(("",), ""), (("base", "candidate"), "candidate: ")])
def test_an_end_between_two_benchmarks_costs_none_and_is_told(
    sides: tuple[str, ...], whose: str, tmp_path: Path
) -> None:
    binary = Binary(Path("bench_gemm"), ("gemm/a", "gemm/b"), driven=True, total=2)
    lanes = tuple(Lane((binary,), side=side) for side in sides)
    plan = Plan(lanes, range(1, 2), 1, Journal(tmp_path))
    program = DrivenProgram(plan, [Turn(1, lane, binary) for lane in lanes], binary.names)
    program.begin()
    last = len(sides) - 1
    fault = Fault(0, [], last, "run", "ended", -11, "", "an illegal memory access\n")
    for name in binary.names:
        for side in range(len(sides)):
            program.take(Report(0, name, side, REPORT % name))
        if name == "gemm/a":
            program.take(fault)
    program.take(End(0, 1.0, left_behind=False, status=[0] * len(sides)))
    program.settle()
    outcome = program.results()[last]
    assert outcome.faults == {}
    said = "bench_gemm was killed by SIGSEGV between two benchmarks: an illegal memory access"
    assert [*outcome.remarks] == [f"{whose}{said}; the rest ran in another process"]


@pytest.mark.parametrize("number", [1, 2])
@pytest.mark.parametrize("sides", [("",), ("base", "candidate")])
def test_a_command_by_hand_has_all_options_of_the_driven_one(
    sides: tuple[str, ...], number: int, tmp_path: Path
) -> None:
    binary = Binary(Path("bench_gemm"), ("gemm/a", "gemm/b"), driven=True, total=2)
    lanes = tuple(Lane((binary,), (f"--side={side}",), side) for side in sides)
    plan = Plan(lanes, range(1, 3), 1, Journal(tmp_path), gpu_arguments=("--device=1",))
    turns = [Turn(number, lane, binary) for lane in lanes]
    whole = DrivenProgram(plan, turns, binary.names)
    whole.begin()
    assert whole.by_hand == whole.planned.sides
    part = DrivenProgram(plan, turns, ("gemm/b",))
    part.begin()
    for by_hand, driven in zip(part.by_hand, part.planned.sides, strict=True):
        assert sorted(by_hand) == sorted([*driven, "--benchmark_filter=^(gemm/b)$"])
