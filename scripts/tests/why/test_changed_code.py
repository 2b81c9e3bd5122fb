# SPDX-License-Identifier: Apache-2.0
"""A benchmark can have changed unless the host code and all kernels of its program are equal."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from warpgauge.measure.discovery import Binary
from warpgauge.measure.program_code import Kernel, ProgramCode
from warpgauge.verdict import policy
from warpgauge.why import changes
from warpgauge.why.changes import Changes, Use

SUM, MAX = Kernel("sum", 32, 0, 64), Kernel("max", 40, 8, 0)
NAMES = ("sum/f32", "sum/f64")


def program(*names: str, host: str = "host", **kernels: Kernel) -> ProgramCode:
    return ProgramCode(Binary(Path("bench"), names), {"main.o": host}, {90: kernels}, ())


BASE = {"bench_sum": program(*NAMES, sum=SUM, max=MAX), "bench_copy": program("copy", copy=SUM)}


def with_sum(code: ProgramCode) -> Changes:
    return changes.between("old", "new", BASE, {**BASE, "bench_sum": code})


def test_equal_programs_leave_every_benchmark_as_it_is() -> None:
    found = changes.between("old", "new", BASE, BASE)
    assert sorted(found.cannot_have_changed) == ["copy", *NAMES]
    assert (found.can_have_changed, found.new, found.removed, found.kernels) == ((), (), (), ())


@pytest.mark.parametrize(
    "code",
    [
        program(*NAMES, host="other", sum=SUM, max=MAX),
        program(*NAMES, sum=SUM._replace(digest="other"), max=MAX),
        program(*NAMES, sum=SUM._replace(registers=33), max=MAX),
        program(*NAMES, sum=SUM._replace(stack=8), max=MAX),
        program(*NAMES, sum=SUM),
        program(*NAMES, sum=SUM, max=MAX, third=SUM),
        replace(program(*NAMES, sum=SUM, max=MAX), host={"main.o": "host", "more.o": "host"}),
        replace(program(*NAMES, sum=SUM, max=MAX), host={}),
        replace(BASE["bench_sum"], kernels={90: {"sum": SUM, "max": MAX}, 100: {"sum": SUM}}),
    ],
)
def test_what_differs_in_a_program_counts_for_its_benchmarks_alone(code: ProgramCode) -> None:
    found = with_sum(code)
    assert found.cannot_have_changed == ("copy",)
    assert [(change.name, change.benchmarks) for change in found.can_have_changed] == [
        ("bench_sum", NAMES)
    ]


def test_a_kernel_that_differs_is_told_with_what_it_needs_and_its_programs() -> None:
    other = SUM._replace(digest="other", registers=48)
    both = {name: replace(code, kernels={90: {"sum": SUM}}) for name, code in BASE.items()}
    after = {name: replace(code, kernels={90: {"sum": other}}) for name, code in BASE.items()}
    (kernel,) = changes.between("old", "new", both, after).kernels
    assert (kernel.name, kernel.architecture) == ("sum", 90)
    assert kernel.programs == ("bench_copy", "bench_sum")
    assert (kernel.before, kernel.after) == (Use(32, 0, 64, 0, 0), Use(48, 0, 64, 0, 0))


def test_a_kernel_of_one_side_has_nothing_on_the_other() -> None:
    (gone,) = with_sum(program(*NAMES, sum=SUM)).kernels
    assert (gone.name, gone.before, gone.after) == ("max", Use(40, 0, 0, 8, 0), None)


def test_the_kernels_of_a_new_program_are_those_of_one_side() -> None:
    found = changes.between("old", "new", BASE, {**BASE, "bench_new": program("new", max=MAX)})
    (kernel,) = found.kernels
    assert (kernel.name, kernel.programs, kernel.before) == ("max", ("bench_new",), None)
    assert (found.new, found.can_have_changed) == (("new",), ())


def test_new_and_removed_benchmarks_are_neither() -> None:
    found = with_sum(program(NAMES[0], "sum/new", host="other", sum=SUM, max=MAX))
    assert found.new == ("sum/new",)
    assert found.removed == (NAMES[1],)
    assert [change.benchmarks for change in found.can_have_changed] == [NAMES[:1]]


def test_a_benchmark_of_a_new_program_and_one_that_moved_can_have_changed() -> None:
    moved = {"bench_sum": BASE["bench_sum"], "bench_new": BASE["bench_copy"]}
    found = changes.between("old", "new", BASE, moved)
    assert found.cannot_have_changed == NAMES
    assert [change.benchmarks for change in found.can_have_changed] == [("copy",)]
    into = {**BASE, "bench_copy": program(host="host", copy=SUM)}
    into["bench_sum"] = replace(BASE["bench_sum"], binary=Binary(Path("bench"), (*NAMES, "copy")))
    (program_change,) = changes.between("old", "new", BASE, into).can_have_changed
    assert program_change.benchmarks == ("copy",)


@pytest.mark.parametrize(
    ("pins", "beyond"),
    [
        ('registers = 40\narchitectures = ["sm_80", "sm_90"]', True),
        ("registers = 47", True),
        ("registers = 48", False),  # allowed
        ("registers = 31", False),  # already exceeded
        ('registers = 40\narchitectures = ["sm_80"]', False),
        ("stack_bytes = 0", False),
    ],
)
def test_a_kernel_may_not_begin_to_exceed_the_policy(
    tmp_path: Path, pins: str, beyond: bool
) -> None:
    path = tmp_path / "policy.toml"
    path.write_text(f'[[resources]]\npattern = "^su"\n{pins}\n')
    found = with_sum(program(*NAMES, sum=SUM._replace(registers=48), max=MAX))
    lines = changes.limited(found, policy.load(path)).beyond_policy
    assert [("48 registers instead of 32" in line, "entry 1" in line) for line in lines] == [
        (True, True)
    ] * beyond


def test_a_new_kernel_may_not_exceed_the_policy_and_a_removed_one_does_not(tmp_path: Path) -> None:
    path = tmp_path / "policy.toml"
    path.write_text('[[resources]]\npattern = "^(new|max)$"\nregisters = 16\n')
    found = with_sum(program(*NAMES, sum=SUM, new=SUM))
    (line,) = changes.limited(found, policy.load(path)).beyond_policy
    assert line.startswith("new (sm_90) has 32 registers")


@pytest.mark.parametrize(
    ("before", "after", "least", "beyond"),
    [
        (0.5, 0.25, 0.5, True),
        (0.5, 0.25, 0.25, False),  # allowed
        (0.5, 0.25, 0.75, False),  # already below
        (0.5, None, 0.5, False),  # an architecture without known limits
        (None, 0.25, 0.5, True),
    ],
)
def test_a_kernel_may_not_begin_to_fall_below_an_occupancy(
    tmp_path: Path, before: float | None, after: float | None, least: float, beyond: bool
) -> None:
    path = tmp_path / "policy.toml"
    path.write_text(f'[[resources]]\npattern = "sum"\noccupancy = {least}\n')
    old, new = (SUM._replace(digest=str(share), occupancy=share) for share in (before, after))
    sides = [{"bench": program(*NAMES, sum=kernel)} for kernel in (old, new)]
    lines = changes.limited(changes.between("old", "new", *sides), policy.load(path)).beyond_policy
    assert [f"occupancy {after}" in line and "at least 0.5" in line for line in lines] == [
        True
    ] * beyond


def test_a_new_kernel_may_not_have_less_than_the_occupancy(tmp_path: Path) -> None:
    path = tmp_path / "policy.toml"
    path.write_text('[[resources]]\npattern = "new"\noccupancy = 0.5\n')
    for share, count in ((0.25, 1), (0.5, 0)):
        found = with_sum(program(*NAMES, sum=SUM, max=MAX, new=SUM._replace(occupancy=share)))
        assert len(changes.limited(found, policy.load(path)).beyond_policy) == count
