# SPDX-License-Identifier: Apache-2.0
"""A picture of the changes and their intervals: what changed, and what is undecided.

Each row is a benchmark: a point with whiskers, against zero and a band as wide as the tolerance.
An undecided row has one whisker, which ends at its bound.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from warpgauge.reports.drawing import picture
from warpgauge.reports.drawing.picture import CIRCLE, DIAMOND, GAP, LETTER, SQUARE, Axis, Sign
from warpgauge.reports.format import Format
from warpgauge.reports.view import at_most, gpu_name, headline, interval, rank
from warpgauge.system.text import percent, plain
from warpgauge.verdict.comparison import Change, Comparison, Outcome, Verdict

# A later run replaces only files that contain it.
MARK = "warpgauge intervals of changes"

_ROWS = 40  # more would not be readable
_ROW, _PLOT, _TOP, _BOTTOM = 26.0, 480.0, 64.0, 76.0

# The scale is linear only around zero (the inverse hyperbolic sine, of this width), so that 1 % and
# 300 % are both visible; up to _NEARLY_LINEAR ticks are equal steps.
_LINEAR_WIDTH, _NEARLY_LINEAR = 0.05, 0.05
_TICKS = (0.0, -0.02, 0.02, -0.05, 0.05, -0.1, 0.1, -0.2, 0.2, -0.5, 0.5, -0.9, 1.0, 2.0, 5.0, 10.0,
          30.0, 100.0)  # fmt: skip
_LABEL = 10  # letters for a label of a tick and the gap after it
_LEAST, _FARTHEST = 0.001, 99.99  # the least reach of an axis; the largest change that is drawn

# How rows look: a shape, and a colour that colour-blind readers can tell apart.
_SIGNS = {
    Outcome.REGRESSION: Sign("slower", "mark slower", CIRCLE),
    Outcome.IMPROVED: Sign("faster", "mark faster", DIAMOND),
    Outcome.PASS: Sign("accepted", "mark accepted", SQUARE),
    Outcome.INCONCLUSIVE: Sign("undecided", "hollow undecided", CIRCLE),
}


@dataclass(frozen=True)
class _Row:
    name: str
    change: Change
    size: str
    tolerance: float
    sign: Sign


def svg(comparison: Comparison) -> str:
    return picture.document(drawn(comparison), MARK)


def drawn(comparison: Comparison) -> str:
    """Return the SVG element."""
    found = _rows(comparison)
    rows = found[:_ROWS]
    line, gpu = plain(headline(comparison)), gpu_name(comparison.candidate)
    title = " · ".join(filter(None, (line, gpu)))
    if not rows:
        body = [picture.heading(title, GAP), picture.text(GAP, 56, "There is no interval to draw.")]
        return picture.element(body, max(picture.title_width(title) + 2 * GAP, 640.0), 80.0, title)
    left = 2 * GAP + max(picture.width_of(row.name) for row in rows)
    sizes = GAP + max(picture.width_of(row.size) for row in rows)
    x = _axis(rows, left, max(left + _PLOT, GAP + picture.title_width(title) - sizes))
    y = Axis(len(rows), 0, _TOP + _ROW * len(rows), _TOP)
    signs = [sign for sign in _SIGNS.values() if any(row.sign is sign for row in rows)]
    body = [
        *picture.legend([signs], left, 36),
        *(part for at, row in enumerate(rows) for part in _drawn(x, _TOP + _ROW * (at + 0.5), row)),
        picture.line("zero ink", [(x.at(0.0), y.end), (x.at(0.0), y.start)]),
        picture.text(GAP, y.start + 64, _below(signs, len(found) - len(rows)), "faint"),
    ]
    return picture.chart(
        title,
        (x, y),
        (_ticks(x), ()),
        body,
        right=sizes,
        bottom=_BOTTOM,
        title_at=GAP,
        label=f"{title}: {len(rows)} intervals",
    )


def _rows(comparison: Comparison) -> list[_Row]:
    """Return the changed rows, then the accepted ones, then the undecided ones."""
    rows = []
    for outcome, sign in _SIGNS.items():
        chosen = [verdict for verdict in comparison.verdicts if verdict.outcome is outcome]
        for verdict in sorted(chosen, key=rank):
            drawn = outcome is not Outcome.PASS or verdict.is_accepted
            if verdict.change is not None and drawn:
                change, size = _drawn_change(verdict, verdict.change)
                tolerance = min(verdict.tolerance or 0.0, _FARTHEST)
                name = picture.shortened(verdict.name)
                rows.append(_Row(name, _within(change), size, tolerance, sign))
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


def _below(signs: Sequence[Sign], left_out: int) -> str:
    words = "whiskers: 95 % interval"
    words += ", or 99 % bound where undecided" if _SIGNS[Outcome.INCONCLUSIVE] in signs else ""
    words += "; band: tolerance; the scale is narrower farther out"
    return words + (f" · {left_out} more not drawn" if left_out else "")


def _drawn(x: Axis, y: float, row: _Row) -> Iterator[str]:
    low, at, high = (x.at(v) for v in (row.change.low, row.change.ratio, row.change.high))
    ends = f"M{low:.2f} {y - 4:.2f}v8m0-4H{high:.2f}m0-4v8"
    left, right = x.at(-row.tolerance), x.at(row.tolerance)
    yield picture.rect("tolerance", left, y - _ROW / 2 + 2, right - left, _ROW - 4)
    yield picture.text(x.start - GAP, y + 4, row.name, "end")
    yield picture.shape("path", f"whisker {row.sign.name}", f'd="{ends}"')
    yield picture.mark(at, y, row.sign.kinds, row.sign.path, f"{row.name}: {row.size}")
    yield picture.text(x.end + GAP, y + 4, row.size, row.sign.name)


def _curve(value: float) -> float:
    return math.asinh(value / _LINEAR_WIDTH)


def _axis(rows: Sequence[_Row], start: float, end: float) -> Axis:
    """Return an axis that holds all intervals and bands."""
    low = min(-_LEAST, *(min(row.change.low, -row.tolerance) for row in rows))
    high = max(_LEAST, *(max(row.change.high, row.tolerance) for row in rows))
    room = 0.08 * (high - low)
    low, high = max(low - room, -1.05), high + room
    title = "faster  ←  change of time  →  slower"
    return Axis(low, high, start, end, _curve, _change_words, title)


def _change_words(value: float) -> str:
    sign = "" if abs(value) < 1e-9 else "−" if value < 0 else "+"
    return f"{sign}{round(100 * abs(value), 4):g} %"


def _ticks(x: Axis) -> list[float]:
    if max(-x.low, x.high) <= _NEARLY_LINEAR:
        return picture.linear_ticks(x.low, x.high, int((x.end - x.start) / LETTER / _LABEL))
    return x.spread(tick for tick in _TICKS if x.low <= tick <= x.high)


def bar(change: Change, tolerance: float) -> str:
    """Return a small SVG of one interval over its tolerance, for a cell of a page."""
    one = _within(change)
    x = Axis(-0.25, 0.25, 4.0, 156.0, _curve)
    low, at, high = (x.at(value) for value in (one.low, one.ratio, one.high))
    kind = "slower" if change.low > 0 else "faster" if change.high < 0 else "undecided"
    left, right = x.at(-tolerance), x.at(tolerance)
    body = [
        picture.rect("tolerance", left, 0, right - left, 14),
        picture.shape("path", "zero faint", f'd="M{x.at(0.0):.2f} 0V14"'),
        picture.shape("path", f"line {kind}", f'd="M{low:.2f} 7H{high:.2f}"'),
        picture.mark(at, 7, f"mark {kind}"),
    ]
    return picture.element(body, 160, 14, f"{interval(change)} %")


FORMAT = Format("intervals", svg, "picture of intervals", re.compile(f"<!-- {MARK} -->".encode()))
