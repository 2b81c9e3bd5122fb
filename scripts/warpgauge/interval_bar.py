# SPDX-License-Identifier: Apache-2.0
"""A change and its interval as a line of characters, against zero and the minimum effect."""

from __future__ import annotations

from warpgauge.comparison import Change

# The line reaches from -4 to +4 minimum effects, so that rows whose minimum effects differ can be
# compared: what lies beyond the two marks counts.
_REACH = 4
_CELLS_AN_EFFECT = 3
_MIDDLE = _REACH * _CELLS_AN_EFFECT
WIDTH = 2 * _MIDDLE + 1

HEADING = "−   ┊  0  ┊   +".center(WIDTH)


def interval_bar(change: Change, minimum_effect: float) -> str:
    """WIDTH characters: │ is zero, ┊ the minimum effect either way, ● the change, ━ its interval.

    ◀ and ▶ stand where it goes on beyond four minimum effects.
    """
    scale = _CELLS_AN_EFFECT / minimum_effect
    low, value, high = (
        round(min(max(one * scale, -2.0 * _MIDDLE), 2.0 * _MIDDLE)) + _MIDDLE
        for one in (change.low, change.ratio, change.high)
    )
    cells = [" "] * WIDTH
    for at, mark in ((-_CELLS_AN_EFFECT, "┊"), (0, "│"), (_CELLS_AN_EFFECT, "┊")):
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
