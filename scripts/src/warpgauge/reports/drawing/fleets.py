# SPDX-License-Identifier: Apache-2.0
"""The picture of a fleet: its units ordered by a value. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from warpgauge.reports.drawing import lines
from warpgauge.reports.drawing.lines import CEILING, DOTS, Point, Series, Vertical

_MARKED, _STEPS = 100, 100  # the first ranks have a mark, and of the others so many


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
