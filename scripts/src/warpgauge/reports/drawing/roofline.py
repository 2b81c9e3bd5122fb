# SPDX-License-Identifier: Apache-2.0
"""Benchmarks by arithmetic intensity, under ceilings measured with them (roofline). Pure."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from warpgauge.records.counters import rates_of
from warpgauge.reports.drawing import picture
from warpgauge.reports.drawing.picture import GAP, LETTER, LINE, Axis, Sign
from warpgauge.system.text import of_limit, quantity
from warpgauge.verdict.comparison import Verdict

_WIDTH, _HEIGHT = 640.0, 380.0
_SLOPE = 100.0  # how much of a slope is visible to the left of its ridge, as a factor
_LABEL = 16.0  # pixels between labels

# Ceilings within this fraction are merged, because processes measure slightly different ones.
# Bandwidths also differ by the ratio of reads to writes, which the picture does not show.
_SAME, _ONE_SLOPE = 0.03, 0.1

_MOST_POINTS = 400  # more are not distinguishable
_RATES = ("bytes_per_second", "flops_per_second", "limit_fraction")


@dataclass(frozen=True)
class Point:
    """FLOP per byte and FLOP/s, both above zero. Points of a `family` share a colour."""

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
    """Points and ceilings: at least one point, or one ceiling of each kind."""

    title: str
    points: Sequence[Point]
    bandwidths: Sequence[Ceiling] = ()
    arithmetic: Sequence[Ceiling] = ()


@dataclass(frozen=True)
class _Row:
    """A point, and the ceilings that it has if bytes or if flops are its limit."""

    point: Point
    bandwidth: float
    rate: float


def of_run(verdicts: Iterable[Verdict], title: str) -> Roofline | None:
    """Return the candidate's rows that state flops and bytes; None if there is none.

    A row states its fraction of a limit, but not which limit. It is taken for the bandwidth if rows
    without flops have the same one, unless rows of another intensity have the same rate.
    """
    rows: list[_Row] = []
    bandwidths: set[float] = set()
    for one in verdicts:
        known = rates_of(one.counters)
        moved, flops, fraction = (known.get(key, 0.0) for key in _RATES)
        if min(moved, flops, fraction) > 0 and len(rows) < _MOST_POINTS:
            told = f"{one.name}: {quantity(flops, 'FLOP/s')}, {of_limit(fraction)} of its limit"
            point = Point(one.name, one.family, flops / moved, flops, told)
            rows.append(_Row(point, moved / fraction, flops / fraction))
        elif min(moved, fraction) > 0 and not flops:
            bandwidths.add(float(f"{moved / fraction:.3g}"))
    if not rows:
        return None

    def is_limited_by_bytes(row: _Row) -> bool:
        others = (one for one in rows if not _agree(one.point.intensity, row.point.intensity))
        return not any(_agree(one.rate, row.rate) for one in others) and any(
            _agree(one, row.bandwidth) for one in bandwidths
        )

    slopes = [row for row in rows if is_limited_by_bytes(row)]
    levels = [row for row in rows if row not in slopes]
    highest = [row.bandwidth for row in slopes] or [*bandwidths]
    return Roofline(
        title,
        [row.point for row in rows],
        [Ceiling("bandwidth", group[-1]) for group in _groups(highest, _ONE_SLOPE)],
        [_ceiling_of(group, levels) for group in _groups([row.rate for row in levels], _SAME)],
    )


def _agree(one: float, other: float) -> bool:
    return abs(one / other - 1) <= _SAME


def _groups(values: Iterable[float], apart: float) -> list[list[float]]:
    """Group values in ascending order, each within the fraction `apart` of its group's lowest."""
    groups: list[list[float]] = []
    for value in sorted(values):
        if groups and value <= (1 + apart) * groups[-1][0]:
            groups[-1].append(value)
        else:
            groups.append([value])
    return groups


def _ceiling_of(group: Sequence[float], levels: Sequence[_Row]) -> Ceiling:
    """Return a ceiling named by the words that only its rows' names share: ``bf16``."""
    mine, others = [], set()
    for row in levels:
        parts = {part for part in row.point.name.split("/")[1:] if ":" not in part}
        if group[0] <= row.rate <= group[-1]:
            mine.append(parts)
        else:
            others |= parts
    words = sorted(set.intersection(*mine) - others)
    return Ceiling(" ".join(words) or "limit", group[-1])


