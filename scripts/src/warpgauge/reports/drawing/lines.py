# SPDX-License-Identifier: Apache-2.0
"""Lines over a logarithmic axis, with bands, as SVG for light and dark pages. Pure.

The same lines give the same bytes. The picture is complete in itself: nothing is fetched.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby
from xml.sax.saxutils import escape

from rich.cells import cell_len

from warpgauge.system.text import binary, cut, inert

# In every such file: by it a later run knows that it may replace one.
MARK = "warpgauge lines over an axis"

# In pixels, as are all coordinates; letters of one width, so that texts fit in any browser.
_SIZE, _LETTER, _LINE = 12, 7.5, 20
_WIDTH, _HEIGHT, _GAP = 640.0, 380.0, 16.0
_TOP, _BOTTOM = 44.0, 58.0
_LONGEST_NAME, _LONGEST_TITLE = 60, 100

# Told apart by eyes of every kind (after Okabe and Ito), on white and on black.
_COLOURS = (
    ("#0072b2", "#4da3e0"), ("#d55e00", "#ff8a3d"), ("#008060", "#34c79a"),
    ("#b0508c", "#e38bc0"), ("#9a7400", "#e0b93a"), ("#1c8db0", "#7fdbf5"),
    ("#6b4fbb", "#a991f7"), ("#6e6e6e", "#b5b5b5"),
)  # fmt: skip
_MARKERS = ("M-4 0a4 4 0 1 0 8 0a4 4 0 1 0-8 0z", "M-3.5-3.5h7v7h-7z", "M0-5L5 0 0 5-5 0z",
            "M0-4.5L4.5 3.5h-9z", "M0 4.5L4.5-3.5h-9z")  # fmt: skip
_INK, _PAPER, _GRID = ("#1f2328", "#e6edf3"), ("#ffffff", "#0d1117"), ("#d8dce1", "#30363d")

# The band of a point that scatters much is cut off here, so that it does not press the lines flat.
_HIGHEST_BAND = 1.15


@dataclass(frozen=True)
class Point:
    """`low` to `high` is the interval that `y` is known to, if it is; `told` is its tooltip."""

    x: int
    y: float
    low: float | None = None
    high: float | None = None
    told: str = ""


@dataclass(frozen=True)
class Series:
    """A line from left to right, broken where a point is None; a `ceiling` is dashed.

    Lines of one `colour` have the same; without one it is that of the text.
    """

    name: str
    points: Sequence[Point | None]
    colour: int | None
    ceiling: bool = False

    @property
    def drawn(self) -> list[Point]:
        return [point for point in self.points if point is not None]

    @property
    def parts(self) -> list[list[Point]]:
        """The unbroken pieces of the line."""
        groups = groupby(self.points, key=lambda point: point is not None)
        return [[one for one in group if one is not None] for there, group in groups if there]


@dataclass(frozen=True)
class Labels:
    """What stands at the picture and its axes; `y_text` words a tick."""

    title: str
    x: str
    y: str
    y_text: Callable[[float], str] = "{:g}".format


def svg(series: Sequence[Series], labels: Labels, *, log_y: bool = False) -> str:
    """The document. There is a point, and every x is above zero; with `log_y` so is every y."""
    frame = _Frame.around(series, labels, log_y)
    body = [
        f'<rect class="paper" width="{frame.width:g}" height="{frame.height:g}"/>',
        _text(frame.left, 24, cut(inert(labels.title), _LONGEST_TITLE), "title"),
        *_axes(frame, labels),
        *(line for one in series for line in _band(frame, one)),
        *(line for one in series for line in _line(frame, one)),
        *_legend(frame, series),
    ]
    return (
        f'<?xml version="1.0" encoding="utf-8"?>\n<!-- {MARK} -->\n'
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {frame.width:g} {frame.height:g}" '
        f'width="{frame.width:g}" height="{frame.height:g}" role="img">\n'
        + "\n".join([f"<style>{_style()}</style>", *body])
        + "\n</svg>\n"
    )


@dataclass(frozen=True)
class _Frame:
    """Where the lines are drawn, and what its edges stand for."""

    x: tuple[float, float]  # logarithms to base 2
    y: tuple[float, float]  # or logarithms to base 10
    log_y: bool
    x_ticks: Sequence[int]
    y_ticks: Sequence[float]
    left: float
    width: float
    height: float

    @staticmethod
    def around(series: Sequence[Series], labels: Labels, log_y: bool) -> _Frame:
        points = [point for one in series for point in one.drawn]
        xs = sorted({point.x for point in points})
        low, high = math.log2(xs[0]), math.log2(xs[-1])
        room = 0.03 * (high - low) or 0.5
        ticks, edges = (_log_ticks if log_y else _linear_ticks)(points)
        y_letters = max(cell_len(labels.y_text(tick)) for tick in ticks)
        left = _GAP + _LINE + _LETTER * y_letters + 8
        names = max(cell_len(_name(one)) for one in series)
        right = 2 * _GAP + 34 + _LETTER * names
        title = _LETTER * cell_len(cut(inert(labels.title), _LONGEST_TITLE)) * 1.1
        width = max(left + _WIDTH + right, left + title + _GAP)
        height = max(_TOP + _HEIGHT + _BOTTOM, _TOP + _LINE * len(series) + _GAP)
        shown = _x_ticks(xs, _WIDTH)
        return _Frame((low - room, high + room), edges, log_y, shown, ticks, left,
                      math.ceil(width), math.ceil(height))  # fmt: skip

    def at_x(self, x: float) -> float:
        return self.left + _WIDTH * (math.log2(x) - self.x[0]) / (self.x[1] - self.x[0])

    def at_y(self, y: float) -> float:
        """No farther out than the edges."""
        low, high = self.y
        value = (math.log10(y) if y > 0 else low) if self.log_y else y
        return _TOP + _HEIGHT * (1 - (min(max(value, low), high) - low) / (high - low))

    def at(self, x: float, y: float) -> str:
        return f"{self.at_x(x):.2f},{self.at_y(y):.2f}"


def _x_ticks(xs: Sequence[int], room: float) -> list[int]:
    """Powers of two, as far apart as their labels need, or the values where these lie between."""
    first, last = math.ceil(math.log2(xs[0])), math.floor(math.log2(xs[-1]))
    # 2^10 and 2^20 are always among them.
    for step in (1, 2, 5, 10):
        chosen = [2**power for power in range(first, last + 1) if power % step == 0]
        if len(chosen) * (max(map(_letters, chosen), default=0) + 2) * _LETTER <= room:
            break
    if len(chosen) > 1:
        return chosen
    many = math.ceil(len(xs) * (max(map(_letters, xs)) + 2) * _LETTER / room)
    return list(xs[::many])


def _letters(value: int) -> int:
    return len(binary(value))


def _linear_ticks(points: Sequence[Point]) -> tuple[list[float], tuple[float, float]]:
    """From zero to above the highest point, and its band as far as that is drawn."""
    highest = max(point.y for point in points)
    bands = [point.high for point in points if point.high is not None]
    top = max([highest, *(min(high, _HIGHEST_BAND * highest) for high in bands)]) * 1.04 or 1.0
    power = 10 ** math.floor(math.log10(top / 5))
    step = next(power * one for one in (1, 2, 2.5, 5, 10) if top / (power * one) <= 6)
    return [step * count for count in range(math.floor(top / step) + 1)], (0.0, top)


def _log_ticks(points: Sequence[Point]) -> tuple[list[float], tuple[float, float]]:
    ys = [point.y for point in points]
    low, high = math.log10(min(ys)) - 0.05, math.log10(max(ys)) + 0.05
    for factors in ((1, 2, 5), (1,)):
        powers = range(math.floor(low), math.ceil(high) + 1)
        ticks = [factor * 10.0**power for power in powers for factor in factors]
        shown = [tick for tick in ticks if low <= math.log10(tick) <= high]
        if len(shown) <= 10:
            break
    return shown[:: math.ceil(len(shown) / 10) or 1] or [min(ys)], (low, high)


def _axes(frame: _Frame, labels: Labels) -> Iterator[str]:
    bottom, right = _TOP + _HEIGHT, frame.left + _WIDTH
    for tick in frame.y_ticks:
        y = frame.at_y(tick)
        yield f'<path class="grid" d="M{frame.left:.2f} {y:.2f}H{right:.2f}"/>'
        yield _text(frame.left - 8, y + 4, labels.y_text(tick), "end")
    for value in frame.x_ticks:
        x = frame.at_x(value)
        yield f'<path class="grid" d="M{x:.2f} {_TOP:.2f}V{bottom:.2f}"/>'
        yield _text(x, bottom + 18, binary(value), "middle")
    yield (
        f'<rect class="frame" x="{frame.left:.2f}" y="{_TOP:g}" width="{_WIDTH:g}" '
        f'height="{_HEIGHT:g}"/>'
    )
    yield _text(frame.left + _WIDTH / 2, bottom + 42, inert(labels.x), "middle")
    x, y = _GAP + 6, _TOP + _HEIGHT / 2
    turned = f' transform="rotate(-90 {x:g} {y:g})"'
    yield _text(x, y, inert(labels.y), "middle", turned)


def _band(frame: _Frame, series: Series) -> Iterator[str]:
    """Where the line may lie: of one point alone a bar."""
    for part in series.parts:
        known = [point for point in part if point.low is not None and point.high is not None]
        if len(known) == 1:
            (one,) = known
            ends = f"{frame.at(one.x, one.low or 0.0)} {frame.at(one.x, one.high or 0.0)}"
            yield f'<polyline class="bar {_class(series)}" points="{ends}"/>'
        elif known:
            corners = [frame.at(point.x, point.high or 0.0) for point in known]
            corners += [frame.at(point.x, point.low or 0.0) for point in reversed(known)]
            yield f'<polygon class="band {_class(series)}" points="{" ".join(corners)}"/>'


def _line(frame: _Frame, series: Series) -> Iterator[str]:
    name, kind = _class(series), "ceiling" if series.ceiling else "line"
    for part in series.parts:
        corners = " ".join(frame.at(point.x, point.y) for point in part)
        yield f'<polyline class="{kind} {name}" points="{corners}"/>'
        for point in part if not series.ceiling else ():
            told = f"<title>{escape(inert(point.told))}</title>" if point.told else ""
            place = frame.at(point.x, point.y)
            yield (
                f'<path class="mark {name}" transform="translate({place})" '
                f'd="{_marker(series)}">{told}</path>'
            )


def _legend(frame: _Frame, series: Sequence[Series]) -> Iterator[str]:
    x = frame.left + _WIDTH + _GAP
    for index, one in enumerate(series):
        y = _TOP + _LINE * (index + 0.5)
        kind = "ceiling" if one.ceiling else "line"
        yield f'<polyline class="{kind} {_class(one)}" points="{x:.2f},{y:g} {x + 26:.2f},{y:g}"/>'
        if not one.ceiling:
            place = f"{x + 13:.2f},{y:g}"
            yield (
                f'<path class="mark {_class(one)}" transform="translate({place})" '
                f'd="{_marker(one)}"/>'
            )
        yield _text(x + 34, y + 4, _name(one), "name")


def _name(series: Series) -> str:
    return cut(inert(series.name), _LONGEST_NAME)


def _class(series: Series) -> str:
    return "ink" if series.colour is None else f"c{series.colour % len(_COLOURS)}"


def _marker(series: Series) -> str:
    """Another shape where the colours come round again."""
    return _MARKERS[(series.colour or 0) // len(_COLOURS) % len(_MARKERS)]


def _text(x: float, y: float, text: str, name: str, more: str = "") -> str:
    return f'<text class="{name}" x="{x:.2f}" y="{y:.2f}"{more}>{escape(text)}</text>'


def _style() -> str:
    fixed = (
        f"text{{font:{_SIZE}px ui-monospace,Menlo,Consolas,'DejaVu Sans Mono',monospace;"
        "white-space:pre}.title{font-weight:bold}.end{text-anchor:end}.middle{text-anchor:middle}"
        ".line,.ceiling,.bar{fill:none;stroke-width:2}.ceiling{stroke-dasharray:7 5;"
        "stroke-width:1.5}.band{fill-opacity:.22;stroke:none}.bar{stroke-opacity:.4;"
        "stroke-width:5}.mark{stroke:none}.grid,.frame{fill:none;stroke-width:1}"
    )
    return f"{fixed}{_colours(0)}@media (prefers-color-scheme:dark){{{_colours(1)}}}"


def _colours(page: int) -> str:
    """Of a light page (0) or a dark one (1)."""
    rules = f"text{{fill:{_INK[page]}}}.paper{{fill:{_PAPER[page]}}}"
    rules += f".grid,.frame{{stroke:{_GRID[page]}}}"
    named = [("ink", _INK[page]), *((f"c{n}", both[page]) for n, both in enumerate(_COLOURS))]
    for name, colour in named:
        rules += f".line.{name},.ceiling.{name},.bar.{name}{{stroke:{colour}}}"
        rules += f".band.{name},.mark.{name}{{fill:{colour}}}"
    return rules
