# SPDX-License-Identifier: Apache-2.0
"""A run along an axis: which variants there are, how well their times are known, what has none."""

from __future__ import annotations

import re
from collections.abc import Sequence

import pytest
from conftest import Loader
from hypothesis import given
from hypothesis import strategies as st

import builders
from builders import failed, row, run
from warpgauge.records.names import axes_of, numbers_of
from warpgauge.system.errors import ExitStatus, UserError
from warpgauge.verdict import sweep
from warpgauge.verdict.sweep import Gap, Measured, Sweep


def along(loaded: Loader, names: Sequence[str], axis: str = "n", what: str = "f") -> Sweep:
    return sweep.of(loaded(run([row(name) for name in names])), [what], axis)


def test_a_variant_is_a_name_without_the_axis(loaded: Loader) -> None:
    found = along(loaded, ["f/a/f32/n:8", "f/a/f32/n:4", "f/b/n:4/u", "f/c"])
    points = {one.name: list(one.points) for one in found.variants}
    assert points == {"f/a/f32": [4, 8], "f/b/u": [4]}
    assert found.values == [4, 8]
    assert found.status is ExitStatus.OK


def test_other_axes_stay_in_the_name_where_they_have_several_values(loaded: Loader) -> None:
    found = along(loaded, ["f/a/m:1/n:4", "f/a/m:2/n:4", "f/b/m:1/n:4", "f/b/m:1/n:8"])
    assert [one.name for one in found.variants] == ["f/a/m:1", "f/a/m:2", "f/b"]
    assert [one.name for one in along(loaded, ["f/a/m:1/n:4"], "m").variants] == ["f/a"]


def test_other_axes_keep_the_order_that_they_have_in_the_benchmarks_name(loaded: Loader) -> None:
    names = ["f/a/z:1/n:4/b:2", "f/a/z:2/n:4/b:1", "f/a/z:1/n:8/b:1"]
    found = [one.name for one in along(loaded, names).variants]
    assert found == ["f/a/z:1/b:2", "f/a/z:2/b:1", "f/a/z:1/b:1"]
    with pytest.raises(UserError, match="f/n:4/a is the second benchmark of f/a at n = 4"):
        along(loaded, ["f/a/n:4", "f/n:4/a"])


def test_an_axis_that_only_some_benchmarks_have_hides_none_of_them(loaded: Loader) -> None:
    found = along(loaded, ["f/a/n:4", "f/a/n:4/m:1", "f/a/n:8/m:1"])
    points = {one.name: list(one.points) for one in found.variants}
    assert points == {"f/a": [4], "f/a/m:1": [4, 8]}


def test_a_word_without_a_slash_is_a_family_and_another_the_beginning_of_names() -> None:
    names = ["f/n:4", "f/sum/n:4", "f/sum_cub/n:4", "f/sum/mn:4", "f2/n:4", "f/sum/n:4x", "f.x/n:4"]

    def chosen(*what: str) -> list[str]:
        wanted = re.compile(sweep.expression(what, "n"))
        return [name for name in names if wanted.search(name)]

    assert chosen("f") == ["f/n:4", "f/sum/n:4", "f/sum_cub/n:4"]
    assert chosen("f/sum") == ["f/sum/n:4", "f/sum_cub/n:4"]
    assert chosen("f/sum/", "f2") == ["f/sum/n:4", "f2/n:4"]
    assert chosen("f.") == []


def test_an_axis_of_floating_point_is_in_the_order_of_its_numbers(loaded: Loader) -> None:
    texts = ["1", "1e-9", "-0.25", "0.1", "1e300", "1e-05", "2.5"]
    found = along(loaded, [f"f/a/alpha:{text}/m:4" for text in texts], "alpha")
    (variant,) = found.variants
    assert variant.name == "f/a"
    assert found.values == [-0.25, 1e-9, 1e-5, 0.1, 1, 2.5, 1e300]
    assert [type(value) for value in found.values] == [float] * 4 + [int] + [float] * 2


@given(st.floats(allow_nan=False, allow_infinity=False))
def test_every_finite_number_is_read_and_filtered_as_such(value: float) -> None:
    name = f"f/alpha:{value!r}"
    assert numbers_of(name) == {"alpha": value}
    assert re.search(sweep.expression(["f"], "alpha"), name)


def test_text_is_no_number() -> None:
    texts = ["row", "4x", "0x10", "nan", "inf", "-", ".", "e5", "1e", "1.5.2", "1-2", "1e999", "+"]
    assert all(numbers_of(f"f/order:{text}") == {} for text in texts)
    assert all(axes_of(f"f/order:{text}") == ["order"] for text in texts)


def test_an_axis_of_text_is_one_of_the_other_axes(loaded: Loader) -> None:
    names = [f"f/a/order:{order}/n:{n}" for order in ("row", "column") for n in (4, 8)]
    names += ["f/b/order:row/n:4"]
    found = [one.name for one in along(loaded, names).variants]
    assert found == ["f/a/order:row", "f/a/order:column", "f/b"]


