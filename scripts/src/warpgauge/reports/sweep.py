# SPDX-License-Identifier: Apache-2.0
"""A sweep as a table on a terminal, as CSV, and as a picture with the roofline's ceilings."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator, Mapping, Sequence

from rich.cells import cell_len
from rich.console import Console
from rich.table import Table
from rich.text import Text

from warpgauge.records.counters import RATES, speed
from warpgauge.reports.drawing import chart
from warpgauge.reports.drawing.chart import CEILING, TIMES, Point, Series
from warpgauge.reports.view import gpu_name, side
from warpgauge.system import layout
from warpgauge.system.errors import UserError
from warpgauge.system.layout import print_facts, print_text, wrapped_name
from warpgauge.system.text import binary, csv_cell, duration, inert, of_limit, quantity
from warpgauge.verdict.sweep import Gap, Measured, Sweep, Variant

COLUMNS = ("variant", "x", "time_ns", "low", "high", *RATES)

# Ceilings are measured in each process, so they differ slightly between variants.
_SAME_CEILING = 0.02

# A later run replaces only files that contain it.
MARK = "warpgauge lines over an axis"

_GAP = 3  # spaces between columns
_NAME = 36  # letters of a variant's name on a line


def print_table(sweep: Sweep, console: Console) -> None:
    """Print the table, in blocks if it is too wide, then the gaps."""
    print_facts(console, [("run", side(sweep.record))])
    first = [inert(sweep.axis), *map(binary, sweep.values)]
    columns = [_column(variant, sweep.values) for variant in sweep.variants]
    widths = [cell_len(line) for cells in columns for cell in cells for line in cell.split("\n")]
    room = console.width - max(map(cell_len, first))
    count = max(room // (max(widths, default=1) + _GAP), 1)  # of columns side by side
    for start in range(0, len(columns), count):
        table = Table(box=None, padding=(0, _GAP, 0, 0), pad_edge=False, header_style="bold")
        table.add_column(Text(first[0]), justify="right", vertical="bottom")
        for name, *_ in columns[start : start + count]:
            table.add_column(Text(name), overflow="fold", vertical="bottom")
        for cells in zip(first[1:], *(cells[1:] for cells in columns[start : start + count]),
                         strict=True):  # fmt: skip
            table.add_row(*map(Text, cells))
        console.print()
        console.print(table)
    for words in (*(f"{gap.benchmark}: {gap.reason}" for gap in sweep.gaps), *sweep.faults):
        print_text(console, f"\n{inert(words)}", style="yellow")


def _column(variant: Variant, values: Sequence[float]) -> list[str]:
    """Return the name, on as many lines as needed, and a cell per value."""
    pairs = [_pair(variant.points.get(value)) for value in values]
    wide = max((cell_len(time) for time, _ in pairs), default=0)
    cells = [f"{time:>{wide}}  {rate}".rstrip() for time, rate in pairs]
    return ["\n".join(wrapped_name(inert(variant.name), _NAME)), *cells]


def _pair(point: Measured | Gap | None) -> tuple[str, str]:
    if isinstance(point, Measured):
        return duration(point.time), speed(point.rates)
    return ("–" if point is None else point.word), ""


def csv_text(sweep: Sweep) -> str:
    """Return a line per point, with times and their 95 % interval in ns; gaps have no numbers."""
    file = io.StringIO()
    lines = csv.DictWriter(file, COLUMNS, lineterminator="\n")
    lines.writeheader()
    for variant in sweep.variants:
        for x, point in variant.points.items():
            numbers = dict(_numbers(point)) if isinstance(point, Measured) else {}
            lines.writerow({"variant": csv_cell(variant.name), "x": x, **numbers})
    return file.getvalue()


def _numbers(point: Measured) -> Iterator[tuple[str, str]]:
    for column, seconds in zip(COLUMNS[2:], (point.time, *(point.interval or ())), strict=False):
        yield column, f"{1e9 * seconds:.7g}"
    for column, rate in point.rates.items():
        yield column, f"{rate:.7g}"


# The rates that are drawn, if all points have them, with their units; else times are.
_DRAWN = {"flops_per_second": "FLOP/s", "bytes_per_second": "B/s"}
_Curve = dict[float, "Measured | None"]


def plain(sweep: Sweep) -> str:
    """Return the table without colour, for a file."""
    return layout.plain(lambda console: print_table(sweep, console))


def svg(sweep: Sweep) -> str:
    """Return the SVG document. Raise UserError if no value is above zero: no axis can show it."""
    curves = {at: _curve(variant) for at, variant in enumerate(sweep.variants)}
    shown = {at: points for at, points in curves.items() if any(points.values())}
    measured = [point for points in shown.values() for point in points.values() if point]
    if not measured:
        raise UserError(f"nothing to plot: no value of {inert(sweep.axis)} is above 0")
    rates = (key for key in _DRAWN if all(one.rates.get(key, 0.0) > 0 for one in measured))
    rate = next(rates, "")

    def drawn_point(name: str, x: float, point: Measured) -> Point:
        # What is drawn of a point that took so many seconds.
        drawn = [point.rates[rate] * point.time / seconds if rate else seconds
                 for seconds in (point.time, *(point.interval or ()))]  # fmt: skip
        low, high = sorted(drawn[1:]) or (None, None)
        tooltip = f"{name}, {binary(x)}: {duration(point.time)}"
        tooltip += f", {quantity(drawn[0], _DRAWN[rate])}" if rate else ""
        if limit := of_limit(point.rates.get("limit_fraction")):
            tooltip += f", {limit} of the roofline"
        return Point(x, drawn[0], low, high, tooltip)

    every = _ceilings(sweep, shown, rate)
    for at, points in shown.items():
        name = sweep.variants[at].name
        line = [drawn_point(name, x, point) if point else None for x, point in points.items()]
        every.append(Series(name, line, at))
    families = ", ".join(sorted({one.name.split("/", 1)[0] for one in sweep.variants}))
    title = " · ".join(filter(None, (f"{families} over {sweep.axis}", gpu_name(sweep.record))))
    up = chart.of_rates(_DRAWN[rate]) if rate else TIMES
    return chart.document(chart.drawn(every, title, sweep.axis, up), MARK)


def _curve(variant: Variant) -> _Curve:
    """Return the points at values above zero, None for a gap."""
    points = variant.points.items()
    return {x: point if isinstance(point, Measured) else None for x, point in points if x > 0}


def _ceilings(sweep: Sweep, shown: Mapping[int, _Curve], rate: str) -> list[Series]:
    """Return the rate at which the limit would be reached: of all variants, or of each."""
    found: dict[int, dict[float, float]] = {}
    for at, points in shown.items():
        for x, point in points.items():
            fraction = point.rates.get("limit_fraction", 0.0) if point else 0.0
            if rate and point and fraction > 0:
                found.setdefault(at, {})[x] = point.rates[rate] / fraction
    pairs = [one for curve in found.values() for one in curve.items()]
    merged = dict(pairs)
    if pairs and all(abs(y / merged[x] - 1) <= _SAME_CEILING for x, y in pairs):
        curve = [Point(x, y) for x, y in sorted(merged.items())]
        return [Series("roofline", curve, None, CEILING)]
    return [
        Series(f"roofline of {sweep.variants[at].name}", [Point(*one) for one in curve.items()],
               at, CEILING)
        for at, curve in found.items()
    ]  # fmt: skip
