# SPDX-License-Identifier: Apache-2.0
"""The axis of changes in a picture: in percent, and narrower farther out where 300 % are on it."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from matplotlib.axes import Axes

# Nothing is drawn farther out.
FARTHEST = 99.99

# Up to here the axis is linear; beyond, it is so around zero alone (the inverse hyperbolic sine):
# else 1 % and 300 % would not both be seen on it.
_LINEAR, _LINEAR_WIDTH = 0.25, 0.05
_TICKS = (-0.9, -0.5, -0.2, -0.1, -0.05, -0.02, 0.0, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0,
          30.0, 100.0)  # fmt: skip

# Letters for a label of a linear axis and what lies between it and the next.
_LABEL = 10

# An axis is at least so long either way.
_LEAST = 0.001


def scale(axes: Axes, spans: Sequence[tuple[float, float]], letters: float) -> bool:
    """Make the axis as wide as all of `spans`, two fractions each; whether it is not linear.

    As many `letters` fit below it: no two labels touch.
    """
    from matplotlib.ticker import FixedLocator, FuncFormatter, MaxNLocator

    low = max(min(-_LEAST, *(1.04 * low for low, _ in spans)), -1.0)
    high = min(max(_LEAST, *(1.04 * high for _, high in spans)), FARTHEST)
    curved = max(-low, high) > _LINEAR
    if curved:
        axes.set_xscale("asinh", linear_width=_LINEAR_WIDTH)
        low, high = 1.15 * low, 1.15 * high
    room = 0.04 * (high - low)
    low, high = low - room, high + room
    axes.set_xlim(low, high)
    steps = MaxNLocator(max(int(letters / _LABEL), 1), steps=[1, 2, 2.5, 5, 10])
    axes.xaxis.set_major_locator(FixedLocator(_ticks(low, high, letters)) if curved else steps)
    axes.xaxis.set_minor_locator(FixedLocator([]))
    axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: _tick(value)))
    return curved


def _ticks(low: float, high: float, letters: float) -> list[float]:
    """Of those on the axis as many as have room beside each other, zero among them."""
    inside = sorted((one for one in _TICKS if low <= one <= high), key=abs)
    letter = (_at(high) - _at(low)) / letters
    shown: list[float] = []
    for one in inside:
        if all(abs(_at(one) - _at(other)) >= letter * _room(one, other) for other in shown):
            shown.append(one)
    return sorted(shown)


def _room(one: float, other: float) -> float:
    """Letters from the middle of a label to that of its neighbour, with two between them."""
    return (len(_tick(one)) + len(_tick(other))) / 2 + 2


def _at(value: float) -> float:
    return math.asinh(value / _LINEAR_WIDTH)


def _tick(value: float) -> str:
    sign = "" if abs(value) < 1e-9 else "−" if value < 0 else "+"
    return f"{sign}{round(100 * abs(value), 2):g} %"
