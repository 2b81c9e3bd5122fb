# SPDX-License-Identifier: Apache-2.0
"""The roofline: points by arithmetic intensity under slopes and levels that meet at ridges."""

from __future__ import annotations

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from drawn import Drawn
from warpgauge.reports.drawing import roofline
from warpgauge.reports.drawing.lines import Point
from warpgauge.reports.drawing.roofline import Ceiling, Roofline

COPY, CUBLAS = Ceiling("device copy", 4e12), Ceiling("cuBLAS", 400e12)
values = st.floats(1e-6, 1e18)


def plotted(
    points: list[tuple[float, float]],
    bandwidths: tuple[Ceiling, ...] = (COPY,),
    arithmetic: tuple[Ceiling, ...] = (CUBLAS,),
) -> Drawn:
    families: dict[str, list[Point]] = {}
    for n, (x, y) in enumerate(points):
        families.setdefault(f"family {n % 12}", []).append(Point(x, y, told=str(n)))
    return Drawn(roofline.drawn(Roofline("a title", families, [], bandwidths, arithmetic)))


@given(st.lists(st.tuples(values, values), min_size=1, max_size=20), st.lists(values, max_size=12),
       st.lists(values, max_size=3))  # fmt: skip
@example([(1.0, 1.0)], [], [])
@example([(6.249999999999974e17, 1.0)], [], [])
@example([(1.0, 1.0)], [5e13, 5.01e13, 5.02e13, 4.99e13], [4e12])
@example([(1e-6, 1e18)], [1e18] * 12, [1e-6])
@example([(1e-6, 1e18)], [], [4e12, 4.1e12])
def test_points_and_ceilings_lie_in_the_frame_and_names_beside_each_other(
    points: list[tuple[float, float]], levels: list[float], slopes: list[float]
) -> None:
    bandwidths = tuple(Ceiling(f"memory {n}", rate) for n, rate in enumerate(slopes))
    arithmetic = tuple(Ceiling(f"units {n}", rate) for n, rate in enumerate(levels))
    drawn = plotted(points, bandwidths, arithmetic)
    drawn.assert_tidy()
    places = drawn.marks("dot")
    assert len(places) == len(points)
    assert all(map(drawn.holds, places))
    for line in drawn.shapes("polyline", "ceiling"):
        assert all(map(drawn.holds, line))


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
    assert {"device copy, 4000 GB/s", "cuBLAS, 400.0 TFLOP/s"} <= {*drawn.texts()}


def test_both_axes_are_logarithmic() -> None:
    drawn = plotted([(1.0, 1e9), (10.0, 1e10), (100.0, 1e11)])
    one, two, three = drawn.marks("dot")
    assert three[0] - two[0] == pytest.approx(two[0] - one[0], abs=0.02)
    assert two[1] - three[1] == pytest.approx(one[1] - two[1], abs=0.02)


def test_each_family_is_once_in_the_legend_and_has_its_own_look() -> None:
    drawn = plotted([(1.0 + n, 1e9) for n in range(24)])
    drawn.assert_tidy()
    assert sum(one.startswith("family") for one in drawn.texts()) == 12
    looks = {(one.attrib["class"], one.attrib["d"]) for one in drawn.elements("path", "dot")}
    assert len(looks) == 12
    assert sorted(map(int, drawn.tooltips())) == [*range(24)]
