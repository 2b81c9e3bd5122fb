# SPDX-License-Identifier: Apache-2.0
"""Pictures in a line of a table: where the interval, the changes and the last night lie."""

from __future__ import annotations

import math
import re
from typing import Any

import pytest

from warpgauge.reports import pages
from warpgauge.reports.drawing.course import Course, Night
from warpgauge.verdict.comparison import Change

small: Any = pages.templates().get_template("parts.html").module
WIDTH = 150


def numbers(pattern: str, drawn: str) -> list[float]:
    return [float(one) for one in re.findall(pattern, drawn)]


def dots(drawn: str) -> list[float]:
    return numbers(r'<circle cx="([\d.]+)"', drawn)


def test_a_change_lies_in_its_interval_and_slower_is_right_of_the_tolerance() -> None:
    drawn = small.bar(Change(0.02, 0.015, 0.025), 0.01, "slower")
    ((at,), (low,), (high,)) = (dots(drawn), numbers(r"M([\d.]+) 7", drawn),
                                numbers(r'7H([\d.]+)"', drawn))  # fmt: skip
    (left,), (right,) = numbers(r"M([\d.]+) 0V", drawn), numbers(r"V14H([\d.]+)V0", drawn)
    assert left < WIDTH / 2 < right < low < at < high
    (mirrored,) = dots(small.bar(Change(-0.02, -0.025, -0.015), 0.01, "faster"))
    assert mirrored + at == pytest.approx(WIDTH, abs=0.1)


@pytest.mark.parametrize("ratio", [-1.0, 0.26, 3.83, 1e300, math.inf])
def test_a_change_beyond_the_scale_is_at_its_edge(ratio: float) -> None:
    (at,) = dots(small.bar(Change(ratio, ratio, ratio), 0.01, "slower"))
    assert at == (4.0 if ratio < 0 else WIDTH - 4)


def test_a_strip_shows_each_tolerance_of_its_rows() -> None:
    drawn = small.strip([0.05], [0.03, 0.1])
    (at,), (inner, outer) = dots(drawn), numbers(r"V14H([\d.]+)V0", drawn)
    assert inner < at < outer


def test_a_strip_has_a_dot_for_each_place_however_many_changes_there_are() -> None:
    assert len(dots(small.strip([0.01, -0.01, 0.01], [0.01]))) == 2
    assert len(small.strip([n / 1e6 for n in range(100_000)], [0.01])) < 60_000


def test_a_sparkline_rises_where_the_times_do() -> None:
    nights = [
        Night(f"2026-11-{day:02d}", 1e-6 * seconds) for day, seconds in enumerate((1, 1, 1, 2))
    ]
    drawn = small.sparkline(Course("t", nights))
    heights = numbers(r",([\d.]+)", re.findall('points="([^"]*)"', drawn)[0])
    assert heights[0] == heights[2] > heights[3]
    assert dots(drawn)[0] == max(numbers(r"([\d.]+),", drawn))
