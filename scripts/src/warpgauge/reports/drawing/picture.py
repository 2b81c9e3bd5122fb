# SPDX-License-Identifier: Apache-2.0
"""What all pictures share: colours, texts, marks, legends, axes, a chart, SVG files. Pure.

Each `drawn` of a module returns an SVG element for a page, and `document` makes a file of it. A
picture has no id, style or address, because a page holds several and has `style()` once. The same
data give the same bytes. A page sets other colours by the variables of the style:
``svg.wg-picture { --wg-paper: transparent }``.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from unicodedata import east_asian_width
from xml.sax.saxutils import escape, quoteattr

from warpgauge.system.text import duration, inert

# The width of a letter of 12 pixels' size and the height of a line, in pixels, as are all
# coordinates. The font is monospaced, so that texts fit in any browser.
LETTER, LINE = 7.5, 20

# For light and dark pages; colour-blind readers can tell them apart (Okabe, Ito).
_SERIES = (
    ("#0072b2", "#4da3e0"), ("#d55e00", "#ff8a3d"), ("#008060", "#34c79a"),
    ("#b0508c", "#e38bc0"), ("#9a7400", "#e0b93a"), ("#1c8db0", "#7fdbf5"),
    ("#6b4fbb", "#a991f7"), ("#6e6e6e", "#b5b5b5"),
)  # fmt: skip
_COLOURS = {
    "ink": ("#1f2328", "#e6edf3"),
    "faint": ("#59636e", "#9198a1"),
    "slower": ("#bc4c00", "#ff8a3d"),
    "faster": ("#0072b2", "#4da3e0"),
    "accepted": ("#8a5a83", "#c893c0"),
    "undecided": ("#5e5e5e", "#b5b5b5"),
    **{f"c{index}": both for index, both in enumerate(_SERIES)},
}
_GROUNDS = {
    "paper": ("#ffffff", "#0d1117"),
    "grid": ("#d8dce1", "#30363d"),
    "tolerance": ("#e8ebef", "#252b33"),
}
_ALL = {**_COLOURS, **_GROUNDS}

# Selected by class only, so that the page's own elements keep their style.
_SHAPES = """\
.wg-picture{color:var(--wg-ink)}
.wg-text{font:12px ui-monospace,Menlo,Consolas,'DejaVu Sans Mono',monospace;white-space:pre;\
fill:currentColor}
.wg-bold{font-weight:bold}
.wg-end{text-anchor:end}
.wg-middle{text-anchor:middle}
.wg-paper{fill:var(--wg-paper)}
.wg-tolerance{fill:var(--wg-tolerance)}
.wg-grid,.wg-frame{fill:none;stroke:var(--wg-grid);stroke-width:1}
.wg-line,.wg-ceiling,.wg-bar,.wg-whisker,.wg-zero,.wg-error{fill:none;stroke:currentColor;stroke-width:2}
.wg-whisker{stroke-width:1.5}
.wg-zero,.wg-error{stroke-width:1}
.wg-error{stroke-opacity:.45}
.wg-ceiling{stroke-dasharray:7 5;stroke-width:1.5}
.wg-bar{stroke-opacity:.4;stroke-width:5}
.wg-band{fill:currentColor;fill-opacity:.22;stroke:none}
.wg-mark{fill:currentColor;stroke:none}
.wg-dot{fill:currentColor;fill-opacity:.75;stroke:none}
.wg-hollow{fill:var(--wg-paper);stroke:currentColor;stroke-width:1.5}
"""


GAP = 16.0
LONGEST_NAME, _LONGEST_TITLE, _LONGEST_TOOLTIP = 60, 160, 400
_BOTTOM = 58.0  # of a chart: the labels and the title of its horizontal axis

_MARKS = ("M-4 0a4 4 0 1 0 8 0a4 4 0 1 0-8 0z", "M-3.5-3.5h7v7h-7z", "M0-5L5 0 0 5-5 0z",
          "M0-4.5L4.5 3.5h-9z", "M0 4.5L4.5-3.5h-9z")  # fmt: skip
CIRCLE, SQUARE, DIAMOND = _MARKS[:3]


def style() -> str:
    """Return the style of all pictures, needed once in a page or in a picture's file."""
    light, dark = (
        ";".join(f"--wg-{name}:{both[page]}" for name, both in _ALL.items()) for page in (0, 1)
    )
    dark = f"@media (prefers-color-scheme:dark){{.wg-picture{{{dark}}}}}"
    rules = "".join(f".wg-{name}{{color:var(--wg-{name})}}\n" for name in _COLOURS)
    return f".wg-picture{{{light}}}\n{dark}\n{_SHAPES}{rules}"


