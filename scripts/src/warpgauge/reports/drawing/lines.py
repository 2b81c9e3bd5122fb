# SPDX-License-Identifier: Apache-2.0
"""Lines over a logarithmic axis, with bands. Pure."""

from __future__ import annotations

import math
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby

from warpgauge.reports.drawing.picture import (
    GAP,
    LINE,
    Axis,
    Sign,
    Words,
    chart,
    legend,
    line,
    linear,
    linear_ticks,
    log_ticks,
    logarithm,
    margin,
    mark,
    marker,
    series,
    shape,
)
from warpgauge.system.text import binary

# A later run replaces only files that contain it.
MARK = "warpgauge lines over an axis"

_WIDTH, _HEIGHT, _TOP = 640.0, 380.0, 44.0

# Larger bands are cut off at this multiple of the highest point, so that they do not flatten lines.
_HIGHEST_BAND = 1.15

_BEFORE = "baseline, pale"


@dataclass(frozen=True)
class Point:
    """`low` to `high` is the interval of `y`, if known; `told` is the tooltip."""

    x: float
    y: float
    low: float | None = None
    high: float | None = None
    told: str = ""


@dataclass(frozen=True)
class Series:
    """A line from left to right, broken where a point is None; a `ceiling` is dashed.

    `colour` numbers the line's colour; None is the colour of text. A baseline's line (`before`) is
    pale, without marks, and has no entry of its own in the legend.
    """

    name: str
    points: Sequence[Point | None]
    colour: int | None
    ceiling: bool = False
    before: bool = False

    @property
    def drawn(self) -> list[Point]:
        return [point for point in self.points if point is not None]

    @property
    def parts(self) -> list[list[Point]]:
        """The unbroken pieces of the line."""
        groups = groupby(self.points, key=lambda point: point is not None)
        return [[one for one in group if one is not None] for there, group in groups if there]

    @property
    def line(self) -> str:
        """The CSS classes of its line."""
        kind = "ceiling" if self.ceiling else "bar" if self.before else "line"
        return f"{kind} {series(self.colour)}"

    @property
    def sign(self) -> Sign:
        path = "" if self.ceiling else marker(self.colour)
        return Sign(self.name, f"mark {series(self.colour)}", path, self.line)


@dataclass(frozen=True)
class Vertical:
    """The vertical axis: its title, its ticks' words, and whether it is logarithmic."""

    title: str
    words: Words = "{:g}".format
    is_logarithmic: bool = False


def drawn(every: Sequence[Series], title: str, x_title: str, y: Vertical) -> str:
    """Return the SVG element. At least one point; every x above zero; with a log axis every y."""
    points = [point for one in every for point in one.drawn]
    if y.is_logarithmic:
        low, high = min(one.y for one in points) / 1.12, max(one.y for one in points) * 1.12
        y_ticks = log_ticks(low, high)
    else:
        highest = max(point.y for point in points)
        bands = [min(point.high or 0.0, _HIGHEST_BAND * highest) for point in points]
        low, high = 0.0, max([highest, *bands]) * 1.04 or 1.0
        y_ticks = linear_ticks(low, high)
    left = margin(y_ticks, y.words)
    scale = logarithm if y.is_logarithmic else linear
    up = Axis(low, high, _TOP + _HEIGHT, _TOP, scale, y.words, y.title)
    xs = sorted({point.x for point in points})
    across = _horizontal(xs, left, x_title)
    signs = [one.sign for one in every if not one.before]
    signs += [Sign(_BEFORE, "", line="bar ink")] if any(one.before for one in every) else []
    body = [
        *(band for one in every for band in _bands(across, up, one)),
        *(part for one in every for part in _line(across, up, one)),
        *legend([[sign] for sign in signs], across.end + GAP, _TOP),
    ]
    right = GAP + max(sign.width for sign in signs)
    height = _TOP + LINE * len(signs) + GAP
    ticks = _x_ticks(xs, across), y_ticks
    return chart(title, (across, up), ticks, body, right=right, height=height)


def _horizontal(xs: Sequence[float], left: float, title: str) -> Axis:
    """Return an axis slightly longer than the lines at both ends."""
    room = 2 ** (0.03 * (math.log2(xs[-1]) - math.log2(xs[0])) or 0.5)
    low, high = max(xs[0] / room, sys.float_info.min), min(xs[-1] * room, sys.float_info.max)
    return Axis(low, high, left, left + _WIDTH, logarithm, binary, title)


def _x_ticks(xs: Sequence[float], x: Axis) -> list[float]:
    """Return powers of two, spaced as their labels need, or the values if these lie between."""
    first, last = math.ceil(math.log2(xs[0])), math.floor(math.log2(xs[-1]))
    if first == last or any(isinstance(one, float) for one in xs):
        return x.spread(xs)
    # 2^10 and 2^20 belong to every step.
    for step in (1, 2, 5, 10):
        chosen = [2**power for power in range(first, last + 1) if power % step == 0]
        if x.spread(chosen) == chosen:
            break
    return [*chosen] if len(chosen) > 1 else x.spread(xs)


def _bands(x: Axis, y: Axis, one: Series) -> Iterator[str]:
    """Yield the intervals: a band, or a bar for a single point."""
    colour = series(one.colour)
    for part in one.parts:
        known = [(p.x, p.low, p.high) for p in part if p.low is not None and p.high is not None]
        highs = [(x.at(at), y.at(high)) for at, _, high in known]
        lows = [(x.at(at), y.at(low)) for at, low, _ in known]
        if len(known) == 1:
            yield line(f"bar {colour}", [*lows, *highs])
        elif known:
            corners = " ".join(f"{at:.2f},{up:.2f}" for at, up in [*highs, *reversed(lows)])
            yield shape("polygon", f"band {colour}", f'points="{corners}"')


def _line(x: Axis, y: Axis, one: Series) -> Iterator[str]:
    for part in one.parts:
        yield line(one.line, [(x.at(point.x), y.at(point.y)) for point in part])
        for point in () if one.ceiling or one.before else part:
            sign = one.sign
            yield mark(x.at(point.x), y.at(point.y), sign.kinds, sign.path, point.told)
