# SPDX-License-Identifier: Apache-2.0
"""A roofline: points where they are, under ceilings that meet, and names beside each other."""

from __future__ import annotations

import math
import re

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from rich.cells import cell_len

from drawn import LETTER, Corner, Drawn
from warpgauge.reports.drawing import roofline
from warpgauge.reports.drawing.roofline import Ceiling, Point, Roofline

COPY, CUBLAS = Ceiling("device copy", 4e12), Ceiling("cuBLAS", 400e12)
values = st.floats(1e-6, 1e18)


def plotted(
    points: list[tuple[float, float]],
    bandwidths: tuple[Ceiling, ...] = (COPY,),
    arithmetic: tuple[Ceiling, ...] = (CUBLAS,),
) -> Drawn:
    named = [Point(f"f{n % 3}/a", f"f{n % 3}", x, y) for n, (x, y) in enumerate(points)]
    return Drawn(roofline.drawn(Roofline("a title", named, bandwidths, arithmetic)))


@given(st.lists(st.tuples(values, values), max_size=20), st.lists(values, max_size=12),
       st.lists(values, max_size=3))  # fmt: skip
@example([(1.0, 1.0)], [], [])
@example([(6.249999999999974e17, 1.0)], [], [])
@example([], [5e13, 5.01e13, 5.02e13, 4.99e13], [4e12])
@example([], [1e18] * 12, [1e-6])
@example([(1e-6, 1e18)], [], [4e12, 4.1e12])
def test_points_and_ceilings_lie_in_the_frame_and_names_beside_each_other(
    points: list[tuple[float, float]], levels: list[float], slopes: list[float]
) -> None:
    if not points and not (levels and slopes):
        return
    bandwidths = tuple(Ceiling(f"memory {n}", rate) for n, rate in enumerate(slopes))
    arithmetic = tuple(Ceiling(f"units {n}", rate) for n, rate in enumerate(levels))
    drawn = plotted(points, bandwidths, arithmetic)
    drawn.assert_tidy()
    places = drawn.marks("dot")
    assert len(places) == len(points)
    assert all(map(drawn.holds, places))
    for line in drawn.shapes("polyline", "ceiling"):
        assert all(map(drawn.holds, line))
    for ends in turned(drawn):
        assert all(map(drawn.holds, ends))


def turned(drawn: Drawn) -> list[tuple[Corner, Corner]]:
    """The ends of names that lie along a slope."""
    found = []
    for one in drawn.elements("text", "faint"):
        if angle := re.match(r"rotate\(([\d.-]+)", one.attrib.get("transform", "")):
            x, y, half = float(one.attrib["x"]), float(one.attrib["y"]), cell_len(one.text or "")
            way = math.radians(float(angle[1]))
            dx, dy = (half * LETTER / 2 * f(way) for f in (math.cos, math.sin))
            found.append(((x - dx, y - dy), (x + dx, y + dy)))
    return found


def test_a_slope_meets_a_level_at_the_ridge_and_a_point_at_the_roof_lies_on_it() -> None:
    drawn = plotted([(100.0, 400e12), (1.0, 4e12), (1000.0, 400e12), (10.0, 4e12)])
    slope, level = drawn.shapes("polyline", "ceiling")
    ridge, low, far, below = drawn.marks("dot")
    assert slope[1] == pytest.approx(ridge, abs=0.02)
    assert level[0] == pytest.approx(ridge, abs=0.02)
    assert far[1] == pytest.approx(level[0][1], abs=0.02)
    # On the slope at a hundredth of the ridge's intensity, and below it further right.
    rise = (slope[1][1] - slope[0][1]) / (slope[1][0] - slope[0][0])
    assert slope[0][1] + rise * (low[0] - slope[0][0]) == pytest.approx(low[1], abs=0.05)
    assert slope[0][1] + rise * (below[0] - slope[0][0]) < below[1] - 10


def test_both_axes_are_logarithmic() -> None:
    drawn = plotted([(1.0, 1e9), (10.0, 1e10), (100.0, 1e11)])
    one, two, three = drawn.marks("dot")
    assert three[0] - two[0] == pytest.approx(two[0] - one[0], abs=0.02)
    assert two[1] - three[1] == pytest.approx(one[1] - two[1], abs=0.02)


def test_each_family_is_once_in_the_legend_and_has_its_own_look() -> None:
    points = [Point(f"{n}", f"family {n % 12}", 1.0 + n, 1e9) for n in range(24)]
    drawn = Drawn(roofline.drawn(Roofline("t", points, [COPY], [CUBLAS])))
    drawn.assert_tidy()
    assert sum(one.startswith("family") for one in drawn.texts()) == 12
    looks = {(one.attrib["class"], one.attrib["d"]) for one in drawn.elements("path", "dot")}
    assert len(looks) == 12
    assert [float(one) for one in drawn.tooltips()] == list(range(24))
