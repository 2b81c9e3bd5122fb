# SPDX-License-Identifier: Apache-2.0
"""Thousands of units in the order of a value, the largest first: who stands apart. Pure."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from warpgauge.reports.drawing import axes, picture
from warpgauge.reports.drawing.axes import Axis, logarithm
from warpgauge.reports.drawing.picture import CIRCLE, GAP, mark, shape

_WIDTH, _HEIGHT, _TOP, _BOTTOM = 640.0, 240.0, 44.0, 64.0
_MARKED = 100  # the others are a line


@dataclass(frozen=True)
class Ranks:
    """`values` with their names; those above `limit` stand apart. `y` words the vertical axis."""

    title: str
    y: str
    values: Sequence[float]
    names: Sequence[str]
    limit: float
    y_text: Callable[[float], str] = "{:g}".format


def drawn(ranks: Ranks) -> str:
    """The element. There is a value."""
    order = sorted(range(len(ranks.values)), key=lambda at: -ranks.values[at])
    high = 1.05 * max(ranks.values[order[0]], ranks.limit, 1.0)
    ticks = axes.linear_ticks(0.0, high)
    left = axes.margin(ticks, ranks.y_text)
    x = Axis(0.8, 1.25 * max(len(order), 2), left, left + _WIDTH, logarithm)
    y = Axis(0.0, high, _TOP + _HEIGHT, _TOP)
    limit = y.at(ranks.limit)
    rest = [f"{x.at(n):.1f},{y.at(ranks.values[order[n - 1]]):.1f}" for n in _thinned(len(order))]
    body = [
        picture.title(ranks.title, left),
        *axes.beside(y, ticks, ranks.y_text, x),
        *axes.below(x, axes.log_ticks(1, max(len(order), 2)), "{:g}".format, y),
        axes.frame(x, y),
        shape("path", "ceiling ink", f'd="M{x.start:.2f} {limit:.2f}H{x.end:.2f}"', "the limit"),
        *([shape("polyline", "line c0", f'points="{" ".join(rest)}"')] if rest else []),
    ]
    for rank, at in enumerate(order[:_MARKED], 1):
        kinds = "dot slower" if ranks.values[at] > ranks.limit else "dot c0"
        body.append(mark(x.at(rank), y.at(ranks.values[at]), kinds, CIRCLE, ranks.names[at]))
    body += axes.titles(x, y, "rank", ranks.y)
    width = max(x.end, left + picture.title_width(ranks.title)) + GAP
    return picture.element(body, width, y.start + _BOTTOM, ranks.title)


def _thinned(count: int) -> list[int]:
    """Ranks behind those that are marked, at equal steps of the logarithmic axis."""
    if count <= _MARKED:
        return []
    steps = 200
    first, last = math.log(_MARKED), math.log(count)
    found = {round(math.exp(first + (last - first) * n / steps)) for n in range(steps + 1)}
    return sorted(found)
