# SPDX-License-Identifier: Apache-2.0
"""One benchmark over the nights: standard errors, change points, other events. Pure."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from statistics import fmean, median

from warpgauge.reports.drawing import axes, picture
from warpgauge.reports.drawing.axes import Axis, linear, logarithm
from warpgauge.reports.drawing.picture import GAP, shape, text
from warpgauge.reports.drawing.style import LETTER
from warpgauge.system.text import duration, percent, span

_WIDTH, _HEIGHT, _LINE = 800.0, 240.0, 18.0
_LINES = 2  # for labels of change points
_LONGEST_DATE = 12
_BELOW = "bars: 95 % interval of a night; lines: mean between changes"

# Half of a 95 % interval of a normal distribution, in standard errors.
_HALF = 1.96

# Bars are cut off this many typical bars beyond the range of all nights, so that one night with a
# large error does not flatten the others.
_LONGEST_BAR = 1.5

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
class ChangePoint:
    """A change of times from the night `index` on, a fraction with the interval `low` to `high`."""

    index: int
    change: float
    low: float
    high: float
    tooltip: str = ""


@dataclass(frozen=True)
class Event:
    """A change of the `kind` "GPU", "driver" or "machine" at the night `index`."""

    index: int
    kind: str
    tooltip: str = ""


@dataclass(frozen=True)
class Course:
    """The nights of a benchmark, at least one, in order."""

    title: str
    nights: Sequence[Night]
    changes: Sequence[ChangePoint] = ()
    events: Sequence[Event] = ()


def drawn(course: Course) -> str:
    """Return the SVG element."""
    y_low, y_high, scale = _range(course.nights)
    ticks = axes.linear_ticks if scale is linear else axes.log_ticks
    y_ticks, words = ticks(y_low, y_high, 6), axes.seconds_words(y_high)
    kinds = list(dict.fromkeys(event.kind for event in course.events))
    lanes = [picture.width_of(_lane(kind)) + GAP + 8 for kind in kinds]
    left = max([axes.margin(y_ticks, words), *lanes])
    last = len(course.nights) - 1
    room = 0.015 * last + 0.5
    x = Axis(-room, last + room, left, left + _WIDTH)
    labels = _labels(course.changes, x)
    top = 40.0 + _LINE * max((label.line + 1 for label in labels), default=0)
    y = Axis(y_low, y_high, top + _HEIGHT, top, scale)
    bottom = y.start + 32 + _LINE * len(kinds)
    body = [
        picture.title(course.title, left),
        *(text(one.at, 52 + _LINE * one.line, one.words, f"middle {one.kind}") for one in labels),
        *axes.beside(y, y_ticks, words, x),
        *_dates(course.nights, x, y),
        axes.frame(x, y),
        *_events(course, kinds, x, y),
        *_errors(course.nights, x, y),
        *_points(course.nights, x, y),
        *_levels(course, x, y),
        *_changes(course.changes, x, y),
        *axes.titles(x, y, "", "time of an operation"),
        text(left, bottom + 14, _BELOW, "faint"),
    ]
    # Half of the last date lies to the right of the frame.
    date = LETTER * (_LONGEST_DATE + 1) / 2
    width = max(x.end + date, left + picture.title_width(course.title)) + GAP
    return picture.element(body, width, bottom + 28, course.title)


def _range(nights: Sequence[Night]) -> tuple[float, float, Callable[[float], float]]:
    """Return the range of nights with their bars, and the scale."""
    times = [math.log(night.seconds) for night in nights]
    bars = [_HALF * night.error for night in nights]
    longest = _LONGEST_BAR * median(bars)
    ends = [(at - bar, at + bar) for at, bar in zip(times, bars, strict=True)]
    low = math.exp(max(min(low for low, _ in ends), min(times) - longest))
    high = math.exp(min(max(high for _, high in ends), max(times) + longest))
    if high / low > _LOGARITHMIC:
        return low / 1.1, high * 1.1, logarithm
    room = max(0.05 * (high - low), axes.LEAST * high)
    return low - room, high + room, linear


def _dates(nights: Sequence[Night], x: Axis, y: Axis) -> Iterator[str]:
    """Yield the dates of the first and the last night, and of as many between as have room."""

    def date(index: float) -> str:
        return picture.shortened(nights[int(index)].date, _LONGEST_DATE)

    last = len(nights) - 1
    # Halves, quarters, ...
    between = (last * odd // 2**power for power in range(1, 5) for odd in range(1, 2**power, 2))
    yield from axes.below(x, x.spread(dict.fromkeys([last, 0, *between]), date), date, y)


def _lane(kind: str) -> str:
    return picture.shortened(kind, _LONGEST_DATE)


def _events(course: Course, kinds: Sequence[str], x: Axis, y: Axis) -> Iterator[str]:
    """Yield a lane for each kind below the dates, with a tick at each event."""
    for index, kind in enumerate(kinds):
        middle = y.start + 36 + _LINE * index
        yield text(x.start - 8, middle + 4, _lane(kind), "end faint")
        yield shape("path", "grid", f'd="M{x.start:.2f} {middle:.2f}H{x.end:.2f}"')
    for event in course.events:
        middle, at = y.start + 36 + _LINE * kinds.index(event.kind), x.at(event.index - 0.5)
        yield shape("path", "grid", f'd="M{at:.2f} {y.end:.2f}V{y.start:.2f}"')
        told = event.tooltip or event.kind
        yield picture.rect("mark ink", at - 1.5, middle - 6, 3.0, 12.0, told)


def _errors(nights: Sequence[Night], x: Axis, y: Axis) -> Iterator[str]:
    """Yield all bars as one shape, because three years have a thousand."""
    bars = []
    for index, night in enumerate(nights):
        if night.error > 0:
            ends = (y.at(night.seconds * math.exp(sign * _HALF * night.error)) for sign in (1, -1))
            bars.append("M{:.2f} {:.2f}V{:.2f}".format(x.at(index), *ends))
    if bars:
        yield shape("path", "error c0", f'd="{"".join(bars)}"')


def _points(nights: Sequence[Night], x: Axis, y: Axis) -> Iterator[str]:
    room = _WIDTH / len(nights)
    radius = min(max(room / 2, 1.5), 4.0)
    for index, night in enumerate(nights):
        told = night.tooltip or f"{night.date}: {duration(night.seconds)}"
        # Shorter than a path: a page has one per night and benchmark.
        place = f'cx="{x.at(index):.2f}" cy="{y.at(night.seconds):.2f}" r="{radius:.2g}"'
        yield shape("circle", "dot c0", place, told)


def _levels(course: Course, x: Axis, y: Axis) -> Iterator[str]:
    """Yield the geometric mean between neighbouring changes as a line."""
    inner = sorted({one.index for one in course.changes if 0 < one.index < len(course.nights)})
    for first, end in pairwise([0, *inner, len(course.nights)]):
        times = [math.log(night.seconds) for night in course.nights[first:end]]
        height = y.at(math.exp(fmean(times)))
        line = f"M{x.at(first - 0.5):.2f} {height:.2f}H{x.at(end - 0.5):.2f}"
        yield shape("path", "whisker ink", f'd="{line}"')


def _kind(change: ChangePoint) -> str:
    return "slower" if change.change > 0 else "faster"


def _changes(changes: Sequence[ChangePoint], x: Axis, y: Axis) -> Iterator[str]:
    for one in changes:
        at = x.at(one.index - 0.5)
        told = one.tooltip or f"{percent(one.change)} ({span(one.low, one.high)})"
        line = f'points="{at:.2f},{y.end:.2f} {at:.2f},{y.start:.2f}"'
        yield shape("polyline", f"ceiling {_kind(one)}", line, told)


@dataclass(frozen=True)
class _Label:
    words: str
    kind: str
    at: float  # its middle
    line: int


def _labels(changes: Sequence[ChangePoint], x: Axis) -> list[_Label]:
    """Return labels above the frame, largest changes first; the others have only a tooltip."""
    labels: list[_Label] = []
    for one in sorted(changes, key=lambda change: -abs(change.change)):
        words = percent(one.change)
        half = picture.width_of(words) / 2
        at = min(max(x.at(one.index - 0.5), x.start + half), x.end - half)
        for line in range(_LINES):
            others = [label for label in labels if label.line == line]
            if all(
                abs(at - other.at) >= half + picture.width_of(other.words) / 2 + LETTER
                for other in others
            ):
                labels.append(_Label(words, _kind(one), at, line))
                break
    return labels
