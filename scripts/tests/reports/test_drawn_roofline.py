# SPDX-License-Identifier: Apache-2.0
"""The roofline: points by arithmetic intensity under slopes and levels that meet at ridges."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from comparisons import verdict
from drawn import Drawn
from warpgauge.reports.drawing import roofline
from warpgauge.verdict.comparison import Outcome, Verdict

COPY = verdict("copy/d2d", bytes_per_second=3e12, limit_fraction=0.75)  # of 4 TB/s
values = st.floats(1e-6, 1e18)


def row(name: str, intensity: float, limit: float, fraction: float = 0.5) -> Verdict:
    """A row at a fraction of the rate that is its limit."""
    rate = fraction * limit
    return verdict(name, bytes_per_second=rate / intensity, flops_per_second=rate,
                   limit_fraction=fraction)  # fmt: skip


def plotted(*rows: Verdict, **links: str) -> Drawn:
    return Drawn(roofline.drawn(rows, "a title", links))


@given(st.lists(st.tuples(values, values, st.floats(0.01, 1.0)), min_size=1, max_size=20),
       st.lists(values, max_size=3))  # fmt: skip
@example([(1.0, 1.0, 1.0)], [])
@example([(1e-6, 1e18, 1.0)], [1e-6])
@example([(1.0, 5e13, 0.5), (2.0, 5.01e13, 0.5), (3.0, 5.02e13, 0.5)], [4e12])
def test_points_and_ceilings_lie_in_the_frame_and_names_beside_each_other(
    points: list[tuple[float, float, float]], slopes: list[float]
) -> None:
    rows = [row(f"family{n % 12}/a/n:{n}", *point) for n, point in enumerate(points)]
    rows += [verdict(f"copy/a/n:{n}", bytes_per_second=one, limit_fraction=1.0)
             for n, one in enumerate(slopes)]  # fmt: skip
    drawn = plotted(*rows)
    drawn.assert_tidy()
    assert all(map(drawn.holds, drawn.marks("dot")))
    for line in drawn.shapes("polyline", "ceiling"):
        assert all(map(drawn.holds, line))


def test_the_ceilings_are_those_that_several_rows_have_and_meet_at_ridges() -> None:
    rows = [
        row("gemm/a/f32/n:64", 100.0, 5e13, 0.5),
        row("gemm/b/f32/n:128", 200.0, 5.01e13, 0.9),
        row("gemm/b/bf16/n:128", 400.0, 8e14, 0.7),
        row("gemm/skinny/bf16/n:64", 1.0, 4e12, 1.0),  # as fast as the copy's 4 TB/s lets it be
        COPY,
        verdict("copy/h2d", bytes_per_second=3e10, limit_fraction=0.6),
        verdict("gemm/nothing", flops_per_second=1e12),
    ]
    drawn = plotted(*rows)
    drawn.assert_tidy()
    assert {"bandwidth, 4000 GB/s", "f32, 50.10 TFLOP/s", "bf16, 800.0 TFLOP/s"} <= {*drawn.texts()}
    slope, bf16, f32 = drawn.shapes("polyline", "ceiling")
    assert slope[1] == pytest.approx(bf16[0], abs=0.02)  # at the ridge
    rise = (slope[1][1] - slope[0][1]) / (slope[1][0] - slope[0][0])
    assert slope[0][1] + rise * (f32[0][0] - slope[0][0]) == pytest.approx(f32[0][1], abs=0.05)
    skinny = drawn.marks("dot")[3]
    assert slope[0][1] + rise * (skinny[0] - slope[0][0]) == pytest.approx(skinny[1], abs=0.05)
    assert len(drawn.marks("dot")) == 4
    assert roofline.drawn(rows[4:], "a title", {}) == ""


def test_both_axes_are_logarithmic() -> None:
    drawn = plotted(*(row(f"a/n:{10**n}", 10.0**n, 10.0 ** (9 + n)) for n in range(3)))
    one, two, three = drawn.marks("dot")
    assert three[0] - two[0] == pytest.approx(two[0] - one[0], abs=0.02)
    assert two[1] - three[1] == pytest.approx(one[1] - two[1], abs=0.02)


def test_a_row_that_changed_has_its_name_a_line_from_the_baseline_and_all_have_links() -> None:
    slower = row("gemm/slow/n:64", 100.0, 5e13, 0.2)
    base = {**slower.counters, "bytes_per_second": 2.5e11, "flops_per_second": 2.5e13}
    slower = replace(slower, outcome=Outcome.REGRESSION, baseline_counters=base)
    drawn = plotted(slower, row("gemm/same/n:64", 200.0, 5e13), **{slower.name: "#row=slow"})
    assert "gemm/slow/n:64" in drawn.texts()
    assert "gemm/same/n:64" not in drawn.texts()
    ((start, end),) = drawn.shapes("polyline", "bar")
    assert end == drawn.marks("dot")[0]
    assert start[1] < end[1]  # it was higher
    assert '<a href="#row=slow" aria-label="gemm/slow/n:64: ' in drawn.text


def test_each_family_is_once_in_the_legend_and_has_its_own_look() -> None:
    drawn = plotted(*(row(f"family{n % 12}/n:{n}", 1.0 + n, 1e9) for n in range(24)))
    drawn.assert_tidy()
    assert sum(one.startswith("family") and "/" not in one for one in drawn.texts()) == 12
    looks = {(one.attrib["class"], one.attrib["d"]) for one in drawn.elements("path", "dot")}
    assert len(looks) == 12