def test_what_has_text_on_the_axis_is_no_point_of_the_sweep(loaded: Loader) -> None:
    (variant,) = along(loaded, ["f/a/n:4", "f/a/n:all", "f/a/n:1e999"]).variants
    assert [*variant.points] == [4]


def test_a_sweep_over_text_is_refused_with_the_axis() -> None:
    names = ["f/order:row/n:4", "f/order:column/n:4", "g/order:1"]
    with pytest.raises(UserError, match="'order' of 'f' holds text"):
        sweep.require_some(names, ["f"], "order")
    sweep.require_some(names, ["g"], "order")
    with pytest.raises(UserError, match="its axes are 'n', 'order'"):
        sweep.require_some(names, ["f"], "k")


def test_what_is_not_there_is_told_with_what_is() -> None:
    names = ["reduce/sum/n:4", "gemm/m:4/n:4", "sync/idle"]
    sweep.require_some(names, ["reduce", "gemm/m"], "n")
    with pytest.raises(UserError, match="'redcue': the families are 'gemm', 'reduce', 'sync'"):
        sweep.require_some(names, ["redcue"], "n")
    with pytest.raises(UserError, match="'gemm' has the axis 'k': its axes are 'm', 'n'"):
        sweep.require_some(names, ["gemm"], "k")
    with pytest.raises(UserError, match="'sync' has the axis 'n': it has no axis"):
        sweep.require_some(names, ["reduce", "sync"], "n")


@given(st.lists(st.floats(1e-3, 1e3), min_size=2, max_size=30))
def test_an_interval_contains_the_time(times: list[float]) -> None:
    low, high = sweep.interval(sorted(times)[0], tuple(times)) or (0.0, 0.0)
    assert 0.0 <= low <= sorted(times)[0] <= high
    middle = sorted(times)[len(times) // 2]
    low, high = sweep.interval(middle, tuple(times)) or (0.0, 0.0)
    assert low <= middle <= high


def test_the_interval_is_students_and_one_process_has_none(loaded: Loader) -> None:
    rows = [row("f/n:1", (100.0, 101.0, 102.0)), row("f/n:2", (100.0,))]
    (variant,) = sweep.of(loaded(run(rows)), ["f"], "n").variants
    known, alone = variant.points[1], variant.points[2]
    assert isinstance(known, Measured)
    assert isinstance(alone, Measured)
    # 4.303 standard errors of 1 % / sqrt(3).
    assert known.interval == pytest.approx((98.5e-6, 103.5e-6), rel=2e-3)
    assert alone.interval is None


def test_repetitions_of_one_process_are_no_processes(loaded: Loader) -> None:
    plain = {key: value for key, value in row("f/n:1").items() if key != "process_medians"}
    (variant,) = sweep.of(loaded(builders.google([plain] * 3)), ["f"], "n").variants
    point = variant.points[1]
    assert isinstance(point, Measured)
    assert point.interval is None


def test_what_has_no_time_is_a_gap_with_its_reason(loaded: Loader) -> None:
    rows = [
        row("f/n:1"),
        failed("f/n:2"),
        {**failed("f/n:4", "needs another GPU"), "skipped": True},
        row("f/n:8", throttled=3.0),
    ]
    found = sweep.of(loaded(run(rows)), ["f"], "n")
    gaps = {gap.benchmark: (gap.word, gap.reason) for gap in found.gaps}
    assert gaps["f/n:2"] == ("ERROR", "out of device memory")
    assert gaps["f/n:4"] == ("skipped", "needs another GPU")
    assert gaps["f/n:8"][0] == "INVALID"
    assert found.status is ExitStatus.NOT_MEASURED
    skipped = sweep.of(loaded(run([rows[0], rows[2]])), ["f"], "n")
    assert skipped.status is ExitStatus.OK


def test_a_program_that_fails_is_told_and_that_of_another_family_is_not(loaded: Loader) -> None:
    record = loaded(run([row("f/n:1"), failed("f", "lists nothing"), failed("g", "is gone")]))
    found = sweep.of(record, ["f"], "n")
    assert found.faults == ("f: lists nothing",)
    assert found.status is ExitStatus.NOT_MEASURED


def test_nothing_measured_is_no_success(loaded: Loader) -> None:
    with pytest.raises(UserError, match="nothing was measured: f/n:1: out of") as refusal:
        sweep.of(loaded(run([failed("f/n:1")])), ["f"], "n")
    assert refusal.value.status is ExitStatus.NOT_MEASURED


def test_points_are_measured_or_gaps(loaded: Loader) -> None:
    found = sweep.of(loaded(run([row("f/n:1"), failed("f/n:2")])), ["f"], "n")
    kinds = [type(point) for one in found.variants for point in one.points.values()]
    assert kinds == [Measured, Gap]
