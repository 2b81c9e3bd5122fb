# SPDX-License-Identifier: Apache-2.0
"""The intervals of changed rows as text, for a comment, in which no picture of a run is shown."""

from __future__ import annotations

import re
from collections.abc import Sequence

from warpgauge.reports.interval_bar import HEADING, interval_bar, reach
from warpgauge.system.text import cut, inert, left_to_right, percent
from warpgauge.verdict.comparison import Verdict

# More rows would push what follows off the screen; the table above has them all.
_ROWS = 12

# Cells of a bar on either side of zero; characters of a name.
_MIDDLE = 20
_NAME = 60

_LEGEND = "● change  ━ its 95 % interval  ┊ the smallest that counts"
_CUT_OFF = "  ◀ ▶ farther out"


def plot(verdicts: Sequence[Verdict]) -> str:
    """A fenced block with a line for each of the first of `verdicts` that has an interval.

    Empty where none has.
    """
    drawn = [
        (one.name, one.change, one.minimum_effect)
        for one in verdicts
        if one.change is not None and one.minimum_effect is not None
    ]
    if not drawn:
        return ""
    shown = drawn[:_ROWS]
    far = reach((change, effect) for _, change, effect in shown)
    bars = [interval_bar(change, effect, _MIDDLE, far) for _, change, effect in shown]
    sizes = [percent(change.ratio) for _, change, _ in shown]
    width = max(map(len, sizes))
    body = [f"{'':{width}}  {HEADING.strip().center(2 * _MIDDLE + 1)}".rstrip()]
    body += [
        f"{size:>{width}}  {bar}  {_shown(name)}"
        for size, bar, (name, _, _) in zip(sizes, bars, shown, strict=True)
    ]
    body += [f"… and {len(drawn) - _ROWS} more"] if len(drawn) > _ROWS else []
    cut_off = any("◀" in bar or "▶" in bar for bar in bars)
    text = "\n".join([*body, _LEGEND + (_CUT_OFF if cut_off else "")])
    fence = "`" * max(3, 1 + max(map(len, re.findall("`+", text)), default=0))
    return f"{fence}text\n{text}\n{fence}"


def _shown(name: str) -> str:
    """Behind the bar, where no letter of it can move anything."""
    return cut(left_to_right(inert(name)), _NAME)
