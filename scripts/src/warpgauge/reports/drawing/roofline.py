# SPDX-License-Identifier: Apache-2.0
"""Benchmarks by arithmetic intensity under the ceilings of their machine, on log-log axes. Pure."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from warpgauge.reports.drawing import axes, picture, style
from warpgauge.reports.drawing.axes import Axis, logarithm
from warpgauge.reports.drawing.picture import GAP, Sign, mark, shape, shortened, text
from warpgauge.reports.drawing.style import LETTER, LINE
from warpgauge.system.text import quantity

_WIDTH, _HEIGHT, _BOTTOM = 640.0, 380.0, 58.0

# So much of a slope is to be seen left of where it meets the level, as a factor.
_SLOPE = 100.0
_LABEL = 16.0  # pixels from a label to the next


@dataclass(frozen=True)
class Point:
    """FLOP a byte and FLOP/s, both above zero. A `family` has one colour."""

    name: str
    family: str
    intensity: float
    rate: float
    tooltip: str = ""


@dataclass(frozen=True)
class Ceiling:
    """A bandwidth in B/s (a slope) or an arithmetic rate in FLOP/s (level), above zero."""

    name: str
    rate: float


@dataclass(frozen=True)
class Roofline:
    """There is a point or a ceiling of each kind."""

    title: str
    points: Sequence[Point]
    bandwidths: Sequence[Ceiling] = ()
    arithmetic: Sequence[Ceiling] = ()


def drawn(roofline: Roofline) -> str:
    """The element."""
    (x_low, x_high), (y_low, y_high) = _ranges(roofline)
    y_ticks = axes.log_ticks(y_low, y_high)
    left = axes.margin(y_ticks, _rate)
    families = sorted({point.family for point in roofline.points})
    legend = picture.rows([_sign(index, one) for index, one in enumerate(families)], _WIDTH)
    top = 44.0 + LINE * len(legend)
    height = max(_HEIGHT, _LABEL * (len(roofline.arithmetic) + 1))
    x = Axis(x_low, x_high, left, left + _WIDTH, logarithm)
    y = Axis(y_low, y_high, top + height, top, logarithm)
    words = [f"{shortened(one.name)}, {_told(one.rate)}" for one in roofline.arithmetic]
    # Half of the last tick's label is right of the frame, too.
    right = GAP + max((picture.width_of(one) for one in words), default=0.0)
    body = [
        picture.title(roofline.title, left),
        *picture.lines(legend, left, 36),
        *axes.beside(y, y_ticks, _rate, x),
        *axes.below(x, x.spread(axes.log_ticks(x_low, x_high), "{:g}".format), "{:g}".format, y),
        axes.frame(x, y),
        *axes.titles(x, y, "arithmetic intensity, FLOP/B", "arithmetic rate"),
        *_slopes(roofline, x, y),
        *_levels(roofline, x, y, words),
        *_points(roofline, families, x, y),
    ]
    width = max(x.end + right, left + picture.title_width(roofline.title)) + GAP
    return picture.element(body, width, y.start + _BOTTOM, roofline.title)


def _ranges(roofline: Roofline) -> tuple[tuple[float, float], tuple[float, float]]:
    """Of intensity and rate: all points, and where the ceilings meet."""
    slopes = [one.rate for one in roofline.bandwidths]
    levels = [one.rate for one in roofline.arithmetic]
    ridges = [level / slope for level in levels for slope in slopes]
    xs = [point.intensity for point in roofline.points]
    xs += [end for ridge in ridges for end in (ridge / _SLOPE, 4 * ridge)]
    ys = [point.rate for point in roofline.points] + levels
    ys += [min(levels) / _SLOPE] if ridges else []
    # A slope without a level is seen above the points.
    ys += [slope * min(xs) * factor for slope in slopes for factor in (1, 10) if not levels]
    return (min(xs) / 1.6, max(xs) * 1.6), (min(ys) / 1.6, max(ys) * 2.0)


def _sign(index: int, family: str) -> Sign:
    return Sign(family, f"dot {style.series(index)}", picture.marker(index))


def _told(rate: float) -> str:
    return quantity(rate, "FLOP/s")


def _rate(rate: float) -> str:
    return axes.short(_told(rate))


def _slopes(roofline: Roofline, x: Axis, y: Axis) -> Iterator[str]:
    """Bandwidths, up to the highest level, with their names along them."""
    roof = max((one.rate for one in roofline.arithmetic), default=y.high)
    slopes = sorted(roofline.bandwidths, key=lambda one: -one.rate)
    for index, one in enumerate(slopes):
        first = max(x.low, y.low / one.rate)
        last = min(x.high, roof / one.rate)
        if first >= last:
            continue
        ends = [(x.at(at), y.at(one.rate * at)) for at in (first, last)]
        yield _ceiling(ends)
        (left, bottom), (right, top) = ends
        # Names of slopes side by side lie one behind the other.
        share = 1 / len(slopes)
        length = share * math.hypot(right - left, bottom - top)
        bandwidth = quantity(one.rate, "B/s")
        letters = int(length / LETTER) - len(bandwidth) - 4
        if letters < 1:
            continue
        along = (index + 0.5) * share
        at_x, at_y = left + along * (right - left), bottom - along * (bottom - top)
        aside = 15 if index else -6  # the steepest has its name above it
        angle = math.degrees(math.atan2(top - bottom, right - left))
        turned = f' transform="rotate({angle:.2f} {at_x:.2f} {at_y:.2f}) translate(0,{aside})"'
        words = f"{shortened(one.name, letters)}, {bandwidth}"
        yield text(at_x, at_y, words, "middle faint", turned)


def _levels(roofline: Roofline, x: Axis, y: Axis, words: Sequence[str]) -> Iterator[str]:
    """Arithmetic rates, from the steepest slope on, with their names at the right."""
    steepest = max((one.rate for one in roofline.bandwidths), default=math.inf)
    heights = [y.at(one.rate) for one in roofline.arithmetic]
    for one, height, place, told in zip(
        roofline.arithmetic, heights, _apart(heights, y.end, y.start), words, strict=True
    ):
        start = x.at(one.rate / steepest) if math.isfinite(steepest) else x.start
        yield _ceiling([(start, height), (x.end, height)])
        ends = f"{x.end:.2f},{height:.2f} {x.end + GAP - 4:.2f},{place:.2f}"
        yield shape("polyline", "zero faint", f'points="{ends}"')
        yield text(x.end + GAP, place + 4, told, "faint")


def _apart(heights: Sequence[float], top: float, bottom: float) -> list[float]:
    """Heights for labels, as near to those of their lines as lets none lie on another."""
    order = sorted(range(len(heights)), key=lambda index: heights[index])
    places = [0.0] * len(heights)
    last = top - _LABEL / 2
    for index in order:
        last = places[index] = max(heights[index], last + _LABEL)
    next_one = bottom + _LABEL / 2
    for index in reversed(order):
        next_one = places[index] = min(places[index], next_one - _LABEL)
    return places


def _ceiling(ends: Sequence[tuple[float, float]]) -> str:
    points = " ".join(f"{x:.2f},{y:.2f}" for x, y in ends)
    return shape("polyline", "ceiling ink", f'points="{points}"')


def _points(roofline: Roofline, families: Sequence[str], x: Axis, y: Axis) -> Iterator[str]:
    for point in roofline.points:
        sign = _sign(families.index(point.family), point.family)
        told = point.tooltip or point.name
        yield mark(x.at(point.intensity), y.at(point.rate), sign.kinds, sign.path, told)
