# SPDX-License-Identifier: Apache-2.0
"""Pictures of a fleet: units ordered by a value, and benchmarks by unit as a grid. Pure."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from warpgauge.reports.drawing import lines, picture
from warpgauge.reports.drawing.lines import CEILING, DOTS, Point, Series, Vertical
from warpgauge.reports.drawing.picture import GAP
from warpgauge.system.text import percent

_MARKED, _STEPS = 100, 100  # the first ranks have a mark, and of the others so many

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
    count = len(order)
    # All of the first ranks, then equal steps of the logarithmic axis.
    rest = {round(_MARKED * (count / _MARKED) ** (step / _STEPS)) for step in range(1, _STEPS + 1)}
    shown = [*range(1, min(count, _MARKED) + 1), *sorted(one for one in rest if one > _MARKED)]
    above, below = list[Point](), list[Point]()
    for rank in shown:
        value, name = units.values[order[rank - 1]], units.names[order[rank - 1]]
        (above if value > units.limit else below).append(Point(rank, value, told=name))
    limit = [Point(rank, units.limit) for rank in (1, max(count, 2))]
    every = [Series("the limit", limit, None, CEILING)]
    every += [Series("above the limit", above, 1, DOTS)] if above else []
    every += [Series("below the limit", below, 0, DOTS)] if below else []
    return lines.drawn(every, units.title, "rank", Vertical(units.y), decimal=True)


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
    body = [picture.heading(grid.title, GAP), *_legend(GAP, 36)]
    for down, name in enumerate(names):
        top = _GRID_TOP + _CELL * down
        body.append(picture.text(left - 8, top + 15, name, "end"))
        for across, change in enumerate(grid.changes[down]):
            told = f"{grid.columns[across]}: {grid.rows[down]}"
            body.append(_cell(left + _CELL * across, top, change, told))
    for across, column in enumerate(columns):
        x, y = left + _CELL * (across + 0.5) - 4, bottom + 8
        body.append(picture.text(x, y, column, "", f' transform="rotate(90 {x:g} {y:g})"'))
    lean = max(map(picture.width_of, columns), default=0.0)
    end = left + _CELL * len(columns)
    width = max(end, GAP + _CELL * 22, GAP + picture.title_width(grid.title)) + GAP
    return picture.element(body, width, bottom + 8 + lean + GAP, grid.title)


def _cell(x: float, y: float, change: float, told: str = "") -> str:
    if math.isnan(change):
        return picture.rect("frame", x + 1, y + 1, _CELL - 2, _CELL - 2, f"{told}: not measured")
    shade = sum(abs(change) >= least for least in _SHADES)
    kinds = f"mark {'slower' if change > 0 else 'faster'}" if shade else "tolerance"
    place = f'x="{x + 1:.2f}" y="{y + 1:.2f}" width="{_CELL - 2:g}" height="{_CELL - 2:g}"'
    place += f' fill-opacity="{(shade or len(_SHADES)) / len(_SHADES):g}"'
    return picture.shape("rect", kinds, place, told and f"{told}: {percent(change)}")


def _legend(left: float, top: float) -> Iterator[str]:
    """Yield the shades of slower and faster, with the changes at which they begin."""
    from_ = ", ".join(f"{100 * least:g}" for least in _SHADES)
    for sign, words in ((1.0, "slower"), (-1.0, f"faster from {from_} %")):
        for least in _SHADES:
            yield _cell(left, top, sign * least)
            left += _CELL
        yield picture.text(left + 4, top + 15, words)
        left += picture.width_of(words) + GAP
