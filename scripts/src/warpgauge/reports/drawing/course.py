# SPDX-License-Identifier: Apache-2.0
"""One benchmark over the nights: standard errors, change points, other events. Pure."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from statistics import fmean, median

from warpgauge.reports.drawing import chart
from warpgauge.reports.drawing.chart import DOTS, LEVEL, Flag, Point, Series
from warpgauge.reports.pages import shortened
from warpgauge.system.text import duration, percent, plural

_LONGEST_DATE, _FEWEST_POINTS = 12, 4

# Half of a 95 % interval of a normal distribution, in standard errors.
_HALF = 1.96

# Bars are cut off this many typical bars beyond all nights, so that one night with a large error
# does not flatten the others, and an axis spans so much that the labels of its ticks differ.
_LONGEST_BAR, _LEAST = 1.5, 0.005

# The axis is logarithmic if its range is a larger factor.
_LOGARITHMIC = 5.0


@dataclass(frozen=True)
class Night:
    """A median in `seconds`, above zero; `error` is the standard error of its logarithm."""

    date: str  # 2026-03-07; shown as it is
    seconds: float
    error: float = 0.0
    tooltip: str = ""


@dataclass(frozen=True)
class Mark:
    """What changed from the night `index` on: the times by the fraction `change`, or a `kind`.

    Kinds are "GPU", "driver" and "machine".
    """

    index: int
    change: float = 0.0
    kind: str = ""
    tooltip: str = ""

    @property
    def flag(self) -> Flag:
        if self.kind:
            label, style = shortened(self.kind, _LONGEST_DATE), "faint"
        else:
            label, style = percent(self.change), "slower" if self.change > 0 else "faster"
        return Flag(self.index - 0.5, label, style, self.tooltip)


@dataclass(frozen=True)
class Course:
    """The nights of a benchmark, at least one, in order."""

    title: str
    nights: Sequence[Night]
    marks: Sequence[Mark] = ()

    @property
    def has_a_line(self) -> bool:
        """Whether a line shows more than numbers do."""
        return len(self.nights) >= _FEWEST_POINTS

    @property
    def trend(self) -> str:
        change = self.nights[-1].seconds / self.nights[0].seconds - 1
        return f"{plural(len(self.nights), 'night')}, from the first to the last {percent(change)}"

    @property
    def small_line(self) -> list[tuple[float, float]]:
        """The corners of the line in a picture of 150 by 18 pixels."""
        times = [math.log(night.seconds) for night in self.nights]
        low, length = min(times), max(max(times) - min(times), 0.01)
        step = 144 / (len(times) - 1)
        return [(3 + step * n, 15 - 12 * (time - low) / length) for n, time in enumerate(times)]


def drawn(course: Course) -> str:
    """Return the SVG element."""
    times, errors = zip(*((night.seconds, night.error) for night in course.nights), strict=True)
    room = max(_LONGEST_BAR * _HALF * median(errors), _LEAST)
    low, high = min(times) / math.exp(room), max(times) * math.exp(room)
    y = replace(chart.TIMES, low=low, high=high, is_logarithmic=high / low > _LOGARITHMIC)
    points = [_point(index, night) for index, night in enumerate(course.nights)]
    # The labels of the largest changes have room first.
    flags = [mark.flag for mark in sorted(course.marks, key=lambda mark: -abs(mark.change))]
    every = [Series("a night, with its 95 % interval", points, 0, DOTS),
             Series("mean between changes", [*_levels(course)], None, LEVEL)]  # fmt: skip
    names = [shortened(night.date, _LONGEST_DATE) for night in course.nights]
    return chart.drawn(every, course.title, "night", y, names=names, flags=flags)


def _point(index: int, night: Night) -> Point:
    tooltip = night.tooltip or f"{night.date}: {duration(night.seconds)}"
    if not night.error:
        return Point(index, night.seconds, tooltip=tooltip)
    low, high = (night.seconds * math.exp(sign * _HALF * night.error) for sign in (-1, 1))
    return Point(index, night.seconds, low, high, tooltip)


def _levels(course: Course) -> Iterator[Point | None]:
    """Yield the ends of lines at the geometric mean between neighbouring changes."""
    steps = {mark.index for mark in course.marks if mark.change}
    for first, end in pairwise(sorted({0, *steps, len(course.nights)})):
        mean = math.exp(fmean(math.log(night.seconds) for night in course.nights[first:end]))
        yield from (Point(first - 0.5, mean), Point(end - 0.5, mean), None)
