# SPDX-License-Identifier: Apache-2.0
"""The one chart: lines, bands, ceilings and dots over an axis of numbers or of names. Pure."""

from __future__ import annotations

import math
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import groupby

from warpgauge.reports import pages
from warpgauge.reports.drawing import picture
from warpgauge.reports.drawing.picture import GAP, LINE, Axis, Words
from warpgauge.system.text import binary, duration, quantity

_WIDTH, _HEIGHT, _TOP = 640.0, 380.0, 44.0
_BOTTOM = 58.0  # the labels and the title of the horizontal axis
_LONGEST_LABEL = 40
_OF_SIGN = 34.0  # pixels of a sign in the legend, with the space behind it

# Larger bands are cut off at this multiple of the highest point, so that they do not flatten lines.
_HIGHEST_BAND = 1.15


@dataclass(frozen=True)
class Point:
    """`low` to `high` is the interval of `y`, if known; `told` is the tooltip.

    A `label` stands beside the point if it has room. `href` is the address that a click leads to.
    """

    x: float
    y: float
    low: float | None = None
    high: float | None = None
    told: str = ""
    label: str = ""
    href: str = ""

    @property
    def has_interval(self) -> bool:
        return self.low is not None and self.high is not None


# The kinds of a series, by the class of its line.
SOLID, CEILING, BEFORE, LEVEL, DOTS = "line", "ceiling", "bar", "whisker", ""


