# SPDX-License-Identifier: Apache-2.0
"""A picture of the changes and their intervals: what changed, and what nobody can tell.

Each row is a benchmark: a point with whiskers, against zero and a band as wide as the tolerance.
Of what is inconclusive one whisker goes to the bound. The same comparison gives the same bytes.
matplotlib is imported when drawing.
"""

from __future__ import annotations

import io
import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from warpgauge.reports.decision_text import at_most
from warpgauge.reports.headline import headline, interval
from warpgauge.reports.provenance import gpu_name
from warpgauge.reports.ranking import rank
from warpgauge.system.text import cut, inert, percent
from warpgauge.verdict.comparison import Change, Comparison, Outcome, Verdict, is_accepted

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from matplotlib.lines import Line2D


# In both kinds of file: by it a later run knows that it may replace one.
MARK = "warpgauge intervals of changes"

# More rows are no picture any more.
_ROWS = 40

# In inches and points; letters of one width, so that whatever font a browser has, names fit.
_LETTER_POINTS = 9.0
_LETTER = 0.62 * _LETTER_POINTS / 72.0
_ROW, _PLOT, _MARGIN = 0.27, 5.0, 0.2
_TOP, _BOTTOM = 0.7, 0.75
_NAME = 60
_DPI = 160

# DejaVu, which matplotlib brings, has these; other letters are written as escapes.
_LAST_LETTER = "\u024f"


@dataclass(frozen=True)
class _Kind:
    """How a row looks: colours that are told apart by eyes of every kind (Okabe and Ito), signs."""

    words: str
    colour: str
    marker: str
    filled: bool = True

    @property
    def face(self) -> str:
        return self.colour if self.filled else "white"


_KINDS = {
    Outcome.REGRESSION: _Kind("slower", "#D55E00", "o"),
    Outcome.IMPROVED: _Kind("faster", "#0072B2", "D"),
    Outcome.PASS: _Kind("accepted", "#8A5A83", "s"),
    Outcome.INCONCLUSIVE: _Kind("inconclusive", "#5E5E5E", "o", filled=False),
}

_SETTINGS = {
    "font.family": "monospace",
    "font.size": _LETTER_POINTS,
    "svg.fonttype": "none",
    "svg.hashsalt": "warpgauge",
    "axes.unicode_minus": True,
    "text.parse_math": False,
    "text.usetex": False,
}
# The document type names a server, the metadata several; a picture in a page should call nobody.
_PREAMBLE = re.compile(r"\A.*?(?=<svg\b)", re.DOTALL)
_METADATA = re.compile(r"\s*<metadata>.*?</metadata>", re.DOTALL)


@dataclass(frozen=True)
class _Row:
    name: str
    change: Change
    size: str
    tolerance: float
    kind: _Kind


def svg(comparison: Comparison) -> str:
    """The SVG document; its letters are text."""
    text = _saved(comparison, "svg", {"Date": None}).decode("utf-8")
    text = _METADATA.sub("", _PREAMBLE.sub("", text))
    return f'<?xml version="1.0" encoding="utf-8"?>\n<!-- {MARK} -->\n{text}'


def png(comparison: Comparison) -> bytes:
    """The bytes of a PNG file."""
    return _saved(comparison, "png", {"Title": MARK, "Software": None})


def _saved(comparison: Comparison, kind: str, metadata: Mapping[str, str | None]) -> bytes:
    import matplotlib as mpl

    file = io.BytesIO()
    # Not what somebody's own matplotlibrc says.
    usual = {key: value for key, value in mpl.rcParamsDefault.items() if "backend" not in key}
    settings: Any = {**usual, **_SETTINGS}
    with mpl.rc_context(settings):
        figure = _drawn(comparison)
        figure.savefig(file, format=kind, metadata=dict(metadata), dpi=_DPI)
    return file.getvalue()


def _drawn(comparison: Comparison) -> Figure:
    from matplotlib.figure import Figure

    found = _rows(comparison)
    rows = found[:_ROWS]
    names = _LETTER * max((len(row.name) for row in rows), default=30)
    sizes = _LETTER * max((len(row.size) for row in rows), default=10)
    line, gpu = headline(comparison), gpu_name(comparison.candidate)
    top = f"{line.verdict.rstrip('.')}. {_plain(gpu)}".rstrip()
    width = max(names + sizes + _PLOT + 4 * _MARGIN, _LETTER * len(top) + 2 * _MARGIN, 9.0)
    height = _TOP + _BOTTOM + _ROW * max(len(rows), 1)
    figure = Figure(figsize=(width, height), facecolor="white")
    figure.text(_MARGIN / width, 1 - 0.2 / height, top, weight="bold", va="center")
    if not rows:
        figure.text(_MARGIN / width, 0.4, "There is no interval to draw.")
        return figure
    box = (
        (names + 2 * _MARGIN) / width,
        _BOTTOM / height,
        1 - (names + sizes + 4 * _MARGIN) / width,
        1 - (_TOP + _BOTTOM) / height,
    )
    axes = figure.add_axes(box)
    curved = _draw(axes, rows, box[2] * width / _LETTER)
    kinds = [kind for kind in _KINDS.values() if any(row.kind is kind for row in rows)]
    more = f" · {len(found) - len(rows)} more are not drawn" if len(found) > len(rows) else ""
    below = "whiskers: 95 % interval"
    below += ", or 99 % bound where inconclusive" if _KINDS[Outcome.INCONCLUSIVE] in kinds else ""
    below += "; band: tolerance"
    below += f"{'; the scale is narrower farther out' if curved else ''}{more}"
    figure.text(_MARGIN / width, 0.15 / height, below, color="#444444", va="center")
    axes.legend(
        handles=[_sign(kind) for kind in kinds], loc="lower right", bbox_to_anchor=(1.0, 1.0),
        ncols=len(kinds), frameon=False, borderaxespad=0.2, handletextpad=0.3,
    )  # fmt: skip
    return figure


