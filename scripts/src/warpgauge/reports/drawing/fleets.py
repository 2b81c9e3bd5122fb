# SPDX-License-Identifier: Apache-2.0
"""Pictures of a fleet: units ordered by a value, and benchmarks by unit as a grid. Pure."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from warpgauge.reports.drawing import axes, picture
from warpgauge.reports.drawing.axes import Axis, logarithm
from warpgauge.reports.drawing.picture import CIRCLE, GAP, mark, rect, shape, text
from warpgauge.system.text import percent

_WIDTH, _HEIGHT, _TOP, _BOTTOM = 640.0, 240.0, 44.0, 64.0
_MARKED = 100  # the first ranks; the others are drawn as a line

_CELL, _GRID_TOP, _LONGEST = 22.0, 72.0, 40
_SHADES = (0.01, 0.02, 0.05, 0.10)  # changes at which a square becomes darker


@dataclass(frozen=True)
class Ranks:
    """`values` with their names; those above `limit` are marked. `y` titles the vertical axis."""

    title: str
    y: str
    values: Sequence[float]
    names: Sequence[str]
    limit: float


def ranks(units: Ranks) -> str:
    """Return the SVG element; `units` has at least one value."""
    order = sorted(range(len(units.values)), key=lambda at: -units.values[at])
    high = 1.05 * max(units.values[order[0]], units.limit, 1.0)
    ticks = axes.linear_ticks(0.0, high)
    left = axes.margin(ticks, "{:g}".format)
    x = Axis(0.8, 1.25 * max(len(order), 2), left, left + _WIDTH, logarithm)
    y = Axis(0.0, high, _TOP + _HEIGHT, _TOP)
    limit = y.at(units.limit)
    rest = [f"{x.at(n):.1f},{y.at(units.values[order[n - 1]]):.1f}" for n in _thinned(len(order))]
    body = [
        picture.title(units.title, left),
        *axes.beside(y, ticks, "{:g}".format, x),
        *axes.below(x, axes.log_ticks(1, max(len(order), 2)), "{:g}".format, y),
        axes.frame(x, y),
        shape("path", "ceiling ink", f'd="M{x.start:.2f} {limit:.2f}H{x.end:.2f}"', "the limit"),
        *([shape("polyline", "line c0", f'points="{" ".join(rest)}"')] if rest else []),
    ]
    for rank, at in enumerate(order[:_MARKED], 1):
        kinds = "dot slower" if units.values[at] > units.limit else "dot c0"
        body.append(mark(x.at(rank), y.at(units.values[at]), kinds, CIRCLE, units.names[at]))
    body += axes.titles(x, y, "rank", units.y)
    width = max(x.end, left + picture.title_width(units.title)) + GAP
    return picture.element(body, width, y.start + _BOTTOM, units.title)


def _thinned(count: int) -> list[int]:
    """Return ranks after the marked ones, at equal steps of the logarithmic axis."""
    if count <= _MARKED:
        return []
    steps = 200
    first, last = math.log(_MARKED), math.log(count)
    found = {round(math.exp(first + (last - first) * n / steps)) for n in range(steps + 1)}
    return sorted(found)


@dataclass(frozen=True)
class HeatMap:
    """`changes` are fractions, NaN if not measured, with one sequence for each of `rows`."""

    title: str
    rows: Sequence[str]
    columns: Sequence[str]
    changes: Sequence[Sequence[float]]


def heat_map(grid: HeatMap) -> str:
    """Return the SVG element."""
    names = [picture.shortened(row) for row in grid.rows]
    columns = [picture.shortened(column, _LONGEST) for column in grid.columns]
    left = GAP + max(map(picture.width_of, names), default=0.0) + 8
    bottom = _GRID_TOP + _CELL * len(names)
    end = left + _CELL * len(columns)
    legend = [*_legend(GAP, 36)]
    lean = max(map(picture.width_of, columns), default=0.0)
    body = [picture.title(grid.title, GAP)]
    for at, name in enumerate(names):
        body.append(text(left - 8, _GRID_TOP + _CELL * at + 15, name, "end"))
        for across, change in enumerate(grid.changes[at]):
            body.append(_cell(left + _CELL * across, _GRID_TOP + _CELL * at, change,
                              f"{grid.columns[across]}: {grid.rows[at]}"))  # fmt: skip
    for at, column in enumerate(columns):
        x, y = left + _CELL * (at + 0.5) - 4, bottom + 8
        body.append(text(x, y, column, "", f' transform="rotate(90 {x:g} {y:g})"'))
    width = max(end, GAP + _CELL * 22, GAP + picture.title_width(grid.title)) + GAP
    return picture.element([*body, *legend], width, bottom + 8 + lean + GAP, grid.title)


def _cell(x: float, y: float, change: float, told: str = "") -> str:
    if math.isnan(change):
        return rect("frame", x + 1, y + 1, _CELL - 2, _CELL - 2, f"{told}: not measured")
    shade = sum(abs(change) >= least for least in _SHADES)
    kinds = f"mark {'slower' if change > 0 else 'faster'}" if shade else "tolerance"
    place = f'x="{x + 1:.2f}" y="{y + 1:.2f}" width="{_CELL - 2:g}" height="{_CELL - 2:g}"'
    place += f' fill-opacity="{(shade or len(_SHADES)) / len(_SHADES):g}"'
    return shape("rect", kinds, place, told and f"{told}: {percent(change)}")


def _legend(left: float, top: float) -> Iterator[str]:
    """Yield the shades of slower and faster, with the changes at which they begin."""
    at = left
    for sign in (1.0, -1.0):
        for least in _SHADES:
            yield _cell(at, top, sign * least)
            at += _CELL
        words = f"{'slower' if sign > 0 else 'faster'} from " + ", ".join(
            f"{100 * least:g}" for least in _SHADES
        )
        yield text(at + 4, top + 15, f"{words} %" if sign < 0 else "slower")
        at += picture.width_of("slower") + GAP
