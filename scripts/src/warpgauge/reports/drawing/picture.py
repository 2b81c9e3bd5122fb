# SPDX-License-Identifier: Apache-2.0
"""The parts of all pictures: texts, marks, a legend, the element, SVG and PNG files.

A picture has no id, style or address, because a page holds several and has `style.text()` once.
The same data give the same bytes.
"""

from __future__ import annotations

import math
import struct
import zlib
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from unicodedata import east_asian_width
from xml.sax.saxutils import escape, quoteattr

from warpgauge.reports.drawing import style
from warpgauge.reports.drawing.style import LETTER, LINE
from warpgauge.system.text import inert

GAP = 16.0
LONGEST_NAME, _LONGEST_TITLE, _LONGEST_TOOLTIP = 60, 160, 400

_SHAPES = ("M-4 0a4 4 0 1 0 8 0a4 4 0 1 0-8 0z", "M-3.5-3.5h7v7h-7z", "M0-5L5 0 0 5-5 0z",
           "M0-4.5L4.5 3.5h-9z", "M0 4.5L4.5-3.5h-9z")  # fmt: skip
CIRCLE, SQUARE, DIAMOND = _SHAPES[:3]

# The package that `png` imports.
PNG_PACKAGE = "resvg_py"

# Pixels of the PNG per pixel of the picture.
_SCALE = 2.0

# DejaVu Sans Mono 2.37 with the letters up to U+017F and the signs of the pictures, made by
#   pyftsubset DejaVuSansMono.ttf --no-hinting --layout-features= --drop-tables+=FFTM
#     --unicodes=20-7e,a0-17f,2013,2014,2018-201d,2022,2026,2190-2193,2212,2264,2265,394,3bc
_FONT = Path(__file__).parent / "letters.ttf"
_FAMILY = "DejaVu Sans Mono"

# Bytes of the signature and of the first chunk: its length, name, 13 bytes and checksum.
_HEAD = 8 + 4 + 4 + 13 + 4


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
    return f'<?xml version="1.0" encoding="utf-8"?>\n<!-- {mark} -->\n{styled(picture)}'


def styled(picture: str, rules: str = "") -> str:
    """Return the picture with a style; `rules` replaces that for light and dark pages."""
    head, rest = picture.split("\n", 1)
    return f"{head}\n<style>{rules or style.text()}</style>\n{rest}"


def png(picture: str, title: str) -> bytes:
    """Return a light PNG, the same bytes on any machine; `title` is its metadata."""
    import resvg_py

    image = resvg_py.svg_to_bytes(
        svg_string=styled(picture, style.plain_text()),
        zoom=_SCALE,
        skip_system_fonts=True,
        font_files=[str(_FONT)],
        monospace_family=_FAMILY,
    )
    data = b"tEXtTitle\0" + title.encode("latin-1")
    chunk = struct.pack(">I", len(data) - 4) + data + struct.pack(">I", zlib.crc32(data))
    return image[:_HEAD] + chunk + image[_HEAD:]


def text(x: float, y: float, words: str, kinds: str = "", more: str = "") -> str:
    """Return a line of text; `kinds` are classes of `style`: end, middle, bold, or a colour."""
    kind = _classes(f"text {kinds}")
    return f'<text class="{kind}" x="{x:.2f}" y="{y:.2f}"{more}>{escape(inert(words))}</text>'


def shape(tag: str, kinds: str, attributes: str, told: str = "") -> str:
    """Return any element but text; `told` is its tooltip."""
    inside = f"<title>{escape(shortened(told, _LONGEST_TOOLTIP))}</title>" if told else ""
    end = f">{inside}</{tag}>" if inside else "/>"
    return f'<{tag} class="{_classes(kinds)}" {attributes}{end}'


def mark(x: float, y: float, kinds: str, path: str = CIRCLE, told: str = "") -> str:
    return shape("path", kinds, f'transform="translate({x:.2f},{y:.2f})" d="{path}"', told)


def rect(kinds: str, x: float, y: float, width: float, height: float, told: str = "") -> str:
    place = f'x="{x:.2f}" y="{y:.2f}" width="{width:.2f}" height="{height:.2f}"'
    return shape("rect", kinds, place, told)


def title(words: str, x: float) -> str:
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


def marker(colour: int | None) -> str:
    """Return the shape of a mark, which changes each time the colours repeat."""
    return _SHAPES[(colour or 0) // style.COLOURS % len(_SHAPES)]


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
            ends = f'points="{x:.2f},{y:.2f} {x + 26:.2f},{y:.2f}"'
            yield shape("polyline", self.line, ends)
        if self.path:
            yield mark(x + (self._words_at - 8) / 2, y, self.kinds, self.path)
        elif not self.line:
            yield rect(self.kinds, x, y - 6, 26, 12)
        yield text(x + self._words_at, y + 4, shortened(self.name))


def column(signs: Sequence[Sign], x: float, y: float) -> Iterator[str]:
    """Yield a legend as a column that starts at the height `y`."""
    for index, one in enumerate(signs):
        yield from one.drawn(x, y + LINE * (index + 0.5))


def rows(signs: Sequence[Sign], width: float) -> list[list[Sign]]:
    """Split a legend into lines of at most `width`, unless one sign is wider."""
    found: list[list[Sign]] = []
    room = 0.0
    for one in signs:
        if not found or one.width > room:
            found.append([])
            room = width
        found[-1].append(one)
        room -= one.width + GAP
    return found


def lines(signs: Sequence[Sequence[Sign]], x: float, y: float) -> Iterator[str]:
    """Yield the lines of a legend (`rows`), starting at the height `y`."""
    for index, line in enumerate(signs):
        at = x
        for one in line:
            yield from one.drawn(at, y + LINE * (index + 0.5))
            at += one.width + GAP
