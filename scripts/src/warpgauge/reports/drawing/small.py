# SPDX-License-Identifier: Apache-2.0
"""Pictures that stand in a line of a table: an interval, several changes, a history. Pure."""

from __future__ import annotations

import math
from collections.abc import Sequence

from warpgauge.reports.drawing.course import Course
from warpgauge.system.text import percent, plural, span
from warpgauge.verdict.comparison import Change

WIDTH, HEIGHT = 150.0, 14.0
# The scale is linear only around zero (the inverse hyperbolic sine, of this width), so that 1 % and
# 25 % are both visible; what is farther is drawn at the edge.
_LINEAR_WIDTH, _FARTHEST = 0.05, 0.25


def _at(value: float) -> float:
    share = math.asinh(value / _LINEAR_WIDTH) / math.asinh(_FARTHEST / _LINEAR_WIDTH)
    return WIDTH / 2 + (WIDTH / 2 - 4) * min(max(share, -1.0), 1.0)


def _small(kind: str, label: str, body: str, width: float = WIDTH, height: float = HEIGHT) -> str:
    return (
        f'<svg class="{kind}" viewBox="0 0 {width:g} {height:g}" width="{width:g}" '
        f'height="{height:g}" role="img" aria-label="{label}">{body}</svg>'
    )


def _ground(tolerance: float) -> str:
    left, right = _at(-tolerance), _at(tolerance)
    return (
        f'<rect class="tolerance" x="{left:.1f}" width="{right - left:.1f}" height="{HEIGHT:g}"/>'
        f'<path class="zero" d="M{WIDTH / 2:g} 0v{HEIGHT:g}"/>'
    )


def bar(change: Change, tolerance: float, kind: str) -> str:
    """Return the interval of one change over its tolerance; `kind` is slower, faster or open."""
    low, at, high = map(_at, (change.low, change.ratio, change.high))
    interval = f'<path class="line" d="M{low:.1f} 7H{max(high, low + 0.5):.1f}"/>'
    dot = f'<circle cx="{at:.1f}" cy="7" r="3.5"/>'
    return _small(f"bar {kind}", span(change.low, change.high), _ground(tolerance) + interval + dot)


def strip(changes: Sequence[float], tolerance: float) -> str:
    """Return a dot for each change."""
    places = dict.fromkeys(f"{_at(change):.1f}" for change in changes)
    dots = "".join(f'<circle cx="{place}" cy="7" r="2"/>' for place in places)
    return _small("bar strip", plural(len(changes), "change"), _ground(tolerance) + dots)


# A line through fewer points would show nothing that numbers do not.
FEWEST_POINTS = 4


def has_a_line(course: Course) -> bool:
    return len(course.nights) >= FEWEST_POINTS


def sparkline(course: Course) -> str:
    """Return the times over the nights, at least two, as a line."""
    times = [math.log(night.seconds) for night in course.nights]
    low, length = min(times), max(max(times) - min(times), 0.01)
    step = (WIDTH - 6) / (len(times) - 1)
    corners = [(3 + step * n, 15 - 12 * (one - low) / length) for n, one in enumerate(times)]
    points = " ".join(f"{x:.1f},{y:.1f}" for x, y in corners)
    line = f'<polyline class="line" points="{points}"/>'
    last = f'<circle cx="{corners[-1][0]:.1f}" cy="{corners[-1][1]:.1f}" r="2.5"/>'
    moved = percent(math.expm1(times[-1] - times[0]))
    label = f"{plural(len(times), 'night')}, from the first to the last {moved}"
    return _small("spark", label, line + last, height=18.0)
