# SPDX-License-Identifier: Apache-2.0
"""How much longer each benchmark takes on each of some units: a grid of squares. Pure."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from warpgauge.reports.drawing import picture
from warpgauge.reports.drawing.picture import GAP, rect, shape, text
from warpgauge.system.text import percent

_CELL, _TOP, _LONGEST = 22.0, 72.0, 40
_SHADES = (0.01, 0.02, 0.05, 0.10)  # changes from which on a square is darker


@dataclass(frozen=True)
class HeatMap:
    """`changes` (fractions, NaN for what nobody measured) has a row for each of `rows`."""

    title: str
    rows: Sequence[str]
    columns: Sequence[str]
    changes: Sequence[Sequence[float]]


def drawn(heat_map: HeatMap) -> str:
    """The element."""
    names = [picture.shortened(row) for row in heat_map.rows]
    columns = [picture.shortened(column, _LONGEST) for column in heat_map.columns]
    left = GAP + max(map(picture.width_of, names), default=0.0) + 8
    bottom = _TOP + _CELL * len(names)
    end = left + _CELL * len(columns)
    legend = [*_legend(GAP, 36)]
    lean = max(map(picture.width_of, columns), default=0.0)
    body = [picture.title(heat_map.title, GAP)]
    for at, name in enumerate(names):
        body.append(text(left - 8, _TOP + _CELL * at + 15, name, "end"))
        for across, change in enumerate(heat_map.changes[at]):
            body.append(_cell(left + _CELL * across, _TOP + _CELL * at, change,
                              f"{heat_map.columns[across]}: {heat_map.rows[at]}"))  # fmt: skip
    for at, column in enumerate(columns):
        x, y = left + _CELL * (at + 0.5) - 4, bottom + 8
        body.append(text(x, y, column, "", f' transform="rotate(90 {x:g} {y:g})"'))
    width = max(end, GAP + _CELL * 22, GAP + picture.title_width(heat_map.title)) + GAP
    return picture.element([*body, *legend], width, bottom + 8 + lean + GAP, heat_map.title)


def _cell(x: float, y: float, change: float, told: str = "") -> str:
    if math.isnan(change):
        return rect("frame", x + 1, y + 1, _CELL - 2, _CELL - 2, f"{told}: not measured")
    shade = sum(abs(change) >= least for least in _SHADES)
    kinds = f"mark {'slower' if change > 0 else 'faster'}" if shade else "tolerance"
    place = f'x="{x + 1:.2f}" y="{y + 1:.2f}" width="{_CELL - 2:g}" height="{_CELL - 2:g}"'
    place += f' fill-opacity="{(shade or len(_SHADES)) / len(_SHADES):g}"'
    return shape("rect", kinds, place, told and f"{told}: {percent(change)}")


def _legend(left: float, top: float) -> Iterator[str]:
    """From less than the first shade to the last, slower and faster."""
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
