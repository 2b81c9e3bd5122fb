# SPDX-License-Identifier: Apache-2.0
"""A comparison as a picture of a terminal, on 100 columns."""

from __future__ import annotations

import io
import re
from collections.abc import Sequence

from rich.ansi import AnsiDecoder
from rich.console import Console
from rich.segment import Segment
from rich.style import Style

from warpgauge.reports.drawing import picture
from warpgauge.reports.drawing.picture import GAP, LINE, width_of
from warpgauge.reports.format import Format
from warpgauge.reports.formats import terminal
from warpgauge.reports.view import headline
from warpgauge.system.text import plain
from warpgauge.verdict.comparison import Comparison

# The picture's names for a terminal's red, green, yellow and cyan.
_COLOURS = {1: "slower", 2: "c2", 3: "c4", 6: "c5"}


def render(comparison: Comparison) -> str:
    """Return the SVG document of all that a terminal can show."""
    console = Console(record=True, width=100, file=io.StringIO(), force_terminal=True,
                      color_system="standard", highlight=False)  # fmt: skip
    terminal.render(comparison, console, verbose=True)
    shown = AnsiDecoder().decode(console.export_text(styles=True))
    lines = [[*line.render(console)] for line in shown]
    drawn = _screen(lines, plain(headline(comparison)))
    return picture.document(drawn, "warpgauge on a terminal")


def _screen(lines: Sequence[Sequence[Segment]], label: str) -> str:
    """Return the SVG element; `label` is for screen readers."""
    body, widest = [], 0.0
    for index, line in enumerate(lines):
        x, y = GAP, GAP + LINE * (index + 0.7)
        for segment in line:
            shown = segment.text.rstrip("\n")
            words = shown.strip(" ")
            at = x + width_of(shown) - width_of(shown.lstrip(" "))
            if words:
                # Keeps columns aligned in any font.
                length = f' textLength="{width_of(words):.2f}"'
                body.append(picture.text(at, y, words, _kinds(segment), length))
            x += width_of(shown)
        widest = max(widest, x)
    return picture.element(body, widest + GAP, 2 * GAP + LINE * len(lines), label)


def _kinds(segment: Segment) -> str:
    """Return the classes of `picture.text` for the segment's style."""
    look = segment.style or Style.null()
    colour = _COLOURS.get(look.color.number or 0, "") if look.color else ""
    return " ".join(filter(None, ("bold" if look.bold else "", "faint" if look.dim else colour)))


# At the start, because pages hold pictures.
_OWN = re.compile(rb"\A\s*(?:<\?xml[^>]*>\s*)?(?:<!--[^>]*-->\s*)?<svg\b")
FORMAT = Format("svg", render, "SVG", _OWN)