def _rows(comparison: Comparison) -> list[_Row]:
    """What changed, then what is accepted, then what is inconclusive."""
    rows = []
    for outcome, kind in _KINDS.items():
        chosen = [verdict for verdict in comparison.verdicts if verdict.outcome is outcome]
        for verdict in sorted(chosen, key=rank):
            drawn = outcome is not Outcome.PASS or is_accepted(verdict)
            if verdict.change is not None and drawn:
                change, size = _drawn_change(verdict, verdict.change)
                tolerance = min(verdict.tolerance or 0.0, _FARTHEST)
                rows.append(_Row(_plain(verdict.name), _within(change), size, tolerance, kind))
    return rows


def _drawn_change(verdict: Verdict, change: Change) -> tuple[Change, str]:
    """With the whiskers that are drawn, and in words."""
    if verdict.outcome is Outcome.INCONCLUSIVE and verdict.bound is not None:
        return Change(change.ratio, change.ratio, verdict.bound), at_most(verdict.bound)
    return change, f"{percent(change.ratio)} ({interval(change)})"


def _within(change: Change) -> Change:
    """No farther out than an axis goes, and with the change in its interval."""
    ends = (change.ratio, change.low, change.high)
    ratio, low, high = (max(min(end, _FARTHEST), -1.0) for end in ends)
    return Change(ratio, min(low, ratio), max(high, ratio))


def _plain(text: str) -> str:
    """Letters that every font has, and that no neighbour can move."""
    shown = cut(inert(text), _NAME)
    return "".join(
        char if char <= _LAST_LETTER or char == "…" else ascii(char)[1:-1] for char in shown
    )


def _draw(axes: Axes, rows: Sequence[_Row], letters: float) -> bool:
    """Whether the scale is not linear. As many `letters` fit below the axis."""
    for at, row in enumerate(rows):
        band = 2 * row.tolerance
        axes.barh(at, band, left=-row.tolerance, height=0.8, color="#E4E7EB", zorder=1)
        arms = [[row.change.ratio - row.change.low], [row.change.high - row.change.ratio]]
        axes.errorbar(
            [row.change.ratio], [at], xerr=arms, fmt=row.kind.marker, color=row.kind.colour,
            markerfacecolor=row.kind.face,
            markersize=4.5, elinewidth=1.6, capsize=3.5, capthick=1.6, zorder=3,
        )  # fmt: skip
        axes.annotate(
            row.size, (1.0, at), xycoords=("axes fraction", "data"), xytext=(8, 0),
            textcoords="offset points", va="center", color=row.kind.colour, annotation_clip=False,
        )  # fmt: skip
    axes.axvline(0.0, color="#222222", linewidth=1.0, zorder=2)
    axes.set_yticks(range(len(rows)), [row.name for row in rows])
    axes.set_ylim(len(rows) - 0.5, -0.5)
    axes.tick_params(axis="y", length=0)
    lows = [min(row.change.low, -row.tolerance) for row in rows]
    highs = [max(row.change.high, row.tolerance) for row in rows]
    curved = _scale_axis(axes, min(lows), max(highs), letters)
    axes.grid(visible=True, axis="x", color="#D0D4D9", linewidth=0.6, zorder=0)
    axes.set_axisbelow(True)
    for side in ("top", "right", "left"):
        axes.spines[side].set_visible(False)
    axes.set_xlabel("faster  ←  change of time  →  slower", labelpad=1)
    return curved


def _sign(kind: _Kind) -> Line2D:
    from matplotlib.lines import Line2D

    return Line2D(
        [], [], linestyle="none", marker=kind.marker, color=kind.colour, label=kind.words,
        markerfacecolor=kind.face, markersize=6,
    )  # fmt: skip


# Nothing is drawn farther out.
_FARTHEST = 99.99

# Up to here the axis is linear; beyond, it is so around zero alone (the inverse hyperbolic sine):
# else 1 % and 300 % would not both be seen on it.
_LINEAR, _LINEAR_WIDTH = 0.25, 0.05
_TICKS = (-0.9, -0.5, -0.2, -0.1, -0.05, -0.02, 0.0, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0,
          30.0, 100.0)  # fmt: skip

# Letters for a label of a linear axis and what lies between it and the next.
_LABEL = 10

# An axis is at least so long either way.
_LEAST = 0.001


def _scale_axis(axes: Axes, low: float, high: float, letters: float) -> bool:
    """Make the axis reach from `low` to `high`, two fractions; whether it is not linear.

    As many `letters` fit below it: no two labels touch.
    """
    from matplotlib.ticker import FixedLocator, FuncFormatter, MaxNLocator

    low = max(min(-_LEAST, 1.04 * low), -1.0)
    high = min(max(_LEAST, 1.04 * high), _FARTHEST)
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
    letter = (_at(high) - _at(low)) / letters
    shown: list[float] = []
    for tick in sorted((tick for tick in _TICKS if low <= tick <= high), key=abs):
        # From the middle of a label to that of its neighbour, with two letters between them.
        rooms = {other: (len(_tick(tick)) + len(_tick(other))) / 2 + 2 for other in shown}
        if all(abs(_at(tick) - _at(other)) >= letter * room for other, room in rooms.items()):
            shown.append(tick)
    return sorted(shown)


def _at(value: float) -> float:
    return math.asinh(value / _LINEAR_WIDTH)


def _tick(value: float) -> str:
    sign = "" if abs(value) < 1e-9 else "−" if value < 0 else "+"
    return f"{sign}{round(100 * abs(value), 2):g} %"
