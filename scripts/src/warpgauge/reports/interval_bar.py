# SPDX-License-Identifier: Apache-2.0
"""Changes and their intervals as characters: one line each on one scale, and a joint plot."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence

from warpgauge.system.text import cut, inert, percent
from warpgauge.verdict.comparison import Change, Verdict

# More rows would push the rest off the screen; the table above lists all.
_ROWS = 12
_NAME = 40  # characters; a line of a comment has room for about eighty

# Cells of a bar on either side of zero: in the plot, and in the terminal's table.
_PLOT_MIDDLE, _MIDDLE = 14, 12
WIDTH = 2 * _MIDDLE + 1
HEADING = "faster ┊ 0 ┊ slower".center(WIDTH)

# In minimum effects, so that rows with different ones can be compared: what lies beyond the two
# marks counts. The scale is linear around zero and logarithmic outside (the inverse hyperbolic
# sine), so that 1 % and 40 % are distinct on one line.
_REACH, _LONGEST_REACH = 50.0, 1e12

# Replaces a minimum effect of zero, with which every change would be beyond the bar's end.
_LEAST_EFFECT = 1e-9

_LEGEND = "● change  ━ its 95 % interval  ┊ the smallest that counts"
_CUT_OFF = "  ◀ ▶ farther out"


def plot(verdicts: Sequence[Verdict]) -> str:
    """Return a fenced block with a line per verdict with an interval, up to _ROWS, or ""."""
    drawn = [
        (verdict.name, verdict.change, verdict.minimum_effect)
        for verdict in verdicts
        if verdict.change is not None and verdict.minimum_effect is not None
    ]
    if not drawn:
        return ""
    shown = drawn[:_ROWS]
    # The reach in minimum effects, to the end of the longest interval.
    ends = [
        max(abs(change.low), abs(change.high)) / max(effect, _LEAST_EFFECT)
        for _, change, effect in shown
    ]
    far = min(max(_REACH, *ends), _LONGEST_REACH)
    bars = [interval_bar(change, effect, _PLOT_MIDDLE, far) for _, change, effect in shown]
    sizes = [percent(change.ratio) for _, change, _ in shown]
    width = max(map(len, sizes))
    body = [f"{'':{width}}  {HEADING.strip().center(2 * _PLOT_MIDDLE + 1)}".rstrip()]
    body += [
        # The name comes after the bar, so that its letters cannot shift the bar.
        f"{size:>{width}}  {bar}  {cut(inert(name), _NAME)}"
        for size, bar, (name, _, _) in zip(sizes, bars, shown, strict=True)
    ]
    body += [f"… and {len(drawn) - _ROWS} more"] if len(drawn) > _ROWS else []
    cut_off = any("◀" in bar or "▶" in bar for bar in bars)
    text = "\n".join([*body, _LEGEND + (_CUT_OFF if cut_off else "")])
    fence = "`" * max(3, 1 + max(map(len, re.findall("`+", text)), default=0))
    return f"{fence}text\n{text}\n{fence}"


def interval_bar(
    change: Change, minimum_effect: float, middle: int = _MIDDLE, reach: float = _REACH
) -> str:
    """Return 2 * `middle` + 1 characters (WIDTH), with an ━ along the interval and ● at the change.

    │ is zero, ┊ the minimum effect in either direction.
    ◀ and ▶ mark an interval that continues beyond `reach` minimum effects.
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
