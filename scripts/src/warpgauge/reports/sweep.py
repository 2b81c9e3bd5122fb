# SPDX-License-Identifier: Apache-2.0
"""A sweep as a table on a terminal, as CSV, and as a picture with the roofline's ceilings."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType

from rich.cells import cell_len
from rich.console import Console

from warpgauge.records.counters import RATES, speed
from warpgauge.reports.drawing import lines, picture
from warpgauge.reports.drawing.lines import BEFORE, CEILING, Point, Series, Vertical
from warpgauge.reports.view import gpu_name, side
from warpgauge.system import layout
from warpgauge.system.errors import UserError
from warpgauge.system.layout import print_facts, print_text, wrapped_name
from warpgauge.system.text import binary, duration, inert, of_limit, quantity
from warpgauge.verdict.sweep import Gap, Measured, Sweep, Variant

_NOTHING: Mapping[str, Mapping[float, float]] = MappingProxyType({})

COLUMNS = ("variant", "x", "time_ns", "low", "high", *RATES)

# Ceilings are measured in each process, so they differ slightly between variants.
_SAME_CEILING = 0.02

# A line or ceiling that exceeds another line by this factor makes the axis logarithmic.
_FAR_ABOVE = 8.0

# A later run replaces only files that contain it.
MARK = "warpgauge lines over an axis"

_GAP = "   "
# The largest width to which a variant's name widens its column; longer names are broken.
_NAME = 36


def print_table(sweep: Sweep, console: Console) -> None:
    """Print the table, in blocks if it is too wide, then the gaps."""
    print_facts(console, [("run", side(sweep.record))])
    first = [inert(sweep.axis), *map(binary, sweep.values)]
    for block in _blocks([_column(one, sweep.values) for one in sweep.variants], first, console):
        console.print()
        head, *rows = zip(*block, strict=True)
        names = [cell.split("\n") for cell in head]
        depth = max(map(len, names))
        above = [[" " * cell_len(name[0])] * (depth - len(name)) for name in names]
        heads = [lead + name for lead, name in zip(above, names, strict=True)]
        for cells in zip(*heads, strict=True):
            print_text(console, _GAP.join(cells).rstrip(), style="bold")
        for row in rows:
            print_text(console, _GAP.join(row).rstrip())
    for gap in sweep.gaps:
        print_text(console, f"\n{inert(f'{gap.benchmark}: {gap.reason}')}", style="yellow")
    for fault in sweep.faults:
        print_text(console, f"\n{inert(fault)}", style="yellow")


def _column(variant: Variant, values: Sequence[float]) -> list[str]:
    """Return the name, on as many lines as needed, and a cell per value, all of one width."""
    points = [variant.points.get(value) for value in values]
    pairs = [_pair(point) for point in points]
    time_width, rate_width = (max(cell_len(pair[at]) for pair in pairs) for at in (0, 1))
    cells = [f"{time:>{time_width}}  {rate:>{rate_width}}".rstrip() for time, rate in pairs]
    name = inert(variant.name)
    width = max(map(cell_len, cells), default=0)
    lines = wrapped_name(name, max(width, min(cell_len(name), _NAME)))
    width = max(width, *map(cell_len, lines))
    head = "\n".join(_filled(line, width) for line in lines)
    return [head, *(_filled(cell, width) for cell in cells)]


def _pair(point: Measured | Gap | None) -> tuple[str, str]:
    if isinstance(point, Measured):
        return duration(point.time), speed(point.rates)
    return ("–" if point is None else point.word), ""


def _filled(text: str, width: int) -> str:
    return text + " " * (width - cell_len(text))


def _blocks(
    columns: Sequence[Sequence[str]], first: Sequence[str], console: Console
) -> Iterator[list[list[str]]]:
    """Yield the columns in groups as wide as the console, each after the axis's values."""
    size = max(map(cell_len, first))
    values = [f"{one:>{size}}" for one in first]
    block, width = [values], size
    for column in columns:
        wide = len(_GAP) + cell_len(column[-1])
        if len(block) > 1 and width + wide > console.width:
            yield block
            block, width = [values], size
        block.append([*column])
        width += wide
    yield block


def csv_text(sweep: Sweep) -> str:
    """Return a line per point, with times and their 95 % interval in ns; gaps have no numbers."""
    file = io.StringIO()
    rows = csv.writer(file, lineterminator="\n")
    rows.writerow(COLUMNS)
    for variant in sweep.variants:
        for value, point in variant.points.items():
            told = _numbers(point) if isinstance(point, Measured) else [""] * (len(COLUMNS) - 2)
            rows.writerow([inert(variant.name), value, *told])
    return file.getvalue()


def _numbers(point: Measured) -> list[str]:
    low, high = point.interval or (None, None)
    times = [None if one is None else 1e9 * one for one in (point.time, low, high)]
    rates = [point.rates.get(key) for key in RATES]
    return ["" if one is None else f"{one:.7g}" for one in (*times, *rates)]


