# SPDX-License-Identifier: Apache-2.0
"""The one chart: lines, bands, ceilings and dots over an axis of numbers or of names. Pure.

`drawn` returns an SVG element for a page, and `document` makes a file of it. A picture has no id
and no style, because a page holds several and has its style once. The same data give the same
bytes.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import groupby

from rich.cells import cell_len

from warpgauge.reports import pages
from warpgauge.reports.pages import shortened
from warpgauge.system.text import binary, duration, quantity

# The width of a letter of 12 pixels' size and the height of a line, in pixels, as are all
# coordinates. The font is monospaced, so that texts fit in any browser.
LETTER, LINE = 7.5, 20

_SERIES = 8  # the colours c0 to c7 of the style

GAP = 16.0
_LONGEST_NAME, _LONGEST_TITLE, _LONGEST_LABEL = 60, 160, 40
_MARKS = ("M-4 0a4 4 0 1 0 8 0a4 4 0 1 0-8 0z", "M-3.5-3.5h7v7h-7z", "M0-5L5 0 0 5-5 0z",
          "M0-4.5L4.5 3.5h-9z", "M0 4.5L4.5-3.5h-9z")  # fmt: skip


def document(picture: str, mark: str) -> str:
    """Return a file of one picture; the `mark` tells a later run that it may replace the file."""
    head, rest = picture.split("\n", 1)
    above = f'<?xml version="1.0" encoding="utf-8"?>\n<!-- {mark} -->\n{head}'
    return f"{above}\n<style>{pages.style()}</style>\n{rest}"


def width_of(words: str) -> float:
    """Return the width of inert text in pixels."""
    return LETTER * cell_len(words)


Words = Callable[[float], str]


@dataclass(frozen=True)
class Axis:
    """An axis from the value `low` at pixel `start` to the value `high` at pixel `end`.

    A vertical one whose ends are equal gets ends that hold all points; a linear one begins at zero.
    """

    title: str
    words: Words = "{:g}".format  # the label of a tick
    is_logarithmic: bool = False
    low: float = 0.0
    high: float = 0.0
    start: float = 0.0
    end: float = 0.0

    def _scaled(self, value: float) -> float:
        if not self.is_logarithmic:
            return value
        return math.log10(value) if value > 0 else -math.inf

    def at(self, value: float) -> float:
        """Return the pixel of a value, clamped to the ends."""
        low, high = self._scaled(self.low), self._scaled(self.high)
        # Halved, so that the difference of two huge values is finite.
        share = (self._scaled(value) / 2 - low / 2) / (high / 2 - low / 2)
        return self.start + (self.end - self.start) * min(max(share, 0.0), 1.0)

    @property
    def ticks(self) -> list[float]:
        ticks = _log_ticks if self.is_logarithmic else _linear_ticks
        return ticks(self.low, self.high)

    def spread(self, values: Iterable[float]) -> list[float]:
        """Return those of `values` whose labels have room, sorted; earlier values go first."""
        shown: list[float] = []
        for value in values:
            # Labels are centred, with at least two letters between them.
            width = width_of(self.words(value)) + 4 * LETTER
            rooms = {one: (width + width_of(self.words(one))) / 2 for one in shown}
            at = self.at(value)
            if all(abs(at - self.at(one)) >= room for one, room in rooms.items()):
                shown.append(value)
        return sorted(shown)


def _linear_ticks(low: float, high: float, most: int = 6) -> list[float]:
    """Return round numbers from `low` to `high`, at most `most` equal steps."""
    length = high - low
    power = 10 ** math.floor(math.log10(length / most))
    step = next(power * one for one in (1, 2, 2.5, 5, 10) if length / (power * one) <= most)
    first, last = math.ceil(low / step - 1e-9), math.floor(high / step + 1e-9)
    return [step * count for count in range(first, last + 1)]


def _log_ticks(low: float, high: float, most: int = 10) -> list[float]:
    """Return 1, 2, 5, 10, ... or powers of ten, or every nth of these; at least one tick."""
    ends = math.log10(low), math.log10(high)
    for factors in ((1, 2, 5), (1,)):
        powers = range(math.floor(ends[0]), math.ceil(ends[1]) + 1)
        ticks = [factor * 10.0**power for power in powers for factor in factors]
        shown = [tick for tick in ticks if ends[0] <= math.log10(tick) <= ends[1]]
        if len(shown) <= most:
            break
    return shown[:: math.ceil(len(shown) / most) or 1] or [math.sqrt(low) * math.sqrt(high)]


_WIDTH, _HEIGHT, _TOP = 640.0, 380.0, 44.0
_BOTTOM = 58.0  # the labels and the title of the horizontal axis
_OF_SIGN = 34.0  # pixels of a sign in the legend, with the space behind it

# Larger bands are cut off at this multiple of the highest point, so that they do not flatten lines.
_HIGHEST_BAND = 1.15


@dataclass(frozen=True)
class Point:
    """`low` to `high` is the interval of `y`, if known.

    A `label` stands beside the point if it has room. `href` is the address that a click leads to.
    """

    x: float
    y: float
    low: float | None = None
    high: float | None = None
    tooltip: str = ""
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
        return "ink" if self.colour is None else f"c{self.colour % _SERIES}"

    @property
    def mark(self) -> str:
        """The path of its marks, if it has any, which changes each time the colours repeat."""
        has_any = self.kind in (SOLID, DOTS)
        return _MARKS[(self.colour or 0) // _SERIES % len(_MARKS)] if has_any else ""


TIMES = Axis("time of an operation", lambda seconds: _short(duration(seconds)), True)


def of_rates(unit: str) -> Axis:
    """Return the logarithmic axis of rates in a unit: ``FLOP/s``."""
    return Axis("rate", lambda rate: _short(quantity(rate, unit)), True)


def _short(words: str) -> str:
    """Return ``2 µs`` for ``2.000 µs``."""
    number, _, unit = words.partition(" ")
    return f"{float(number):g} {unit}"


@dataclass(frozen=True)
class Flag:
    """A vertical line at `x` of the class `kind`, with a label above it if that has room."""

    x: float
    label: str
    kind: str
    tooltip: str = ""


def drawn(
    every: Sequence[Series],
    title: str,
    x_title: str,
    y: Axis,
    *,
    decimal: bool = False,
    names: Sequence[str] = (),
    flags: Sequence[Flag] = (),
) -> str:
    """Return the SVG element. At least one point; with a log axis every y above zero.

    The horizontal axis is logarithmic, of values above zero, with powers of two as ticks, or
    `decimal` ones. With `names` it is of their indexes. Labels of earlier `flags` come first.
    """
    top = _TOP + LINE * bool(flags)
    up = replace(_holding(every, y), start=top + _HEIGHT, end=top)
    # Of the vertical axis its title and its widest label.
    left = GAP + LINE + max(width_of(y.words(tick)) for tick in up.ticks) + 8
    axis = Axis(x_title, start=left, end=left + _WIDTH)
    across, x_ticks = _of_names(axis, names) if names else _of_numbers(axis, every, decimal)
    names_width = max(width_of(shortened(series.name, _LONGEST_NAME)) for series in every)
    # Bold letters are slightly wider if a browser has no monospaced font for them.
    title_end = left + 1.1 * width_of(shortened(title, _LONGEST_TITLE))
    width = max(across.end + GAP + _OF_SIGN + names_width, title_end) + GAP
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
        "y_ticks": up.ticks,
        "every": every,
        "labels": _labels(across, up, every),
        "flags": flags,
        "flag_labels": _flag_labels(across, flags),
        "legend": [(_TOP + LINE * at, series) for at, series in enumerate(every)],
        "right": across.end + GAP,
    }
    return pages.element("picture.svg", values)


def _holding(every: Sequence[Series], y: Axis) -> Axis:
    points = [point for series in every for point in series.drawn]
    highest = max(point.y for point in points)
    if y.low != y.high:
        return y
    if y.is_logarithmic:
        return replace(y, low=min(point.y for point in points) / 1.12, high=highest * 1.12)
    bands = [min(point.high or 0.0, _HIGHEST_BAND * highest) for point in points]
    return replace(y, high=max([highest, *bands]) * 1.04 or 1.0)


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
    across = replace(axis, low=low, high=high, words=words, is_logarithmic=True)
    ticks = across.spread(across.ticks) if decimal else _powers(xs, across)
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
    half = max((width_of(flag.label) for flag in flags), default=0.0) / 2
    inner = replace(x, words=lambda at: labels[at].label)
    for at in inner.spread(labels):
        yield min(max(x.at(at), x.start + half), x.end - half), labels[at]


def _labels(x: Axis, y: Axis, every: Sequence[Series]) -> Iterator[tuple[float, float, str, str]]:
    """Yield labels, right of their points or above the ends of lines, unless on another one."""
    taken: list[tuple[float, float, float]] = []  # left, right, and the height
    for one in every:
        for point in one.drawn:
            words = shortened(point.label, _LONGEST_LABEL)
            length = width_of(words)
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
