# SPDX-License-Identifier: Apache-2.0
"""One dot for each process or pair: medians by session and side, or ratios over the pairs. Pure."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from statistics import median

from warpgauge.reports.drawing import axes, picture, style
from warpgauge.reports.drawing.axes import Axis
from warpgauge.reports.drawing.picture import GAP, Sign, mark, rect, shape, text
from warpgauge.reports.drawing.style import LETTER, LINE

_HEIGHT, _BOTTOM, _LEAST_WIDTH, _MOST_WIDTH = 240.0, 34.0, 360.0, 960.0
_LEAST_COLUMN, _MOST_COLUMN = 72.0, 120.0

# Between the middles of dots that lie beside each other.
_APART = 9.0


@dataclass(frozen=True)
class Group:
    """A column of dots with a line at their median; `tooltips`, if any, are as many as `values`.

    Groups of one `colour` (base, candidate) have the same; without one it is that of the text.
    """

    name: str
    values: Sequence[float]
    colour: int | None = None
    tooltips: Sequence[str] = ()

    @property
    def told(self) -> Sequence[str]:
        return self.tooltips or [""] * len(self.values)


@dataclass(frozen=True)
class Dots:
    """There is a value. `y_text` words a tick, as do `axes.seconds_words` and `change_words`.

    With `numbered` the dots stand in the order of their values, over 1, 2, 3, ... (the pairs), one
    group after the other; else each group is a column. `x` and `y` are the titles of the axes.
    `middle` and `interval` are the estimate and what it is known to, `band` the tolerance, all on
    the vertical axis.
    """

    title: str
    y: str
    groups: Sequence[Group]
    y_text: Callable[[float], str] = "{:g}".format
    numbered: bool = False
    x: str = ""
    middle: float | None = None
    interval: tuple[float, float] | None = None
    band: tuple[float, float] | None = None
    interval_name: str = "95 % interval"
    band_name: str = "tolerance"


def drawn(dots: Dots) -> str:
    """The element."""
    low, high = _range(dots)
    y_ticks = axes.linear_ticks(low, high)
    left = axes.margin(y_ticks, dots.y_text)
    x = _horizontal(dots, left)
    legend = picture.rows(_signs(dots), x.end - left)
    top = 44.0 + LINE * len(legend)
    y = Axis(low, high, top + _HEIGHT, top)
    below = axes.below(x, _numbers(x), "{:g}".format, y)
    body = [
        picture.title(dots.title, left),
        *picture.lines(legend, left, 36),
        *_ranges(dots, x, y),
        *axes.beside(y, y_ticks, dots.y_text, x),
        *(below if dots.numbered else _names(x, dots.groups, y)),
        axes.frame(x, y),
        *(_zero(x, y) if low < 0.0 < high else ()),
        *_dots(dots, x, y),
        *axes.titles(x, y, dots.x, dots.y),
    ]
    signs = max((sign.width for line in legend for sign in line), default=0.0)
    width = max(x.end, left + max(picture.title_width(dots.title), signs)) + GAP
    height = y.start + _BOTTOM + (LINE if dots.x else 0.0)
    return picture.element(body, width, height, dots.title)


def _range(dots: Dots) -> tuple[float, float]:
    """All values and what is drawn across them, with some room."""
    ends = [value for group in dots.groups for value in group.values]
    ends += [value for both in (dots.interval, dots.band) for value in both or ()]
    ends += [dots.middle] if dots.middle is not None else []
    low, high = min(ends), max(ends)
    room = max(0.06 * (high - low), axes.LEAST * max(abs(low), abs(high))) or 1.0
    return low - room, high + room


def _horizontal(dots: Dots, left: float) -> Axis:
    if dots.numbered:
        count = max(sum(len(group.values) for group in dots.groups), 1)
        room = 0.03 * count + 0.5
        return Axis(1 - room, count + room, left, left + 640.0)
    widest = max(picture.width_of(picture.shortened(group.name)) for group in dots.groups)
    column = min(max(widest + 2 * LETTER, _LEAST_COLUMN), _MOST_COLUMN)
    width = min(max(column * len(dots.groups), _LEAST_WIDTH), _MOST_WIDTH)
    return Axis(-0.5, len(dots.groups) - 0.5, left, left + width)


def _signs(dots: Dots) -> list[Sign]:
    signs = []
    if dots.numbered and len(dots.groups) > 1:
        signs += [Sign(one.name, f"dot {style.series(one.colour)}", picture.CIRCLE)
                  for one in dots.groups]  # fmt: skip
    if dots.interval is not None:
        signs.append(Sign(dots.interval_name, "band c6"))
    if dots.band is not None:
        signs.append(Sign(dots.band_name, "tolerance"))
    return signs


def _ranges(dots: Dots, x: Axis, y: Axis) -> Iterator[str]:
    """The tolerance, the interval on it, and the estimate."""
    for kinds, both in (("tolerance", dots.band), ("band c6", dots.interval)):
        if both is not None:
            bottom, top = (y.at(value) for value in both)
            yield rect(kinds, x.start, top, x.end - x.start, max(bottom - top, 1.0))
    if dots.middle is not None:
        at = y.at(dots.middle)
        yield shape("path", "whisker c6", f'd="M{x.start:.2f} {at:.2f}H{x.end:.2f}"')


def _zero(x: Axis, y: Axis) -> Iterator[str]:
    yield shape("path", "zero ink", f'd="M{x.start:.2f} {y.at(0.0):.2f}H{x.end:.2f}"')


def _numbers(x: Axis) -> list[float]:
    last = int(x.high)
    ticks = [one for one in axes.linear_ticks(1, max(last, 2)) if one == int(one) and one <= last]
    return x.spread([1.0, *ticks], "{:g}".format)


def _names(x: Axis, groups: Sequence[Group], y: Axis) -> Iterator[str]:
    """Of the columns, as many as have room."""
    letters = int((x.end - x.start) / len(groups) / LETTER) - 2
    names = [picture.shortened(group.name, max(letters, 6)) for group in groups]
    for index in x.spread(range(len(groups)), lambda index: names[int(index)]):
        yield text(x.at(index), y.start + 18, names[int(index)], "middle")


def _dots(dots: Dots, x: Axis, y: Axis) -> Iterator[str]:
    number = 0
    for index, group in enumerate(dots.groups):
        kinds = f"dot {style.series(group.colour)}"
        heights = [y.at(value) for value in group.values]
        if dots.numbered:
            places = [x.at(number + at + 1) for at in range(len(heights))]
            number += len(heights)
        else:
            room = (x.end - x.start) / len(dots.groups)
            places = [x.at(index) + aside for aside in _asides(heights, room / 2 - 6)]
            yield from _median(group, x.at(index), y, min(room / 3, 30.0))
        for place, height, told in zip(places, heights, group.told, strict=True):
            yield mark(place, height, kinds, picture.CIRCLE, told)


def _median(group: Group, middle: float, y: Axis, half: float) -> Iterator[str]:
    if group.values:
        at = f"M{middle - half:.2f} {y.at(median(group.values)):.2f}h{2 * half:.2f}"
        yield shape("path", f"whisker {style.series(group.colour)}", f'd="{at}"')


def _asides(heights: Sequence[float], most: float) -> list[float]:
    """How far from the middle each dot stands, so that few cover others."""
    placed: list[tuple[float, float]] = []
    steps = [0.0]
    while steps[-1] + _APART <= most:
        steps += [-(abs(steps[-1]) + _APART), abs(steps[-1]) + _APART]
    for height in heights:
        near = [aside for other, aside in placed if abs(other - height) < _APART]
        free = [step for step in steps if step not in near]
        placed.append((height, free[0] if free else steps[len(placed) % len(steps)]))
    return [aside for _, aside in placed]