def series(colour: int | None) -> str:
    """Return the class of a series' colour; colours repeat, and None is that of the text."""
    return "ink" if colour is None else f"c{colour % len(_SERIES)}"


def marker(colour: int | None) -> str:
    """Return the shape of a mark, which changes each time the colours repeat."""
    return _MARKS[(colour or 0) // len(_SERIES) % len(_MARKS)]


def element(body: Iterable[str], width: float, height: float, label: str) -> str:
    """Return the picture for a page; `label` is for screen readers."""
    wide, high = math.ceil(width), math.ceil(height)
    spoken = quoteattr(shortened(label, _LONGEST_TOOLTIP))
    head = (
        f'<svg xmlns="http://www.w3.org/2000/svg" class="wg-picture" viewBox="0 0 {wide} {high}" '
        f'width="{wide}" height="{high}" role="img" aria-label={spoken}>'
    )
    paper = f'<rect class="wg-paper" width="{wide}" height="{high}"/>'
    return "\n".join([head, paper, *body, "</svg>\n"])


def document(picture: str, mark: str) -> str:
    """Return a file of one picture; the `mark` tells a later run that it may replace the file."""
    head, rest = picture.split("\n", 1)
    above = f'<?xml version="1.0" encoding="utf-8"?>\n<!-- {mark} -->\n{head}'
    return f"{above}\n<style>{style()}</style>\n{rest}"


def text(x: float, y: float, words: str, kinds: str = "", more: str = "") -> str:
    """Return a line of text; `kinds` are classes of `style`: end, middle, bold, or a colour."""
    kind = _classes(f"text {kinds}")
    return f'<text class="{kind}" x="{x:.2f}" y="{y:.2f}"{more}>{escape(inert(words))}</text>'


def shape(tag: str, kinds: str, attributes: str, told: str = "") -> str:
    """Return any element but text; `told` is its tooltip."""
    inside = f"<title>{escape(shortened(told, _LONGEST_TOOLTIP))}</title>" if told else ""
    end = f">{inside}</{tag}>" if inside else "/>"
    return f'<{tag} class="{_classes(kinds)}" {attributes}{end}'


def line(kinds: str, points: Iterable[tuple[float, float]], told: str = "") -> str:
    """Return a line through points."""
    corners = " ".join(f"{x:.2f},{y:.2f}" for x, y in points)
    return shape("polyline", kinds, f'points="{corners}"', told)


def mark(x: float, y: float, kinds: str, path: str = CIRCLE, told: str = "") -> str:
    return shape("path", kinds, f'transform="translate({x:.2f},{y:.2f})" d="{path}"', told)


def rect(kinds: str, x: float, y: float, width: float, height: float, told: str = "") -> str:
    place = f'x="{x:.2f}" y="{y:.2f}" width="{width:.2f}" height="{height:.2f}"'
    return shape("rect", kinds, place, told)


def heading(words: str, x: float) -> str:
    return text(x, 24, shortened(words, _LONGEST_TITLE), "bold")


def title_width(words: str) -> float:
    # Bold letters are slightly wider if a browser has no monospaced font for them.
    return 1.1 * width_of(shortened(words, _LONGEST_TITLE))


def shortened(words: str, longest: int = LONGEST_NAME) -> str:
    """Return inert text of at most `longest` letters; wide East Asian ones count as two."""
    shown, room = inert(words[: longest + 1]), longest
    for at, char in enumerate(shown):
        room -= _letters(char)
        if room < 0:
            return f"{shown[:at]}…"
    return shown


def width_of(words: str) -> float:
    """Return the width of inert text in pixels."""
    return LETTER * sum(map(_letters, words))


def _letters(char: str) -> int:
    return 2 if east_asian_width(char) in "WF" else 1


def _classes(kinds: str) -> str:
    return " ".join(f"wg-{one}" for one in kinds.split())


@dataclass(frozen=True)
class Sign:
    """An entry of a legend: a mark by its `path`, a `line` by its classes, both, or a box."""

    name: str
    kinds: str
    path: str = ""
    line: str = ""

    @property
    def width(self) -> float:
        return self._words_at + width_of(shortened(self.name))

    @property
    def _words_at(self) -> float:
        return 16.0 if self.path and not self.line else 34.0

    def drawn(self, x: float, y: float) -> Iterator[str]:
        """Yield its parts, with the left end at `x` and the middle at the height `y`."""
        if self.line:
            yield line(self.line, [(x, y), (x + 26, y)])
        if self.path:
            yield mark(x + (self._words_at - 8) / 2, y, self.kinds, self.path)
        elif not self.line:
            yield rect(self.kinds, x, y - 6, 26, 12)
        yield text(x + self._words_at, y + 4, shortened(self.name))


def legend(rows: Iterable[Sequence[Sign]], x: float, y: float) -> Iterator[str]:
    """Yield the rows of a legend, starting at the height `y`."""
    for index, row in enumerate(rows):
        at = x
        for one in row:
            yield from one.drawn(at, y + LINE * (index + 0.5))
            at += one.width + GAP


# An axis spans at least this share of its values, so that the labels of its ticks differ.
LEAST = 1e-4

Words = Callable[[float], str]


def linear(value: float) -> float:
    return value


def logarithm(value: float) -> float:
    """Return the decimal logarithm; minus infinity for zero and below."""
    return math.log10(value) if value > 0 else -math.inf


@dataclass(frozen=True)
class Axis:
    """An axis from the value `low` at pixel `start` to a different value `high` at pixel `end`.

    `scale` is an increasing function, such as `linear` or `logarithm`; `words` labels a tick.
    """

    low: float
    high: float
    start: float
    end: float
    scale: Callable[[float], float] = linear
    words: Words = "{:g}".format
    title: str = ""

    def at(self, value: float) -> float:
        """Return the pixel of a value, clamped to the ends."""
        low, high = self.scale(self.low), self.scale(self.high)
        # Halved, so that the difference of two huge values is finite.
        share = (self.scale(value) / 2 - low / 2) / (high / 2 - low / 2)
        return self.start + (self.end - self.start) * min(max(share, 0.0), 1.0)

    def spread(self, values: Iterable[float]) -> list[float]:
        """Return those of `values` whose labels have room, sorted; earlier values go first."""
        shown: list[float] = []
        for value in values:
            # Labels are centred, with at least two letters between them.
            width = width_of(self.words(value)) + 4 * LETTER
            rooms = {one: (width + width_of(self.words(one))) / 2 for one in shown}
            at = self.at(value)
            if all(abs(at - self.at(one)) >= room for one, room in rooms.items()):
                shown.append(value)
        return sorted(shown)


def linear_ticks(low: float, high: float, most: int = 6) -> list[float]:
    """Return round numbers from `low` to `high`, at most `most` equal steps."""
    length = high - low
    power = 10 ** math.floor(math.log10(length / most))
    step = next(power * one for one in (1, 2, 2.5, 5, 10) if length / (power * one) <= most)
    first, last = math.ceil(low / step - 1e-9), math.floor(high / step + 1e-9)
    return [step * count for count in range(first, last + 1)]


def log_ticks(low: float, high: float, most: int = 10) -> list[float]:
    """Return 1, 2, 5, 10, ... or powers of ten, or every nth of these; at least one tick."""
    ends = math.log10(low), math.log10(high)
    for factors in ((1, 2, 5), (1,)):
        powers = range(math.floor(ends[0]), math.ceil(ends[1]) + 1)
        ticks = [factor * 10.0**power for power in powers for factor in factors]
        shown = [tick for tick in ticks if ends[0] <= math.log10(tick) <= ends[1]]
        if len(shown) <= most:
            break
    return shown[:: math.ceil(len(shown) / most) or 1] or [math.sqrt(low) * math.sqrt(high)]


def margin(ticks: Sequence[float], words: Words) -> float:
    """Return the pixels from the edge to a vertical axis: its title and its widest label."""
    return GAP + LINE + max(width_of(words(tick)) for tick in ticks) + 8


def short(words: str) -> str:
    """Return ``2 µs`` for ``2.000 µs``."""
    number, _, unit = words.partition(" ")
    return f"{float(number):g} {unit}"


def unit_of(words: str, value: float) -> tuple[float, str]:
    """Return the size and the name of the unit in which `words` state a `value` above zero."""
    number, unit = words.split(" ", 1)
    return 10.0 ** round(math.log10(value / float(number))), unit


def seconds_words(highest: float) -> Words:
    """Return the labels' format for times up to `highest`, all in the same unit."""
    size, unit = unit_of(duration(highest), highest)
    return lambda value: f"{value / size:.9g} {unit}"


def chart(
    title: str,
    axes: tuple[Axis, Axis],
    ticks: tuple[Sequence[float], Sequence[float]],
    body: Iterable[str],
    *,
    right: float = 0.0,
    bottom: float = _BOTTOM,
    height: float = 0.0,
    title_at: float | None = None,
    label: str = "",
) -> str:
    """Return the SVG element of a `body` in the frame of a horizontal and a vertical axis.

    `right` and `bottom` are the pixels that the body needs beyond the frame, `height` is the least
    of the picture. The title begins at the frame, or at `title_at`. `label` is for screen readers,
    by default the title.
    """
    (x, y), (x_ticks, y_ticks) = axes, ticks
    above = x.start if title_at is None else title_at
    grid = [heading(title, above)]
    for tick in y_ticks:
        at = y.at(tick)
        grid.append(shape("path", "grid", f'd="M{x.start:.2f} {at:.2f}H{x.end:.2f}"'))
        grid.append(text(x.start - 8, at + 4, y.words(tick), "end"))
    for tick in x_ticks:
        at = x.at(tick)
        grid.append(shape("path", "grid", f'd="M{at:.2f} {y.end:.2f}V{y.start:.2f}"'))
        grid.append(text(at, y.start + 18, x.words(tick), "middle"))
    frame = rect("frame", x.start, y.end, x.end - x.start, y.start - y.end)
    width = max(x.end + right, above + title_width(title)) + GAP
    parts = [*grid, frame, *_titles(x, y), *body]
    return element(parts, width, max(y.start + bottom, height), label or title)


def _titles(x: Axis, y: Axis) -> Iterator[str]:
    """Yield the axes' titles; the vertical axis's is rotated, at the picture's edge."""
    if x.title:
        words = shortened(x.title, int((x.end - x.start) / LETTER) - 1)
        yield text((x.start + x.end) / 2, y.start + 42, words, "middle")
    if y.title:
        across, up = GAP + 6, (y.start + y.end) / 2
        words = shortened(y.title, int((y.start - y.end) / LETTER) - 1)
        yield text(across, up, words, "middle", f' transform="rotate(-90 {across:g} {up:g})"')
