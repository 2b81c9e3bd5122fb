# SPDX-License-Identifier: Apache-2.0
"""Benchmarks by arithmetic intensity, under ceilings measured with them (roofline). Pure."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from warpgauge.records.counters import rates_of
from warpgauge.records.model import by_family
from warpgauge.reports.drawing import chart
from warpgauge.reports.drawing.chart import BEFORE, CEILING, DOTS, Point, Series
from warpgauge.reports.pages import shortened
from warpgauge.system.text import of_limit, quantity
from warpgauge.verdict.comparison import Verdict

# Ceilings within this fraction are merged, because processes measure slightly different ones.
# Bandwidths also differ by the ratio of reads to writes, which the picture does not show.
_SAME, _ONE_SLOPE = 0.03, 0.1

_MARGIN = 1.6  # from the outermost points to the ends of the ceilings, as a factor
_LONGEST_WORDS = 30  # letters of a ceiling's name
_MOST_POINTS = 400  # more are not distinguishable
_RATES = ("bytes_per_second", "flops_per_second", "limit_fraction")


@dataclass(frozen=True)
class _Row:
    """A row with its intensity and rate, and the ceilings if bytes or if flops are its limit."""

    verdict: Verdict
    x: float
    y: float
    bandwidth: float
    limit: float

    @property
    def family(self) -> str:
        return self.verdict.family


def drawn(verdicts: Iterable[Verdict], title: str, links: Mapping[str, str]) -> str:
    """Return the SVG element of rows that state flops and bytes, or "" without any.

    Rows that changed have a label, and a line from the baseline's point; `links` are addresses by
    name.
    """
    rows: list[_Row] = []
    copies: set[float] = set()  # bandwidths of rows without flops
    for verdict in verdicts:
        known = rates_of(verdict.counters)
        moved, flops, fraction = (known.get(key, 0.0) for key in _RATES)
        if min(moved, flops, fraction) > 0 and len(rows) < _MOST_POINTS:
            rows.append(_Row(verdict, flops / moved, flops, moved / fraction, flops / fraction))
        elif min(moved, fraction) > 0 and not flops:
            copies.add(float(f"{moved / fraction:.3g}"))
    if not rows:
        return ""
    families = by_family(rows)
    points = [
        Series(family, [_point(row, links) for row in members], at, DOTS)
        for at, (family, members) in enumerate(sorted(families.items()))
    ]
    tails = [point for row in rows for point in _tail(row)]
    before = [Series("from the baseline", tails, None, BEFORE)] if tails else []
    lowest = min(point.y for one in (*points, *before) for point in one.drawn) / _MARGIN
    # Colours of their own tell which ceiling is which.
    ceilings = [
        Series(name, line, at, CEILING)
        for at, (name, line) in enumerate(_ceilings(rows, copies, lowest), len(points))
    ]
    every = [*ceilings, *points, *before]
    highest = max(point.y for series in every for point in series.drawn)
    # With room for the label of the highest ceiling.
    y = replace(chart.of_rates("FLOP/s"), low=lowest, high=highest * _MARGIN)
    return chart.drawn(every, title, "arithmetic intensity, FLOP/B", y, decimal=True)


def _point(row: _Row, links: Mapping[str, str]) -> Point:
    name, limit = row.verdict.name, of_limit(row.y / row.limit)
    tooltip = f"{name}: {quantity(row.y, 'FLOP/s')}, {limit} of its limit"
    label = name if row.verdict.is_changed else ""
    return Point(row.x, row.y, tooltip=tooltip, label=label, href=links.get(name, ""))


def _tail(row: _Row) -> Iterator[Point | None]:
    """Yield the line from the baseline's point of a row that changed, if its rates are known."""
    known = rates_of(row.verdict.baseline_counters)
    moved, flops = (known.get(key, 0.0) for key in _RATES[:2])
    if row.verdict.is_changed and min(moved, flops) > 0:
        yield from (Point(flops / moved, flops), Point(row.x, row.y), None)


def _ceilings(
    rows: Sequence[_Row], copies: set[float], lowest: float
) -> Iterator[tuple[str, list[Point]]]:
    """Yield the name and the line of the bandwidth, which is a slope, and of each arithmetic rate.

    A row states its fraction of a limit, but not which limit. It is taken for the bandwidth if that
    is the one of the fastest rows without flops.
    """
    bandwidth = max(copies, default=float("inf"))
    levels = [row for row in rows if abs(row.bandwidth / bandwidth - 1) > _ONE_SLOPE]
    groups = _groups(row.limit for row in levels)
    roof = groups[-1][-1] if groups else float("inf")
    ridges = [group[-1] / bandwidth for group in groups] if copies else []
    xs = [*(row.x for row in rows), *ridges]
    low, high = min(xs) / _MARGIN, max(xs) * _MARGIN
    # From the height of the lowest point to the highest level.
    start, end = max(low, lowest / bandwidth), min(high, roof / bandwidth)
    if start < end and copies:
        name = f"bandwidth, {quantity(bandwidth, 'B/s')}"
        yield name, [Point(x, x * bandwidth) for x in (start, end)]
    for group in reversed(groups):
        name, rate = _shared_words(group, levels), group[-1]
        ridge = Point(max(low, rate / bandwidth), rate, label=name)
        yield f"{name}, {quantity(rate, 'FLOP/s')}", [ridge, Point(high, rate)]


def _groups(values: Iterable[float]) -> list[list[float]]:
    """Group values in ascending order, each within `_SAME` of its group's lowest."""
    groups: list[list[float]] = []
    for value in sorted(values):
        if groups and value <= (1 + _SAME) * groups[-1][0]:
            groups[-1].append(value)
        else:
            groups.append([value])
    return groups


def _shared_words(group: Sequence[float], levels: Sequence[_Row]) -> str:
    """Return the words that only the names of the rows of this limit share: ``bf16``."""
    mine, others = [], set()
    for row in levels:
        parts = {part for part in row.verdict.name.split("/")[1:] if ":" not in part}
        if group[0] <= row.limit <= group[-1]:
            mine.append(parts)
        else:
            others |= parts
    words = " ".join(sorted(set.intersection(*mine) - others)) or "limit"
    return shortened(words, _LONGEST_WORDS)