@dataclass(frozen=True)
class Series:
    """A line from left to right, broken where a point is None, or DOTS without a line.

    `colour` numbers its colour; None is that of text. A CEILING is dashed and a LEVEL thin, without
    marks. A line from the baseline (BEFORE) is pale, without marks.
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
    def style(self) -> str:
        """The class of its colour."""
        return picture.series(self.colour)

    @property
    def mark(self) -> str:
        """The path of its marks, if it has any."""
        return picture.marker(self.colour) if self.kind in (SOLID, DOTS) else ""


@dataclass(frozen=True)
class Vertical:
    """The vertical axis: its title, its ticks' words, and whether it is logarithmic.

    Without `ends` it holds all points, and a linear one begins at zero.
    """

    title: str
    words: Words = "{:g}".format
    is_logarithmic: bool = False
    ends: tuple[float, float] | None = None


TIMES = Vertical("time of an operation", lambda seconds: picture.short(duration(seconds)), True)


def of_rates(unit: str) -> Vertical:
    """Return the logarithmic axis of rates in a unit: ``FLOP/s``."""
    return Vertical("rate", lambda rate: picture.short(quantity(rate, unit)), True)


@dataclass(frozen=True)
class Flag:
    """A vertical line at `x` of the class `kind`, with a label above it if that has room."""

    x: float
    label: str
    kind: str
    told: str = ""


def drawn(
    every: Sequence[Series],
    title: str,
    x_title: str,
    y: Vertical,
    *,
    decimal: bool = False,
    names: Sequence[str] = (),
    flags: Sequence[Flag] = (),
) -> str:
    """Return the SVG element. At least one point; with a log axis every y above zero.

    The horizontal axis is logarithmic, of values above zero, with powers of two as ticks, or
    `decimal` ones. With `names` it is of their indexes. Labels of earlier `flags` come first.
    """
    up, y_ticks = _vertical(every, y, _TOP + LINE * bool(flags))
    left = picture.margin(y_ticks, y.words)
    axis = Axis(0.0, 1.0, left, left + _WIDTH, title=x_title)
    across, x_ticks = _of_names(axis, names) if names else _of_numbers(axis, every, decimal)
    width = max(picture.width_of(picture.shortened(series.name)) for series in every) + _OF_SIGN
    width = max(across.end + GAP + width, left + picture.title_width(title)) + GAP
    height = max(up.start + _BOTTOM, _TOP + LINE * (len(every) + 1))
    has_links = any(point.href for series in every for point in series.drawn)
    values = {
        "title": title,
        "width": math.ceil(width),
        "height": math.ceil(height),
        "role": "group" if has_links else "img",  # an image has no links in it
        "x": across,
        "y": up,
        "x_ticks": x_ticks,
        "y_ticks": y_ticks,
        "every": every,
        "labels": _labels(across, up, every),
        "flags": flags,
        "flag_labels": _flag_labels(across, flags),
        "right": across.end + GAP,
        "top": _TOP,
        "line_height": LINE,
    }
    return pages.element("picture.svg", values)


def _vertical(every: Sequence[Series], y: Vertical, top: float) -> tuple[Axis, Sequence[float]]:
    points = [point for one in every for point in one.drawn]
    if y.ends is not None:
        low, high = y.ends
    elif y.is_logarithmic:
        low, high = min(one.y for one in points) / 1.12, max(one.y for one in points) * 1.12
    else:
        highest = max(point.y for point in points)
        bands = [min(point.high or 0.0, _HIGHEST_BAND * highest) for point in points]
        low, high = 0.0, max([highest, *bands]) * 1.04 or 1.0
    ticks = picture.log_ticks if y.is_logarithmic else picture.linear_ticks
    scale = picture.logarithm if y.is_logarithmic else picture.linear
    return Axis(low, high, top + _HEIGHT, top, scale, y.words, y.title), ticks(low, high)


def _of_names(axis: Axis, names: Sequence[str]) -> tuple[Axis, list[float]]:
    last = len(names) - 1
    room = 0.015 * last + 0.5
    across = replace(axis, low=-room, high=last + room, words=lambda index: names[int(index)])
    # The first and the last, and halves, quarters, ... between, as far as they have room.
    between = (last * odd // 2**power for power in range(1, 5) for odd in range(1, 2**power, 2))
    return across, across.spread(dict.fromkeys([last, 0, *between]))


def _of_numbers(axis: Axis, every: Sequence[Series], decimal: bool) -> tuple[Axis, list[float]]:
    xs = sorted({point.x for one in every for point in one.drawn})
    # Slightly longer than the lines at both ends.
    room = 2 ** (0.03 * (math.log2(xs[-1]) - math.log2(xs[0])) or 0.5)
    low, high = max(xs[0] / room, sys.float_info.min), min(xs[-1] * room, sys.float_info.max)
    words: Words = "{:g}".format if decimal else binary
    across = replace(axis, low=low, high=high, scale=picture.logarithm, words=words)
    ticks = across.spread(picture.log_ticks(low, high)) if decimal else _powers(xs, across)
    return across, ticks


def _powers(xs: Sequence[float], x: Axis) -> list[float]:
    """Return powers of two, spaced as their labels need, or the values if these lie between."""
    first, last = math.ceil(math.log2(xs[0])), math.floor(math.log2(xs[-1]))
    if first >= last or any(isinstance(one, float) for one in xs):
        return x.spread(xs)
    # 2^10, 2^20, ... have room first, then what lies halfway between.
    powers = sorted(range(first, last + 1), key=lambda power: (power % 10 > 0, power % 5 > 0))
    return x.spread(2**power for power in powers)


def _flag_labels(x: Axis, flags: Sequence[Flag]) -> Iterator[tuple[float, Flag]]:
    """Yield the flags whose labels have room, with the middle of each label."""
    labels: dict[float, Flag] = {}
    for flag in flags:
        labels.setdefault(flag.x, flag)
    # Within the frame at either end.
    half = max((picture.width_of(flag.label) for flag in flags), default=0.0) / 2
    inner = replace(x, words=lambda at: labels[at].label)
    for at in inner.spread(labels):
        yield min(max(x.at(at), x.start + half), x.end - half), labels[at]


def _labels(x: Axis, y: Axis, every: Sequence[Series]) -> Iterator[tuple[float, float, str, str]]:
    """Yield labels, right of their points or above the ends of lines, unless on another one."""
    taken: list[tuple[float, float, float]] = []  # left, right, and the height
    for one in every:
        for point in one.drawn:
            words = picture.shortened(point.label, _LONGEST_LABEL)
            length = picture.width_of(words)
            left, height = x.at(point.x) + 8, y.at(point.y) + (4 if one.mark else -6)
            if left + length > x.end:
                left -= length + 16
            free = all(
                right < left or left + length < other or abs(at - height) > LINE * 0.7
                for other, right, at in taken
            )
            if words and free and left >= x.start and height > y.end + LINE / 2:
                taken.append((left, left + length, height))
                yield left, height, words, one.style