def drawn(roofline: Roofline) -> str:
    """Return the SVG element."""
    (x_low, x_high), (y_low, y_high) = _ranges(roofline)
    y_ticks = picture.log_ticks(y_low, y_high)
    left = picture.margin(y_ticks, _rate)
    families = sorted({point.family for point in roofline.points})
    signs = {
        family: Sign(family, f"dot {picture.series(index)}", picture.marker(index))
        for index, family in enumerate(families)
    }
    rows = picture.legend_rows([*signs.values()], _WIDTH)
    top = 44.0 + LINE * len(rows)
    height = max(_HEIGHT, _LABEL * (len(roofline.arithmetic) + 1))
    title = "arithmetic intensity, FLOP/B"
    x = Axis(x_low, x_high, left, left + _WIDTH, picture.logarithm, title=title)
    y = Axis(y_low, y_high, top + height, top, picture.logarithm, _rate, "arithmetic rate")
    words = [f"{picture.shortened(one.name)}, {_told(one.rate)}" for one in roofline.arithmetic]
    body = [
        *picture.legend(rows, left, 36),
        *_slopes(roofline, x, y),
        *_levels(roofline, x, y, words),
        *(
            picture.mark(
                x.at(one.intensity),
                y.at(one.rate),
                signs[one.family].kinds,
                signs[one.family].path,
                one.tooltip or one.name,
            )
            for one in roofline.points
        ),
    ]
    # Half of the last tick's label also lies to the right of the frame.
    right = GAP + max(map(picture.width_of, words), default=0.0)
    ticks = x.spread(picture.log_ticks(x_low, x_high)), y_ticks
    return picture.chart(roofline.title, (x, y), ticks, body, right=right)


def _ranges(roofline: Roofline) -> tuple[tuple[float, float], tuple[float, float]]:
    """Return the ranges of intensity and rate, which hold all points and ridges."""
    slopes = [one.rate for one in roofline.bandwidths]
    levels = [one.rate for one in roofline.arithmetic]
    ridges = [level / slope for level in levels for slope in slopes]
    xs = [point.intensity for point in roofline.points]
    xs += [end for ridge in ridges for end in (ridge / _SLOPE, 4 * ridge)]
    ys = [point.rate for point in roofline.points] + levels
    ys += [min(levels) / _SLOPE] if ridges else []
    # Without a level, a slope stays visible above the points.
    ys += [slope * min(xs) * factor for slope in slopes for factor in (1, 10) if not levels]
    return (min(xs) / 1.6, max(xs) * 1.6), (min(ys) / 1.6, max(ys) * 2.0)


def _told(rate: float) -> str:
    return quantity(rate, "FLOP/s")


def _rate(rate: float) -> str:
    return picture.short(_told(rate))


def _slopes(roofline: Roofline, x: Axis, y: Axis) -> Iterator[str]:
    """Yield the bandwidths, up to the highest level, with their names along them."""
    roof = max((one.rate for one in roofline.arithmetic), default=y.high)
    slopes = sorted(roofline.bandwidths, key=lambda one: -one.rate)
    for index, one in enumerate(slopes):
        first, last = max(x.low, y.low / one.rate), min(x.high, roof / one.rate)
        if first >= last:
            continue
        (left, bottom), (right, top) = ((x.at(at), y.at(one.rate * at)) for at in (first, last))
        yield picture.line("ceiling ink", [(left, bottom), (right, top)])
        # Names of neighbouring slopes are staggered.
        share = 1 / len(slopes)
        bandwidth = quantity(one.rate, "B/s")
        length = share * math.hypot(right - left, bottom - top)
        letters = int(length / LETTER) - len(bandwidth) - 4
        if letters < 1:
            continue
        along = (index + 0.5) * share
        at_x, at_y = left + along * (right - left), bottom - along * (bottom - top)
        aside = 15 if index else -6  # the name of the steepest slope stands above it
        angle = math.degrees(math.atan2(top - bottom, right - left))
        turned = f' transform="rotate({angle:.2f} {at_x:.2f} {at_y:.2f}) translate(0,{aside})"'
        words = f"{picture.shortened(one.name, letters)}, {bandwidth}"
        yield picture.text(at_x, at_y, words, "middle faint", turned)


def _levels(roofline: Roofline, x: Axis, y: Axis, words: Sequence[str]) -> Iterator[str]:
    """Yield the arithmetic rates, from the steepest slope on, with their names at the right."""
    steepest = max((one.rate for one in roofline.bandwidths), default=math.inf)
    heights = [y.at(one.rate) for one in roofline.arithmetic]
    for one, height, place, told in zip(
        roofline.arithmetic, heights, _apart(heights, y.end, y.start), words, strict=True
    ):
        start = x.at(one.rate / steepest) if math.isfinite(steepest) else x.start
        yield picture.line("ceiling ink", [(start, height), (x.end, height)])
        yield picture.line("zero faint", [(x.end, height), (x.end + GAP - 4, place)])
        yield picture.text(x.end + GAP, place + 4, told, "faint")


def _apart(heights: Sequence[float], top: float, bottom: float) -> list[float]:
    """Return heights for labels, near their lines, so that none overlap."""
    order = sorted(range(len(heights)), key=lambda index: heights[index])
    places = [0.0] * len(heights)
    last = top - _LABEL / 2
    for index in order:
        last = places[index] = max(heights[index], last + _LABEL)
    next_one = bottom + _LABEL / 2
    for index in reversed(order):
        next_one = places[index] = min(places[index], next_one - _LABEL)
    return places
