# SPDX-License-Identifier: Apache-2.0
"""Dots of processes and pairs: in their columns or in order, none lost, with what bounds them."""

from __future__ import annotations

from itertools import pairwise
from statistics import median

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from drawn import Drawn, box
from hostile_text import HOSTILE
from warpgauge.reports.drawing import axes, dots
from warpgauge.reports.drawing.dots import Dots, Group

TIMES = st.lists(st.floats(1e-9, 1e3), min_size=1, max_size=12)


def plotted(groups: list[Group], **more: object) -> Drawn:
    asked = Dots("a title", "time", groups, **more)  # type: ignore[arg-type]
    return Drawn(dots.drawn(asked))


@settings(deadline=None)
@given(st.lists(TIMES, min_size=1, max_size=20))
@example([[5.0]])
@example([[1.0, 1.0 + 2e-16]])
@example([[7e-6] * 12, [7.0001e-6] * 12])
def test_every_value_is_a_dot_in_the_frame_over_its_name(groups: list[list[float]]) -> None:
    highest = max(max(values) for values in groups)
    drawn = plotted(
        [Group(f"{index}", values, index) for index, values in enumerate(groups)],
        y_text=axes.seconds_words(highest),
    )
    drawn.assert_tidy()
    places = drawn.marks("dot")
    assert len(places) == sum(map(len, groups))
    assert all(map(drawn.holds, places))
    column = (drawn.right - drawn.left) / len(groups)
    for index, values in enumerate(groups):
        own, places = places[: len(values)], places[len(values) :]
        assert all(0 <= x - drawn.left - index * column <= column for x, _ in own)
        order = [y for _, (_, y) in sorted(zip(values, own, strict=True))]
        assert order == sorted(order, reverse=True)


def test_dots_of_the_same_value_stand_beside_each_other() -> None:
    drawn = plotted([Group("a", [1.0] * 7)])
    places = sorted(x for x, _ in drawn.marks("dot"))
    assert min(other - one for one, other in pairwise(places)) > 8.0


def test_a_line_stands_at_the_median_of_each_group() -> None:
    values = [1.0, 2.0, 4.0, 7.0, 9.0]
    drawn = plotted([Group("a", values, 0), Group("b", [], 1)])
    (line,) = drawn.elements("path", "whisker")
    heights = {y for x, y in drawn.marks("dot")}
    assert float(line.attrib["d"].split()[1].split("h")[0]) in heights
    assert median(values) == 4.0
    assert sum(y < float(line.attrib["d"].split()[1].split("h")[0]) for y in heights) == 2


def test_pairs_stand_in_their_order_one_group_after_the_other() -> None:
    values = [0.01, -0.02, 0.0, 0.03, -0.01]
    drawn = plotted([Group("a", values[:2], 0), Group("b", values[2:], 1)], numbered=True, x="pair")
    drawn.assert_tidy()
    places = drawn.marks("dot")
    steps = [other[0] - one[0] for one, other in pairwise(places)]
    assert steps == pytest.approx([steps[0]] * 4, abs=0.02)
    assert steps[0] > 0
    assert {"a", "b", "pair", "1", "5"} <= {*drawn.texts()}


@pytest.mark.parametrize("count", [1, 2, 7, 28, 500])
def test_numbers_of_pairs_are_whole_and_apart(count: int) -> None:
    drawn = plotted([Group("a", [0.01] * count)], numbered=True, y_text=axes.change_words)
    drawn.assert_tidy()
    numbers = [int(one) for one in drawn.texts() if one.isdigit()]
    assert numbers[0] == 1
    assert all(number <= max(count, 2) for number in numbers)


def test_the_tolerance_the_interval_and_zero_lie_where_they_are() -> None:
    drawn = plotted(
        [Group("a", [0.004, -0.002, 0.006])], numbered=True, y_text=axes.change_words,
        middle=0.003, interval=(0.001, 0.005), band=(-0.01, 0.01),
    )  # fmt: skip
    drawn.assert_tidy()
    tolerance = [box(one) for one in drawn.elements("rect", "tolerance")][-1]
    interval = [box(one) for one in drawn.elements("rect", "band")][-1]
    (zero,) = drawn.elements("path", "zero")
    height = float(zero.attrib["d"].split()[1].split("H")[0])
    assert (tolerance[1] + tolerance[3]) / 2 == pytest.approx(height, abs=0.02)
    assert drawn.top < tolerance[1] < interval[1] < interval[3] < height < tolerance[3]
    assert (tolerance[3] - tolerance[1]) / (interval[3] - interval[1]) == pytest.approx(5, rel=0.01)


@settings(deadline=None, max_examples=30)
@given(HOSTILE, HOSTILE, st.booleans())
@example("</text><script>alert(1)</script>", '" onload="alert(1)', True)
@example("\u4e2d" * 300, "\u4e2d" * 300, False)
def test_foreign_text_is_text_and_nothing_else(name: str, told: str, numbered: bool) -> None:
    groups = [Group(name, [1.0, 2.0], 0, [told, told]), Group(told, [1.0], 1)]
    asked = Dots(told, name, groups, numbered=numbered, x=told, band=(0, 3), band_name=name)
    drawn = Drawn(dots.drawn(asked))
    drawn.assert_inert()
    drawn.assert_tidy()


def test_long_names_are_cut_and_tooltips_stay_with_their_dots() -> None:
    drawn = plotted([Group("session " * 20, [1.0], 0, ["here"]) for _ in range(30)])
    drawn.assert_tidy()
    assert drawn.tooltips() == ["here"] * 30
