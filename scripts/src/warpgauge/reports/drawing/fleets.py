# SPDX-License-Identifier: Apache-2.0
"""Pictures of a fleet: units ordered by a value, and benchmarks by unit as a grid. Pure."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from warpgauge.reports.drawing import picture
from warpgauge.reports.drawing.picture import GAP, Axis
from warpgauge.system.text import percent

_WIDTH, _HEIGHT, _TOP = 640.0, 240.0, 44.0
_MARKED = 100  # the first ranks; of the others a line goes through _STEPS
_STEPS = 200

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
    count, high = len(order), 1.05 * max(*units.values, units.limit, 1.0)
    ticks = picture.linear_ticks(0.0, high)
    left = picture.margin(ticks, "{:g}".format)
    x = Axis(0.8, 1.25 * max(count, 2), left, left + _WIDTH, picture.logarithm, title="rank")
    y = Axis(0.0, high, _TOP + _HEIGHT, _TOP, title=units.y)
    limit = y.at(units.limit)
    body = [picture.line("ceiling ink", [(x.start, limit), (x.end, limit)], "the limit")]
    if count > _MARKED:  # equal steps of the logarithmic axis
        ratio = count / _MARKED
        rest = {round(_MARKED * ratio ** (step / _STEPS)) for step in range(_STEPS + 1)}
        points = [(x.at(rank), y.at(units.values[order[rank - 1]])) for rank in sorted(rest)]
        body.append(picture.line("line c0", points))
    for rank, at in enumerate(order[:_MARKED], 1):
        kinds = "dot slower" if units.values[at] > units.limit else "dot c0"
        body.append(picture.mark(x.at(rank), y.at(units.values[at]), kinds, told=units.names[at]))
    return picture.chart(units.title, (x, y), (picture.log_ticks(1, max(count, 2)), ticks), body)


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
