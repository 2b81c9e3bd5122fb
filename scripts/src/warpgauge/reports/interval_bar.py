# SPDX-License-Identifier: Apache-2.0
"""A change and its interval as a line of characters, against zero and the minimum effect."""

from __future__ import annotations

import math
from collections.abc import Iterable

from warpgauge.verdict.comparison import Change

# Cells on either side of zero, unless told otherwise.
_MIDDLE = 12
WIDTH = 2 * _MIDDLE + 1

# In minimum effects, so that rows whose minimum effects differ can be compared: what lies beyond
# the two marks counts. Linear around zero and logarithmic outside (the inverse hyperbolic sine),
# so that 1 % and 40 % are told apart on one line.
_REACH = 50.0
_LONGEST_REACH = 1e12

# Whoever asks for no minimum effect has all changes in the arrows.
_LEAST_EFFECT = 1e-9

HEADING = "faster ┊ 0 ┊ slower".center(WIDTH)


def reach(drawn: Iterable[tuple[Change, float]]) -> float:
    """Minimum effects from zero to an end within which each change lies, with its interval.

    `drawn` are changes with their minimum effects.
    """
    ends = [
        max(abs(change.low), abs(change.high)) / max(effect, _LEAST_EFFECT)
        for change, effect in drawn
    ]
    return min(max(_REACH, *ends), _LONGEST_REACH)


def interval_bar(
    change: Change, minimum_effect: float, middle: int = _MIDDLE, reach: float = _REACH
) -> str:
    """2 * `middle` + 1 characters (WIDTH), with an ━ along the interval and ● at the change.

    │ is zero, ┊ the minimum effect either way.
    ◀ and ▶ stand where it goes on beyond `reach` minimum effects.
    """
    width, scale = 2 * middle + 1, middle / math.asinh(reach)
    mark, unit = round(scale * math.asinh(1.0)), max(minimum_effect, _LEAST_EFFECT)
    far = 10.0 * reach
    low, value, high = (
        middle + round(scale * math.asinh(max(min(one / unit, far), -far)))
        for one in (change.low, change.ratio, change.high)
    )
    cells = [" "] * width
    for at, sign in ((-mark, "┊"), (0, "│"), (mark, "┊")):
        cells[middle + at] = sign
    for at in range(max(low, 0), min(high, width - 1) + 1):
        cells[at] = "━"
    if 0 <= value < width:
        cells[value] = "●"
    if low < 0:
        cells[0] = "◀"
    if high >= width:
        cells[-1] = "▶"
    return "".join(cells)
