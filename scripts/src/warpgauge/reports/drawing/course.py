# SPDX-License-Identifier: Apache-2.0
"""One benchmark over the nights: standard errors, change points, other events. Pure."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from statistics import fmean, median

from warpgauge.reports.drawing import picture
from warpgauge.reports.drawing.picture import GAP, LETTER, Axis
from warpgauge.system.text import duration, percent, span

_WIDTH, _HEIGHT, _LINE = 800.0, 240.0, 18.0
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

    @property
    def kind(self) -> str:
        return "slower" if self.change > 0 else "faster"


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
    low, high, scale = _range(course.nights)
    y_ticks = (picture.linear_ticks if scale is picture.linear else picture.log_ticks)(low, high, 6)
    words = picture.seconds_words(high)
    kinds = list(dict.fromkeys(event.kind for event in course.events))
    lanes = [picture.width_of(_short(kind)) + GAP + 8 for kind in kinds]
    left = max([picture.margin(y_ticks, words), *lanes])
    last = len(course.nights) - 1
    room = 0.015 * last + 0.5

    x = Axis(
        *(-room, last + room, left, left + _WIDTH),
        words=lambda index: _short(course.nights[int(index)].date),
    )
    labels = _labels(course.changes, x)
    top = 40.0 + (_LINE if labels else 0.0)
    y = Axis(low, high, top + _HEIGHT, top, scale, words, "time of an operation")
    # The first and the last night, and halves, quarters, ... between, as far as they have room.
    between = (last * odd // 2**power for power in range(1, 5) for odd in range(1, 2**power, 2))
    dates = x.spread(dict.fromkeys([last, 0, *between]))
    bottom = y.start + 32 + _LINE * len(kinds)
    body = [
        *labels,
        *_events(course, kinds, x, y),
        *_nights(course.nights, x, y),
        *_levels(course, x, y),
        *_changes(course.changes, x, y),
        picture.text(left, bottom + 14, _BELOW, "faint"),
    ]
    # Half of the last date lies to the right of the frame.
    right = LETTER * (_LONGEST_DATE + 1) / 2
    below = bottom + 28 - y.start
    return picture.chart(course.title, (x, y), (dates, y_ticks), body, right=right, bottom=below)


def _short(words: str) -> str:
    return picture.shortened(words, _LONGEST_DATE)


def _range(nights: Sequence[Night]) -> tuple[float, float, Callable[[float], float]]:
    """Return the range of nights with their bars, and the scale."""
    times = [math.log(night.seconds) for night in nights]
    bars = [_HALF * night.error for night in nights]
    longest = _LONGEST_BAR * median(bars)
    ends = [(at - bar, at + bar) for at, bar in zip(times, bars, strict=True)]
    low = math.exp(max(min(low for low, _ in ends), min(times) - longest))
    high = math.exp(min(max(high for _, high in ends), max(times) + longest))
    if high / low > _LOGARITHMIC:
        return low / 1.1, high * 1.1, picture.logarithm
    room = max(0.05 * (high - low), picture.LEAST * high)
    return low - room, high + room, picture.linear


def _events(course: Course, kinds: Sequence[str], x: Axis, y: Axis) -> Iterator[str]:
    """Yield a lane for each kind below the dates, with a tick at each event."""
    middles = {kind: y.start + 36 + _LINE * index for index, kind in enumerate(kinds)}
    for kind, middle in middles.items():
        yield picture.text(x.start - 8, middle + 4, _short(kind), "end faint")
        yield picture.line("grid", [(x.start, middle), (x.end, middle)])
    for event in course.events:
        at = x.at(event.index - 0.5)
        yield picture.line("grid", [(at, y.end), (at, y.start)])
        told = event.tooltip or event.kind
        yield picture.rect("mark ink", at - 1.5, middles[event.kind] - 6, 3.0, 12.0, told)


def _nights(nights: Sequence[Night], x: Axis, y: Axis) -> Iterator[str]:
    """Yield all bars as one shape, because three years have a thousand, then the points."""
    bars = []
    for index, night in enumerate(nights):
        if night.error > 0:
            ends = (y.at(night.seconds * math.exp(sign * _HALF * night.error)) for sign in (1, -1))
            bars.append("M{:.2f} {:.2f}V{:.2f}".format(x.at(index), *ends))
    if bars:
        yield picture.shape("path", "error c0", f'd="{"".join(bars)}"')
    radius = min(max(_WIDTH / len(nights) / 2, 1.5), 4.0)
    for index, night in enumerate(nights):
        told = night.tooltip or f"{night.date}: {duration(night.seconds)}"
        # Shorter than a path: a page has one per night and benchmark.
        place = f'cx="{x.at(index):.2f}" cy="{y.at(night.seconds):.2f}" r="{radius:.2g}"'
        yield picture.shape("circle", "dot c0", place, told)


def _levels(course: Course, x: Axis, y: Axis) -> Iterator[str]:
    """Yield the geometric mean between neighbouring changes as a line."""
    inner = sorted({one.index for one in course.changes if 0 < one.index < len(course.nights)})
    for first, end in pairwise([0, *inner, len(course.nights)]):
        times = [math.log(night.seconds) for night in course.nights[first:end]]
        height = y.at(math.exp(fmean(times)))
        yield picture.line("whisker ink", [(x.at(first - 0.5), height), (x.at(end - 0.5), height)])


def _changes(changes: Sequence[ChangePoint], x: Axis, y: Axis) -> Iterator[str]:
    for one in changes:
        at = x.at(one.index - 0.5)
        told = one.tooltip or f"{percent(one.change)} ({span(one.low, one.high)})"
        yield picture.line(f"ceiling {one.kind}", [(at, y.end), (at, y.start)], told)


def _labels(changes: Sequence[ChangePoint], x: Axis) -> list[str]:
    """Return labels above the frame; of changes whose labels lack room, the largest.

    The line of a change without a label still has a tooltip.
    """
    largest_first = sorted(changes, key=lambda change: -abs(change.change))
    by_place = {one.index - 0.5: one for one in reversed(largest_first)}
    # Within the frame at either end.
    half = max((picture.width_of(percent(one.change)) for one in changes), default=0.0) / 2
    inner = replace(x, words=lambda place: percent(by_place[place].change))
    return [
        picture.text(min(max(x.at(place), x.start + half), x.end - half), 52,
                     percent(by_place[place].change), f"middle {by_place[place].kind}")
        for place in inner.spread(one.index - 0.5 for one in largest_first)
    ]  # fmt: skip
