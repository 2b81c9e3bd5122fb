# SPDX-License-Identifier: Apache-2.0
"""Benchmarks by arithmetic intensity, under ceilings measured with them (roofline). Pure."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from types import MappingProxyType

from warpgauge.records.counters import rates_of
from warpgauge.reports.drawing import lines, picture
from warpgauge.reports.drawing.lines import BEFORE, CEILING, DOTS, Point, Series
from warpgauge.system.text import of_limit, quantity
from warpgauge.verdict.comparison import Verdict

# Ceilings within this fraction are merged, because processes measure slightly different ones.
# Bandwidths also differ by the ratio of reads to writes, which the picture does not show.
_SAME, _ONE_SLOPE = 0.03, 0.1

_MARGIN = 1.6  # from the outermost points to the ends of the ceilings, as a factor
_MOST_POINTS = 400  # more are not distinguishable
_NOTHING: Mapping[str, str] = MappingProxyType({})
_RATES = ("bytes_per_second", "flops_per_second", "limit_fraction")


@dataclass(frozen=True)
class Ceiling:
    """A bandwidth in B/s (a slope) or an arithmetic rate in FLOP/s (level), above zero."""

    name: str
    rate: float


@dataclass(frozen=True)
class Roofline:
    """Points of FLOP per byte and FLOP/s by family, at least one, and ceilings.

    `before` holds the baseline's points beside the candidate's, of rows that changed.
    """

    title: str
    families: Mapping[str, Sequence[Point]]
    before: Sequence[tuple[Point, Point]] = ()
    bandwidths: Sequence[Ceiling] = ()
    arithmetic: Sequence[Ceiling] = ()


@dataclass(frozen=True)
class _Row:
    """A point, and the ceilings that it has if bytes or if flops are its limit."""

    verdict: Verdict
    point: Point
    bandwidth: float
    rate: float


def of_run(
    verdicts: Iterable[Verdict], title: str, links: Mapping[str, str] = _NOTHING
) -> Roofline | None:
    """Return the rows that state flops and bytes; None if there is none.

    Rows that changed have a label, and a line from the baseline's point; `links` are addresses by
    name.

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
            label = one.name if one.is_changed else ""
            href = links.get(one.name, "")
            point = Point(flops / moved, flops, told=told, label=label, href=href)
            rows.append(_Row(one, point, moved / fraction, flops / fraction))
        elif min(moved, fraction) > 0 and not flops:
            bandwidths.add(float(f"{moved / fraction:.3g}"))
    if not rows:
        return None

    def is_limited_by_bytes(row: _Row) -> bool:
        others = (one for one in rows if not _agree(one.point.x, row.point.x))
        return not any(_agree(one.rate, row.rate) for one in others) and any(
            _agree(one, row.bandwidth) for one in bandwidths
        )

    families: dict[str, list[Point]] = {}
    for row in sorted(rows, key=lambda row: row.verdict.family):
        families.setdefault(row.verdict.family, []).append(row.point)
    changed = [row for row in rows if row.verdict.is_changed]
    slopes = [row for row in rows if is_limited_by_bytes(row)]
    levels = [row for row in rows if row not in slopes]
    highest = [row.bandwidth for row in slopes] or [*bandwidths]
    return Roofline(
        title,
        families,
        [(before, row.point) for row in changed for before in _before(row.verdict)],
        [Ceiling("bandwidth", group[-1]) for group in _groups(highest, _ONE_SLOPE)],
        [_ceiling_of(group, levels) for group in _groups([row.rate for row in levels], _SAME)],
    )


def _before(verdict: Verdict) -> Iterator[Point]:
    """Yield the baseline's point, if its rates are known."""
    known = rates_of(verdict.baseline_counters)
    moved, flops = (known.get(key, 0.0) for key in _RATES[:2])
    if min(moved, flops) > 0:
        yield Point(flops / moved, flops)


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
        parts = {part for part in row.verdict.name.split("/")[1:] if ":" not in part}
        if group[0] <= row.rate <= group[-1]:
            mine.append(parts)
        else:
            others |= parts
    words = sorted(set.intersection(*mine) - others)
    return Ceiling(" ".join(words) or "limit", group[-1])


def drawn(roofline: Roofline) -> str:
    """Return the SVG element: a line for each ceiling, and the points by family."""
    points = [point for members in roofline.families.values() for point in members]
    steepest = max((one.rate for one in roofline.bandwidths), default=math.inf)
    roof = max((one.rate for one in roofline.arithmetic), default=math.inf)
    xs = [point.x for point in points] + [one.rate / steepest for one in roofline.arithmetic]
    low, high = min(filter(None, xs)) / _MARGIN, max(xs) * _MARGIN
    tails = [point for pair in roofline.before for point in (*pair, None)]
    lowest = min(point.y for point in (*points, *filter(None, tails))) / _MARGIN
    ceilings: list[tuple[str, Sequence[Point]]] = []
    for one in reversed(roofline.bandwidths):
        # From the height of the lowest point to the highest level.
        ends = [max(low, lowest / one.rate), min(high, roof / one.rate)]
        if ends[0] < ends[1]:
            slope = [Point(x, x * one.rate) for x in ends]
            ceilings.append((_label(one, "B/s"), slope))
    for one in reversed(roofline.arithmetic):
        ends = [max(low, one.rate / steepest), high]
        level = [Point(ends[0], one.rate, label=one.name), Point(ends[1], one.rate)]
        ceilings.append((_label(one, "FLOP/s"), level))
    every = [Series(name, of, at, DOTS) for at, (name, of) in enumerate(roofline.families.items())]
    # Colours of their own tell which ceiling is which.
    every[:0] = [Series(*one, at, CEILING) for at, one in enumerate(ceilings, len(every))]
    every += [Series("", tails, None, BEFORE)] if tails else []
    highest = max(point.y for series in every for point in series.drawn)
    # With room for the label of the highest ceiling.
    y = replace(lines.of_rates("FLOP/s"), ends=(lowest, highest * _MARGIN))
    x = "arithmetic intensity, FLOP/B"
    return lines.drawn(every, roofline.title, x, y, decimal=True)


def _label(one: Ceiling, unit: str) -> str:
    name = picture.shortened(one.name, picture.LONGEST_NAME // 2)
    return f"{name}, {quantity(one.rate, unit)}"
