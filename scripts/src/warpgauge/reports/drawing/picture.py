# SPDX-License-Identifier: Apache-2.0
"""What all pictures are made of: text, the element of a picture, and a file of one. Pure.

A picture has no id, no style and no address in it: several stand in one page, which has
`style.text()` once. The same data give the same bytes.
"""

from __future__ import annotations

from collections.abc import Iterable
from xml.sax.saxutils import escape, quoteattr

from warpgauge.reports.drawing import style
from warpgauge.system.text import cut, inert

LONGEST_NAME, LONGEST_TITLE, LONGEST_TOOLTIP = 60, 100, 400


def element(body: Iterable[str], width: float, height: float, label: str) -> str:
    """The picture for a page; `label` is what a screen reader says of it."""
    size = f'viewBox="0 0 {width:g} {height:g}" width="{width:g}" height="{height:g}"'
    spoken = quoteattr(cut(inert(label), LONGEST_TOOLTIP))
    paper = f'<rect class="wg-paper" width="{width:g}" height="{height:g}"/>'
    return "\n".join(
        [
            f'<svg xmlns="http://www.w3.org/2000/svg" class="wg-picture" {size} role="img" '
            f"aria-label={spoken}>",
            paper,
            *body,
            "</svg>\n",
        ]
    )


def document(picture: str, mark: str) -> str:
    """A file of one picture; by the `mark` a later run knows that it may replace it."""
    head, rest = picture.split("\n", 1)
    return (
        f'<?xml version="1.0" encoding="utf-8"?>\n<!-- {mark} -->\n'
        f"{head}\n<style>{style.text()}</style>\n{rest}"
    )


def text(x: float, y: float, words: str, kinds: str = "", more: str = "") -> str:
    """A line of text; `kinds` are classes of `style`: end, middle, bold, faint, a colour."""
    names = " ".join(f"wg-{one}" for one in ("text", *kinds.split()))
    return f'<text class="{names}" x="{x:.2f}" y="{y:.2f}"{more}>{escape(inert(words))}</text>'


def tooltip(words: str) -> str:
    """Of the shape that it stands in; nothing without words."""
    return f"<title>{escape(cut(inert(words), LONGEST_TOOLTIP))}</title>" if words else ""
