# SPDX-License-Identifier: Apache-2.0
"""Lines, bands, ceilings and dots over a logarithmic horizontal axis. Pure."""

from __future__ import annotations

import math
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby

from warpgauge.reports.drawing import picture
from warpgauge.reports.drawing.picture import GAP, LINE, Axis, Sign, Words
from warpgauge.system.text import binary

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


# The kinds of a series, by the class of its line.
SOLID, CEILING, BEFORE, DOTS = "line", "ceiling", "bar", ""


@dataclass(frozen=True)
class Series:
    """A line from left to right, broken where a point is None, or DOTS without a line.

    `colour` numbers its colour; None is that of text. A CEILING is dashed, without marks. A
    baseline's line (BEFORE) is pale, without marks, and has no entry of its own in the legend.
    """

    name: str
    points: Sequence[Point | None]
    colour: int | None
    kind: str = SOLID

    @property
    def drawn(self) -> list[Point]:
        return [point for point in self.points if point is not None]

    @property
    def parts(self) -> list[list[Point]]:
        """The unbroken pieces of the line."""
        groups = groupby(self.points, key=lambda point: point is not None)
        return [[one for one in group if one is not None] for there, group in groups if there]

    @property
    def sign(self) -> Sign:
        """Its entry in the legend."""
        colour = picture.series(self.colour)
        path = "" if self.kind == CEILING else picture.marker(self.colour)
        kinds = f"mark {colour}" if self.kind else f"dot {colour}"
        return Sign(self.name, kinds, path, self.kind and f"{self.kind} {colour}")


@dataclass(frozen=True)
class Vertical:
    """The vertical axis: its title, its ticks' words, and whether it is logarithmic."""

    title: str
    words: Words = "{:g}".format
    is_logarithmic: bool = False


def drawn(every: Sequence[Series], title: str, x_title: str, y: Vertical, *,
          decimal: bool = False) -> str:  # fmt: skip
    """Return the SVG element. At least one point; every x above zero; with a log axis every y.

    The ticks of the horizontal axis are powers of two, or `decimal`.
    """
    points = [point for one in every for point in one.drawn]
    if y.is_logarithmic:
        low, high = min(one.y for one in points) / 1.12, max(one.y for one in points) * 1.12
        y_ticks = picture.log_ticks(low, high)
    else:
        highest = max(point.y for point in points)
        bands = [min(point.high or 0.0, _HIGHEST_BAND * highest) for point in points]
        low, high = 0.0, max([highest, *bands]) * 1.04 or 1.0
        y_ticks = picture.linear_ticks(low, high)
    left = picture.margin(y_ticks, y.words)
    scale = picture.logarithm if y.is_logarithmic else picture.linear
    up = Axis(low, high, _TOP + _HEIGHT, _TOP, scale, y.words, y.title)
    xs = sorted({point.x for point in points})
    # Slightly longer than the lines at both ends.
    room = 2 ** (0.03 * (math.log2(xs[-1]) - math.log2(xs[0])) or 0.5)
    ends = max(xs[0] / room, sys.float_info.min), min(xs[-1] * room, sys.float_info.max)
    words: Words = "{:g}".format if decimal else binary
    across = Axis(*ends, left, left + _WIDTH, picture.logarithm, words, x_title)
    x_ticks = across.spread(picture.log_ticks(*ends)) if decimal else _powers(xs, across)
    signs = [one.sign for one in every if one.kind != BEFORE]
    signs += [Sign(_BEFORE, "", line="bar ink")] if len(signs) < len(every) else []
    body = [
        *(band for one in every for band in _bands(across, up, one)),
        *(part for one in every for part in _line(across, up, one)),
        *picture.legend([[sign] for sign in signs], across.end + GAP, _TOP),
    ]
    right = GAP + max(sign.width for sign in signs)
    height = _TOP + LINE * len(signs) + GAP
    return picture.chart(title, (across, up), (x_ticks, y_ticks), body, right=right, height=height)


def _powers(xs: Sequence[float], x: Axis) -> list[float]:
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
    colour = picture.series(one.colour)
    for part in one.parts:
        known = [(p.x, p.low, p.high) for p in part if p.low is not None and p.high is not None]
        highs = [(x.at(at), y.at(high)) for at, _, high in known]
        lows = [(x.at(at), y.at(low)) for at, low, _ in known]
        if len(known) == 1:
            yield picture.line(f"bar {colour}", [*lows, *highs])
        elif known:
            corners = " ".join(f"{at:.2f},{up:.2f}" for at, up in [*highs, *reversed(lows)])
            yield picture.shape("polygon", f"band {colour}", f'points="{corners}"')


def _line(x: Axis, y: Axis, one: Series) -> Iterator[str]:
    sign = one.sign
    for part in one.parts:
        if one.kind:
            corners = [(x.at(point.x), y.at(point.y)) for point in part]
            yield picture.line(f"{one.kind} {picture.series(one.colour)}", corners)
        for point in part if one.kind in (SOLID, DOTS) else ():
            yield picture.mark(x.at(point.x), y.at(point.y), sign.kinds, sign.path, point.told)