@dataclass(frozen=True)
class _Quantity:
    """The quantity that is drawn: a rate, or the time."""

    label: str
    rate: str = ""  # the counter, or "" for the time

    def of(self, point: Measured, seconds: float) -> float:
        """Return its value if `point` took `seconds`."""
        return point.rates[self.rate] * point.time / seconds if self.rate else seconds

    def told(self, value: float) -> str:
        return quantity(value, self.label) if self.rate else duration(value)


_DRAWN = (_Quantity("FLOP/s", "flops_per_second"), _Quantity("B/s", "bytes_per_second"))


def plain(sweep: Sweep) -> str:
    """Return the table without colour, for a file."""
    return layout.plain(lambda console: print_table(sweep, console))


def svg(sweep: Sweep) -> str:
    """Return the SVG document. Raise UserError if no value is above zero: no axis can show it."""
    return picture.document(drawn(sweep), MARK)


def drawn(sweep: Sweep, before: Mapping[str, Mapping[float, float]] = _NOTHING) -> str:
    """Return the SVG element, as for `svg`; the axis of times is always logarithmic.

    `before` holds the baseline's seconds by variant and value.
    """
    measured = [p for v in sweep.variants for p in _drawn(v).values() if p is not None]
    if not measured:
        raise UserError(f"nothing to plot: no value of {inert(sweep.axis)} is above 0")
    able = [one for one in _DRAWN if all(point.rates.get(one.rate, 0.0) > 0 for point in measured)]
    what = able[0] if able else _Quantity("time of an operation")
    curves, older = [], []
    for index, one in enumerate(sweep.variants):
        if points := _drawn(one):
            now = [
                None if point is None else _drawn_point(one, x, point, what)
                for x, point in points.items()
            ]
            curves.append(Series(one.name, now, index))
            seconds = before.get(one.name, {})
            then = [
                Point(x, what.of(point, seconds[x])) if point is not None and x in seconds else None
                for x, point in points.items()
            ]
            older.append(Series(one.name, then, index, BEFORE))
    ceilings = _ceilings(sweep, what) if what.rate else []
    every = [*ceilings, *(one for one in older if one.drawn), *curves]
    ys = [point.y for series in every for point in series.drawn]
    lowest = min(max(point.y for point in series.drawn) for series in curves)
    families = ", ".join(sorted({one.name.split("/", 1)[0] for one in sweep.variants}))
    title = " · ".join(filter(None, (f"{families} over {sweep.axis}", gpu_name(sweep.record))))
    if what.rate:
        size, unit = picture.unit_of(quantity(max(ys), what.label), max(ys))
        far = max(ys) > _FAR_ABOVE * lowest
        up = Vertical(unit, lambda value: f"{value / size:.4g}", is_logarithmic=far)
    else:
        up = Vertical(what.label, lambda value: picture.short(duration(value)), is_logarithmic=True)
    return lines.drawn(every, title, sweep.axis, up)


def _drawn(variant: Variant) -> dict[float, Measured | None]:
    """Return the points at values above zero, None for a gap; empty if all are gaps."""
    points = {value: point for value, point in variant.points.items() if value > 0}
    found = {v: point if isinstance(point, Measured) else None for v, point in points.items()}
    return found if any(found.values()) else {}


def _drawn_point(variant: Variant, value: float, point: Measured, what: _Quantity) -> Point:
    y = what.of(point, point.time)
    ends = sorted(what.of(point, seconds) for seconds in point.interval or ())
    told = f"{variant.name}, {binary(value)}: {duration(point.time)}"
    if what.rate:
        told += f", {what.told(y)}"
    if limit := of_limit(point.rates.get("limit_fraction")):
        told += f", {limit} of the roofline"
    low, high = ends or (None, None)
    return Point(value, y, low, high, told)


def _ceilings(sweep: Sweep, what: _Quantity) -> list[Series]:
    """Return each distinct ceiling once, named after its variants unless there is only one."""
    groups: list[tuple[dict[float, float], list[int]]] = []
    for index, variant in enumerate(sweep.variants):
        if not (own := _ceiling(variant, what)):
            continue
        for curve, members in groups:
            if _agree(curve, own):
                curve |= own
                members.append(index)
                break
        else:
            groups.append((own, [index]))
    return [
        Series(
            _ceiling_name(sweep, members) if len(groups) > 1 else "roofline",
            [Point(value, y) for value, y in sorted(curve.items())],
            members[0] if len(groups) > 1 else None,
            CEILING,
        )
        for curve, members in groups
    ]


def _ceiling(variant: Variant, what: _Quantity) -> dict[float, float]:
    """Return for each value the rate at which the limit would be reached."""
    return {
        value: what.of(point, point.time) / fraction
        for value, point in _drawn(variant).items()
        if point is not None and (fraction := point.rates.get("limit_fraction", 0.0)) > 0
    }


def _agree(one: Mapping[float, float], other: Mapping[float, float]) -> bool:
    shared = one.keys() & other.keys()
    return bool(shared) and all(abs(one[x] / other[x] - 1) <= _SAME_CEILING for x in shared)


def _ceiling_name(sweep: Sweep, members: Sequence[int]) -> str:
    more = f" and {len(members) - 1} more" if len(members) > 1 else ""
    return f"roofline of {sweep.variants[members[0]].name}{more}"
