# SPDX-License-Identifier: Apache-2.0
"""Lines over a logarithmic axis, with bands. Pure."""

from __future__ import annotations

import math
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby

from warpgauge.reports.drawing import axes, picture, style
from warpgauge.reports.drawing.axes import Axis, linear, logarithm
from warpgauge.reports.drawing.picture import GAP, Sign, mark, shape
from warpgauge.reports.drawing.style import LETTER, LINE
from warpgauge.system.text import binary

# A later run replaces only files that contain it.
MARK = "warpgauge lines over an axis"

_WIDTH, _HEIGHT = 640.0, 380.0
_TOP, _BOTTOM = 44.0, 58.0

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
        return f"{kind} {style.series(self.colour)}"

    @property
    def sign(self) -> Sign:
        marker = "" if self.ceiling else picture.marker(self.colour)
        return Sign(self.name, f"mark {style.series(self.colour)}", marker, self.line)


@dataclass(frozen=True)
class Labels:
    """The titles of the picture and of its axes; `y_text` formats the label of a tick."""

    title: str
    x: str
    y: str
    y_text: Callable[[float], str] = "{:g}".format


def drawn(series: Sequence[Series], labels: Labels, *, log_y: bool = False) -> str:
    """Return the SVG element. At least one point; every x above zero; with `log_y` every y too."""
    points = [point for one in series for point in one.drawn]
    y_ticks, low, high = (_log_ticks if log_y else _linear_ticks)(points)
    left = axes.margin(y_ticks, labels.y_text)
    xs = sorted({point.x for point in points})
    x = _horizontal(xs, left)
    y = Axis(low, high, _TOP + _HEIGHT, _TOP, logarithm if log_y else linear)
    signs = [one.sign for one in series if not one.before]
    signs += [Sign(_BEFORE, "", line="bar ink")] if any(one.before for one in series) else []
    right = 2 * GAP + max(sign.width for sign in signs)
    width = max(x.end + right, left + picture.title_width(labels.title) + GAP)
    height = max(y.start + _BOTTOM, _TOP + LINE * len(signs) + GAP)
    body = [
        picture.title(labels.title, left),
        *axes.beside(y, y_ticks, labels.y_text, x),
        *axes.below(x, _x_ticks(xs, x), binary, y),
        axes.frame(x, y),
        *axes.titles(x, y, labels.x, labels.y),
        *(band for one in series for band in _bands(x, y, one)),
        *(line for one in series for line in _line(x, y, one)),
        *picture.column(signs, x.end + GAP, _TOP),
    ]
    return picture.element(body, width, height, labels.title)


def _horizontal(xs: Sequence[float], left: float) -> Axis:
    """Return an axis slightly longer than the lines at both ends."""
    room = 2 ** (0.03 * (math.log2(xs[-1]) - math.log2(xs[0])) or 0.5)
    low, high = max(xs[0] / room, sys.float_info.min), min(xs[-1] * room, sys.float_info.max)
    return Axis(low, high, left, left + _WIDTH, logarithm)


def _x_ticks(xs: Sequence[float], x: Axis) -> list[float]:
    """Return powers of two, spaced as their labels need, or the values if these lie between.

    Of floating-point numbers, return those whose labels have room.
    """
    if any(isinstance(one, float) for one in xs):
        return x.spread(xs, binary)
    room = x.end - x.start
    first, last = math.ceil(math.log2(xs[0])), math.floor(math.log2(xs[-1]))
    # 2^10 and 2^20 belong to every step.
    for step in (1, 2, 5, 10):
        chosen = [2**power for power in range(first, last + 1) if power % step == 0]
        if len(chosen) * (max(map(_letters, chosen), default=0) + 2) * LETTER <= room:
            break
    if len(chosen) > 1:
        return chosen
    many = math.ceil(len(xs) * (max(map(_letters, xs)) + 2) * LETTER / room)
    return list(xs[::many])


def _letters(value: float) -> int:
    return len(binary(value))


def _linear_ticks(points: Sequence[Point]) -> tuple[list[float], float, float]:
    """Return ticks from zero to above the highest point and the drawn part of its band."""
    highest = max(point.y for point in points)
    bands = [point.high for point in points if point.high is not None]
    top = max([highest, *(min(high, _HIGHEST_BAND * highest) for high in bands)]) * 1.04 or 1.0
    return axes.linear_ticks(0.0, top), 0.0, top


def _log_ticks(points: Sequence[Point]) -> tuple[list[float], float, float]:
    ys = [point.y for point in points]
    low, high = min(ys) / 1.12, max(ys) * 1.12
    return axes.log_ticks(low, high), low, high


def _bands(x: Axis, y: Axis, series: Series) -> Iterator[str]:
    """Yield the intervals: a band, or a bar for a single point."""
    colour = style.series(series.colour)
    for part in series.parts:
        known = [point for point in part if point.low is not None and point.high is not None]
        highs = [_corner(x, y, point.x, point.high or 0.0) for point in known]
        lows = [_corner(x, y, point.x, point.low or 0.0) for point in known]
        if len(known) == 1:
            yield shape("polyline", f"bar {colour}", f'points="{lows[0]} {highs[0]}"')
        elif known:
            corners = " ".join([*highs, *reversed(lows)])
            yield shape("polygon", f"band {colour}", f'points="{corners}"')


def _line(x: Axis, y: Axis, series: Series) -> Iterator[str]:
    for part in series.parts:
        corners = " ".join(_corner(x, y, point.x, point.y) for point in part)
        yield shape("polyline", series.line, f'points="{corners}"')
        for point in () if series.ceiling or series.before else part:
            sign = series.sign
            yield mark(x.at(point.x), y.at(point.y), sign.kinds, sign.path, point.told)


def _corner(x: Axis, y: Axis, across: float, up: float) -> str:
    return f"{x.at(across):.2f},{y.at(up):.2f}"
