# SPDX-License-Identifier: Apache-2.0
"""Lines over an axis: inside their frame, in order, broken at gaps, inert."""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import pairwise

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from drawn import Drawn
from warpgauge.reports.drawing import chart
from warpgauge.reports.drawing.chart import CEILING, Axis, Point, Series


def plotted(
    series: Sequence[Series], title: str = "a title", y: str = "GB/s", *, log_y: bool = False
) -> Drawn:
    return Drawn(chart.drawn(series, title, "n", Axis(y, is_logarithmic=log_y)))


def line(ys: Sequence[float | None], name: str = "a/b", scatter: float = 0.1) -> Series:
    """Over 4Ki, 8Ki, ..., each known to a fraction of itself."""
    points = [
        None if y is None else Point(4096 << index, y, y * (1 - scatter), y * (1 + scatter))
        for index, y in enumerate(ys)
    ]
    return Series(name, points, 0)


values = st.lists(st.floats(1e-9, 1e16), min_size=1, max_size=20)


@given(values, st.booleans(), st.floats(0.0, 0.99))
@example([5.0], False, 0.0)
@example([1e300, 2e300], False, 0.0)
@example([1.0, 1.0], True, 0.0)
def test_a_line_lies_in_its_band_and_both_in_the_frame(
    ys: list[float], log_y: bool, scatter: float
) -> None:
    drawn = plotted([line(ys, scatter=scatter)], log_y=log_y)
    (points,) = drawn.shapes("polyline", "line")
    assert len(points) == len(ys)
    assert all(one[0] < other[0] for one, other in pairwise(points))
    # What is higher is farther up, which is a smaller y.
    for (one, here), (other, there) in pairwise(zip(ys, points, strict=True)):
        assert (there[1] - here[1]) * (other - one) <= 0.0
    bands = drawn.shapes("polygon", "band") + drawn.shapes("polyline", "bar")
    (band,) = bands
    assert all(map(drawn.holds, [*points, *band]))
    lows = dict(band[len(ys) :])
    highs = dict(band[: len(ys)]) if len(ys) > 1 else {}
    for x, y in points:
        assert min(lows[x], highs.get(x, band[0][1])) <= y + 0.01
        assert max(lows[x], highs.get(x, band[0][1])) >= y - 0.01


def test_a_rate_begins_at_zero_and_a_log_axis_has_equal_steps_for_equal_factors() -> None:
    linear = plotted([line([10.0, 20.0, 40.0])])
    (points,) = linear.shapes("polyline", "line")
    assert points[2][0] - points[1][0] == pytest.approx(points[1][0] - points[0][0], abs=0.02)
    heights = [linear.bottom - y for _, y in points]
    assert heights[1] / heights[0] == pytest.approx(2.0, rel=0.01)
    logarithmic = plotted([line([10.0, 20.0, 40.0])], log_y=True)
    (points,) = logarithmic.shapes("polyline", "line")
    assert points[0][1] - points[1][1] == pytest.approx(points[1][1] - points[2][1], abs=0.02)


def test_a_line_is_broken_at_a_gap_and_a_lone_point_has_a_bar() -> None:
    drawn = plotted([line([1.0, 2.0, None, 4.0])])
    assert [len(one) for one in drawn.shapes("polyline", "line")] == [2, 1]
    assert [len(one) for one in drawn.shapes("polygon", "band")] == [4]
    assert [len(one) for one in drawn.shapes("polyline", "bar")] == [2]


def test_without_intervals_there_is_no_band() -> None:
    drawn = plotted([Series("a", [Point(1024, 1.0), Point(2048, 2.0)], 0)])
    assert drawn.shapes("polygon", "band") == drawn.shapes("polyline", "bar") == []


def test_a_band_that_scatters_much_does_not_press_the_lines_flat() -> None:
    wide = Series("a", [Point(1024, 9.0, 1.0, 9000.0), Point(2048, 10.0, 9.0, 11.0)], 0)
    drawn = plotted([wide])
    (points,) = drawn.shapes("polyline", "line")
    assert (drawn.bottom - points[1][1]) / (drawn.bottom - drawn.top) > 0.7


def test_a_ceiling_is_dashed_without_marks_and_in_the_frame() -> None:
    ceiling = Series("roofline", [Point(4096, 50.0), Point(8192, 50.0)], None, CEILING)
    drawn = plotted([ceiling, line([10.0, 20.0])])
    (dashed,) = drawn.shapes("polyline", "ceiling")
    (points,) = drawn.shapes("polyline", "line")
    assert all(map(drawn.holds, dashed))
    assert max(y for _, y in dashed) < min(y for _, y in points)
    assert len(drawn.elements("path", "mark")) == 2 + 1  # and one in the legend


def test_ticks_are_powers_of_two_that_do_not_touch() -> None:
    for count in range(2, 45):
        drawn = plotted([line([1.0] * count)])
        bottom = [t for t in drawn.elements("text", "middle") if t.text and t.text[0].isdigit()]
        places = [(float(one.attrib["x"]), len(one.text or "")) for one in bottom]
        assert len(places) > 1
        for (x, letters), (other, others) in pairwise(places):
            assert other - x > 7 * (letters + others) / 2, count
        assert all(re.fullmatch(r"\d+[KMGTPE]i", one.text or "") for one in bottom)


def test_values_that_are_no_powers_of_two_are_their_own_ticks() -> None:
    for xs, some in (((1000, 1001, 1002), "1001"), ((0.25, 0.5, 1, 2.5), "2.5")):
        drawn = plotted([Series("a", [Point(x, 1.0) for x in xs], 0)])
        assert {some, f"{xs[0]:g}"} & {*drawn.texts()}


@settings(deadline=None)
@given(st.lists(st.floats(1e-300, 1.7e308), min_size=1, max_size=30, unique=True))
@example([1e-300, 1.7e308])
def test_any_floating_point_stays_in_the_frame(xs: list[float]) -> None:
    drawn = plotted([Series("a", [Point(x, 1.0) for x in sorted(xs)], 0)])
    (points,) = drawn.shapes("polyline", "line")
    assert all(map(drawn.holds, points))
    assert all(one[0] <= other[0] for one, other in pairwise(points))


def test_texts_lie_within_the_picture_and_on_no_other() -> None:
    name = "gemm/" + "w" * 80
    for count in (1, 30):
        many = [line([1.0, 2e6], f"{name}{index}") for index in range(count)]
        Drawn(chart.drawn(many, "t" * 200, "n", Axis("GB/s", "{:,.3f} GB/s".format))).assert_tidy()


def test_lines_of_the_same_colour_have_other_marks() -> None:
    series = [Series(str(index), [Point(1024, 1.0)], index) for index in range(24)]
    marks = [
        (one.attrib["class"], one.attrib["d"]) for one in plotted(series).elements("path", "mark")
    ]
    assert len(set(marks)) == 24
