# SPDX-License-Identifier: Apache-2.0
"""The course over the nights: each night with its error, and changes and events between nights."""

from __future__ import annotations

import math
import re
from itertools import pairwise

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from drawn import Drawn
from warpgauge.reports.drawing import course
from warpgauge.reports.drawing.course import Course, Mark, Night


def nights(times: list[float], error: float = 0.01) -> list[Night]:
    return [Night(f"2026-{1 + n // 28 % 12:02d}-{1 + n % 28:02d}", t, error)
            for n, t in enumerate(times)]  # fmt: skip


def plotted(times: list[float], *more: Mark, error: float = 0.01) -> Drawn:
    return Drawn(course.drawn(Course("a title", nights(times, error), more)))


def change(index: int, size: float = 0.02) -> Mark:
    return Mark(index, size, tooltip="a change")


def lines(drawn: Drawn, kind: str) -> list[tuple[float, float, float]]:
    """Of lines that are not aslant: the first corner, and where it ends."""
    found = []
    for one in drawn.elements("path", kind):
        parts = re.findall(r"M([\d.]+) ([\d.]+)[HV]([\d.]+)", one.attrib["d"])
        found += [(float(x), float(y), float(end)) for x, y, end in parts]
    return found


@settings(max_examples=50)
@given(st.lists(st.floats(1e-9, 1e3), min_size=1, max_size=40), st.floats(0, 2))
@example([1e-6], 0.0)
@example([1.0, 1.0 + 2e-16], 0.0)
@example([1e-6] * 1100, 0.001)
def test_every_night_is_a_dot_in_the_frame_with_its_error(times: list[float], error: float) -> None:
    drawn = plotted(times, error=error)
    drawn.assert_tidy()
    places = drawn.marks("dot")
    assert len(places) == len(times)
    assert all(map(drawn.holds, places))
    assert all(one[0] < other[0] for one, other in pairwise(places))
    bars = lines(drawn, "error")
    assert len(bars) == (len(times) if error > 0 else 0)
    for (x, y), (at, top, bottom) in zip(places, bars, strict=bool(bars)):
        assert at == x
        assert drawn.top <= top <= y <= bottom <= drawn.bottom


def test_a_bar_reaches_as_far_as_the_interval() -> None:
    drawn = plotted([1.0, 1.2], error=0.02)
    (_, one), (_, other) = drawn.marks("dot")
    (_, top, bottom), _ = lines(drawn, "error")
    each = (one - other) / 0.2  # pixels for 1 s
    assert one - top == pytest.approx(each * (math.exp(1.96 * 0.02) - 1), abs=0.02)
    assert bottom - one == pytest.approx(each * (1 - math.exp(-1.96 * 0.02)), abs=0.02)


def test_one_night_that_is_known_badly_does_not_press_the_others_flat() -> None:
    known = nights([1.0, 1.01] * 20, 0.002)
    known[7] = Night("2026-01-08", 1.0, 3.0)
    drawn = Drawn(course.drawn(Course("t", known)))
    heights = [y for _, y in drawn.marks("dot")]
    assert max(heights) - min(heights) > 0.3 * (drawn.bottom - drawn.top)


def test_a_change_stands_between_two_nights_with_the_means_on_either_side() -> None:
    drawn = plotted([1.0] * 10 + [1.02] * 10 + [0.99] * 5, change(10), change(20, -0.03))
    places = drawn.marks("dot")
    other, one = drawn.shapes("polyline", "ceiling")  # the larger one first
    assert places[9][0] < one[0][0] < places[10][0]
    assert places[19][0] < other[0][0] < places[20][0]
    levels = drawn.shapes("polyline", "whisker")
    for ((start, height), (end, _)), night in zip(levels, (0, 10, 20), strict=True):
        assert start < places[night][0] < end
        assert height == pytest.approx(places[night][1], abs=0.02)
    assert {"+2.0 %", "−3.0 %"} <= {*drawn.texts()}
    assert len(drawn.elements("text", "slower")) == len(drawn.elements("text", "faster")) == 1


@pytest.mark.parametrize("step", [1, 3, 10, 200])
def test_labels_of_many_changes_do_not_touch_and_the_largest_are_shown(step: int) -> None:
    changes = [change(index, 0.01 + 0.001 * index) for index in range(1, 300, step)]
    drawn = plotted([1.0] * 300, *changes)
    drawn.assert_tidy()
    assert len(drawn.shapes("polyline", "ceiling")) == len(changes)
    assert len(drawn.tooltips()) == 300 + len(changes)
    (largest,) = (one for one in changes if one.change == max(c.change for c in changes))
    assert f"+{100 * largest.change:.1f} %" in drawn.texts()


def test_what_else_changed_has_a_line_with_its_kind_above_it() -> None:
    events = [Mark(2, 0.0, "driver", "580 to 590"), Mark(5, 0.0, "GPU")]
    drawn = plotted([1.0] * 8, *events)
    drawn.assert_tidy()
    places = drawn.marks("dot")
    names = {words: (left + right) / 2 for words, (left, _, right, _) in drawn.boxes()}
    for event, ((x, _), _) in zip(events, drawn.shapes("polyline", "ceiling"), strict=True):
        assert places[event.index - 1][0] < x < places[event.index][0]
        assert names[event.kind] == pytest.approx(x, abs=0.1)
    assert "580 to 590" in drawn.tooltips()


def test_events_and_changes_at_either_end_stay_in_the_frame() -> None:
    ends = [0, 1, 7, 8]
    drawn = plotted([1.0] * 8, *map(change, ends), *(Mark(at, kind="GPU") for at in ends))
    drawn.assert_tidy()
    assert all(drawn.holds(corner) for one in drawn.shapes("polyline", "ceiling") for corner in one)
