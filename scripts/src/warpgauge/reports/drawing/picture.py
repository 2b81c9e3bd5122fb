# SPDX-License-Identifier: Apache-2.0
"""What all pictures share: the style, widths of texts, marks, axes, SVG files. Pure.

Each `drawn` of a module returns an SVG element for a page, and `document` makes a file of it. A
picture has no id and no style, because a page holds several and has `style()` once. The same data
give the same bytes.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from rich.cells import cell_len, set_cell_size

from warpgauge.system.text import inert

# The width of a letter of 12 pixels' size and the height of a line, in pixels, as are all
# coordinates. The font is monospaced, so that texts fit in any browser.
LETTER, LINE = 7.5, 20

# The one stylesheet of all pages and pictures. Its colours are for light and dark paper, and
# colour-blind readers can tell those of series apart (Okabe, Ito).
_CSS = Path(__file__).parents[1] / "report.css"
_SERIES = 8  # the colours c0 to c7

GAP = 16.0
LONGEST_NAME, LONGEST_TITLE = 60, 160
_MARKS = ("M-4 0a4 4 0 1 0 8 0a4 4 0 1 0-8 0z", "M-3.5-3.5h7v7h-7z", "M0-5L5 0 0 5-5 0z",
          "M0-4.5L4.5 3.5h-9z", "M0 4.5L4.5-3.5h-9z")  # fmt: skip


@cache
def style() -> str:
    """Return the style, needed once in a page or in a picture's file."""
    return _CSS.read_text(encoding="utf-8")


def series(colour: int | None) -> str:
    """Return the class of a series' colour; colours repeat, and None is that of the text."""
    return "ink" if colour is None else f"c{colour % _SERIES}"


def marker(colour: int | None) -> str:
    """Return the shape of a mark, which changes each time the colours repeat."""
    return _MARKS[(colour or 0) // _SERIES % len(_MARKS)]


def document(picture: str, mark: str) -> str:
    """Return a file of one picture; the `mark` tells a later run that it may replace the file."""
    head, rest = picture.split("\n", 1)
    above = f'<?xml version="1.0" encoding="utf-8"?>\n<!-- {mark} -->\n{head}'
    return f"{above}\n<style>{style()}</style>\n{rest}"


def title_width(words: str) -> float:
    # Bold letters are slightly wider if a browser has no monospaced font for them.
    return 1.1 * width_of(shortened(words, LONGEST_TITLE))


def shortened(words: str, longest: int = LONGEST_NAME) -> str:
    """Return inert text of at most `longest` letters; wide East Asian ones count as two."""
    shown = inert(words[: longest + 1])
    return shown if cell_len(shown) <= longest else f"{set_cell_size(shown, longest).rstrip()}…"


def width_of(words: str) -> float:
    """Return the width of inert text in pixels."""
    return LETTER * cell_len(words)


def classes(kinds: str) -> str:
    """Return the classes of `style` for these kinds."""
    return " ".join(f"wg-{kind}" for kind in kinds.split())


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
