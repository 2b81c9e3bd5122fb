# SPDX-License-Identifier: Apache-2.0
"""A change and its interval as a line of characters, against zero and the minimum effect."""

from __future__ import annotations

import math

from warpgauge.comparison import Change

_MIDDLE = 12
WIDTH = 2 * _MIDDLE + 1

# In minimum effects, so that rows whose minimum effects differ can be compared: what lies beyond
# the two marks counts. Linear around zero and logarithmic outside (the inverse hyperbolic sine),
# so that 1 % and 40 % are told apart on one line.
_REACH = 50.0
_FAR = 10.0 * _REACH
_CELLS = _MIDDLE / math.asinh(_REACH)
_MARK = round(_CELLS * math.asinh(1.0))

HEADING = "faster ┊ 0 ┊ slower".center(WIDTH)


def interval_bar(change: Change, minimum_effect: float) -> str:
    """WIDTH characters: │ is zero, ┊ the minimum effect either way, ● the change, ━ its interval.

    ◀ and ▶ stand where it goes on beyond fifty minimum effects.
    """
    low, value, high = (
        _MIDDLE + round(_CELLS * math.asinh(max(min(one / minimum_effect, _FAR), -_FAR)))
        for one in (change.low, change.ratio, change.high)
    )
    cells = [" "] * WIDTH
    for at, mark in ((-_MARK, "┊"), (0, "│"), (_MARK, "┊")):
        cells[_MIDDLE + at] = mark
    for at in range(max(low, 0), min(high, WIDTH - 1) + 1):
        cells[at] = "━"
    if 0 <= value < WIDTH:
        cells[value] = "●"
    if low < 0:
        cells[0] = "◀"
    if high >= WIDTH:
        cells[-1] = "▶"
    return "".join(cells)
