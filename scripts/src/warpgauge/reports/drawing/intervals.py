# SPDX-License-Identifier: Apache-2.0
"""A picture of the changes and their intervals: what changed, and what is undecided. Pure.

Each row is a benchmark: a point with whiskers, against zero and a band as wide as the tolerance.
An undecided row has one whisker, which ends at its bound.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from warpgauge.reports.drawing import axes, picture
from warpgauge.reports.drawing.axes import Axis, change_words, linear
from warpgauge.reports.drawing.picture import CIRCLE, DIAMOND, GAP, SQUARE, Sign, rect, shape, text
from warpgauge.reports.drawing.style import LETTER
from warpgauge.reports.provenance import gpu_name
from warpgauge.reports.view import at_most, headline, interval, rank
from warpgauge.system import text as texts
from warpgauge.system.text import percent
from warpgauge.verdict.comparison import Change, Comparison, Outcome, Verdict

# Both kinds of file contain it; a later run replaces only files that contain it.
MARK = "warpgauge intervals of changes"

# More rows would not be readable.
_ROWS = 40

_ROW, _PLOT, _TOP, _BOTTOM = 26.0, 480.0, 64.0, 76.0

# The last letter in the PNG's font; later ones are written as escapes.
_LAST_LETTER = "\u017f"


@dataclass(frozen=True)
class _Kind:
    """How a row looks: a shape, and a colour that colour-blind readers can tell apart."""

    words: str
    path: str
    filled: bool = True

    @property
    def classes(self) -> str:
        return f"{'mark' if self.filled else 'hollow'} {self.words}"


_KINDS = {
    Outcome.REGRESSION: _Kind("slower", CIRCLE),
    Outcome.IMPROVED: _Kind("faster", DIAMOND),
    Outcome.PASS: _Kind("accepted", SQUARE),
    Outcome.INCONCLUSIVE: _Kind("undecided", CIRCLE, filled=False),
}


@dataclass(frozen=True)
class _Row:
    name: str
    change: Change
    size: str
    tolerance: float
    kind: _Kind


def svg(comparison: Comparison) -> str:
    return picture.document(drawn(comparison), MARK)


def png(comparison: Comparison) -> bytes:
    return picture.png(drawn(comparison), MARK)


def drawn(comparison: Comparison) -> str:
    """Return the SVG element."""
    found = _rows(comparison)
    rows = found[:_ROWS]
    line, gpu = texts.plain(headline(comparison)), gpu_name(comparison.candidate)
    top = " · ".join(filter(None, (line, _plain(gpu))))
    least = max(picture.title_width(top) + 2 * GAP, 640.0)
    body = [picture.title(top, GAP)]
    if not rows:
        body.append(text(GAP, 56, "There is no interval to draw."))
        return picture.element(body, least, 80.0, top)
    left = GAP + max(picture.width_of(row.name) for row in rows) + GAP
    sizes = max(picture.width_of(row.size) for row in rows)
    width = max(left + _PLOT + sizes + 2 * GAP, least)
    bottom = _TOP + _ROW * len(rows)
    x = _axis(rows, left, width - sizes - 2 * GAP)
    curved = x.scale is not linear
    ticks = _curved_ticks(x) if curved else _linear_ticks(x)
    y = Axis(len(rows), 0, bottom, _TOP)
    kinds = [kind for kind in _KINDS.values() if any(row.kind is kind for row in rows)]
    signs = [Sign(kind.words, kind.classes, kind.path) for kind in kinds]
    body += [
        *picture.lines([signs], left, 36),
        *(_band(x, _TOP + _ROW * at, row) for at, row in enumerate(rows)),
        *axes.below(x, ticks, change_words, y),
        axes.frame(x, y),
        shape("path", "zero ink", f'd="M{x.at(0.0):.2f} {_TOP:.2f}V{bottom:.2f}"'),
        *(part for at, row in enumerate(rows) for part in _drawn(x, _TOP + _ROW * (at + 0.5), row)),
        text((x.start + x.end) / 2, bottom + 38, "faster  ←  change of time  →  slower", "middle"),
        text(GAP, bottom + 64, _below(kinds, curved, len(found) - len(rows)), "faint"),
    ]
    return picture.element(body, width, bottom + _BOTTOM, f"{top}: {len(rows)} intervals")


def _rows(comparison: Comparison) -> list[_Row]:
    """Return the changed rows, then the accepted ones, then the undecided ones."""
    rows = []
    for outcome, kind in _KINDS.items():
        chosen = [verdict for verdict in comparison.verdicts if verdict.outcome is outcome]
        for verdict in sorted(chosen, key=rank):
            drawn = outcome is not Outcome.PASS or verdict.is_accepted
            if verdict.change is not None and drawn:
                change, size = _drawn_change(verdict, verdict.change)
                tolerance = min(verdict.tolerance or 0.0, _FARTHEST)
                rows.append(_Row(_plain(verdict.name), _within(change), size, tolerance, kind))
    return rows


def _drawn_change(verdict: Verdict, change: Change) -> tuple[Change, str]:
    """Return the change with the whiskers to draw, and its text."""
    if verdict.outcome is Outcome.INCONCLUSIVE and verdict.bound is not None:
        return Change(change.ratio, change.ratio, verdict.bound), at_most(verdict.bound)
    return change, f"{percent(change.ratio)} ({interval(change)})"


def _within(change: Change) -> Change:
    """Clamp a change to the range of an axis; the interval then contains the change."""
    ends = (change.ratio, change.low, change.high)
    ratio, low, high = (max(min(end, _FARTHEST), -1.0) for end in ends)
    return Change(ratio, min(low, ratio), max(high, ratio))


def _plain(name: str) -> str:
    """Return the name with letters that are not in the font, or that move others, escaped."""
    shown = picture.shortened(name)
    return "".join(
        char if char <= _LAST_LETTER or char == "…" else ascii(char)[1:-1] for char in shown
    )


def _below(kinds: Sequence[_Kind], curved: bool, left_out: int) -> str:
    text = "whiskers: 95 % interval"
    text += ", or 99 % bound where undecided" if _KINDS[Outcome.INCONCLUSIVE] in kinds else ""
    text += "; band: tolerance"
    text += "; the scale is narrower farther out" if curved else ""
    return text + (f" · {left_out} more not drawn" if left_out else "")


def _band(x: Axis, top: float, row: _Row) -> str:
    low, high = x.at(-row.tolerance), x.at(row.tolerance)
    return rect("tolerance", low, top + 2, high - low, _ROW - 4)


def _drawn(x: Axis, y: float, row: _Row) -> Iterator[str]:
    low, at, high = (x.at(v) for v in (row.change.low, row.change.ratio, row.change.high))
    ends = f"M{low:.2f} {y - 4:.2f}v8m0-4H{high:.2f}m0-4v8"
    yield text(x.start - GAP, y + 4, row.name, "end")
    yield shape("path", f"whisker {row.kind.words}", f'd="{ends}"')
    yield picture.mark(at, y, row.kind.classes, row.kind.path, f"{row.name}: {row.size}")
    yield text(x.end + GAP, y + 4, row.size, row.kind.words)


# The largest change that is drawn.
_FARTHEST = 99.99

# An axis up to _LINEAR is linear. A longer one is linear only around zero (the inverse hyperbolic
# sine), so that 1 % and 300 % are both visible.
_LINEAR, _LINEAR_WIDTH = 0.25, 0.05
_TICKS = (-0.9, -0.5, -0.2, -0.1, -0.05, -0.02, 0.0, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0,
          30.0, 100.0)  # fmt: skip

# Letters for a label of a linear axis and the gap after it.
_LABEL = 10

# The least reach of an axis in either direction.
_LEAST = 0.001


def _axis(rows: Sequence[_Row], start: float, end: float) -> Axis:
    """Return an axis that holds all intervals and bands; it is not linear if it is long."""
    lows = [min(row.change.low, -row.tolerance) for row in rows]
    highs = [max(row.change.high, row.tolerance) for row in rows]
    low = max(min(-_LEAST, 1.04 * min(lows)), -1.0)
    high = min(max(_LEAST, 1.04 * max(highs)), _FARTHEST)
    curved = max(-low, high) > _LINEAR
    if curved:
        low, high = 1.15 * low, 1.15 * high
    room = 0.04 * (high - low)
    return Axis(low - room, high + room, start, end, _curve if curved else linear)


def _linear_ticks(x: Axis) -> list[float]:
    return axes.linear_ticks(x.low, x.high, max(int((x.end - x.start) / LETTER / _LABEL), 1))


def _curved_ticks(x: Axis) -> list[float]:
    ticks = [tick for tick in _TICKS if x.low <= tick <= x.high]
    return x.spread(sorted(ticks, key=abs), change_words)


def bar(change: Change, tolerance: float) -> str:
    """Return a small SVG of one interval over its tolerance, for a cell of a page."""
    one = _within(change)
    x = Axis(-_LINEAR, _LINEAR, 4.0, 156.0, _curve)
    low, at, high = (x.at(value) for value in (one.low, one.ratio, one.high))
    kind = "slower" if change.low > 0 else "faster" if change.high < 0 else "undecided"
    left, right = x.at(-tolerance), x.at(tolerance)
    body = [
        rect("tolerance", left, 0, right - left, 14),
        shape("path", "zero faint", f'd="M{x.at(0.0):.2f} 0V14"'),
        shape("path", f"line {kind}", f'd="M{low:.2f} 7H{high:.2f}"'),
        picture.mark(at, 7, f"mark {kind}"),
    ]
    return picture.element(body, 160, 14, f"{interval(change)} %")


def _curve(value: float) -> float:
    return math.asinh(value / _LINEAR_WIDTH)
