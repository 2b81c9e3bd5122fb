# SPDX-License-Identifier: Apache-2.0
"""What a terminal shows, as a picture: lines of words in their colours. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from warpgauge.reports.drawing import picture
from warpgauge.reports.drawing.picture import GAP, text
from warpgauge.reports.drawing.style import LINE


@dataclass(frozen=True)
class Words:
    """Inert, of one look: `kinds` are as those of `picture.text`."""

    text: str
    kinds: str = ""


def drawn(lines: Sequence[Sequence[Words]], label: str) -> str:
    """The element; `label` is what a screen reader says of it."""
    body, widest = [], 0.0
    for index, line in enumerate(lines):
        x, y = GAP, GAP + LINE * (index + 0.7)
        for one in line:
            words = one.text.strip(" ")
            at = x + picture.width_of(one.text) - picture.width_of(one.text.lstrip(" "))
            if words:
                # So that columns stand below each other, whatever letters a browser has.
                length = f' textLength="{picture.width_of(words):.2f}"'
                body.append(text(at, y, words, one.kinds, length))
            x += picture.width_of(one.text)
        widest = max(widest, x)
    return picture.element(body, widest + GAP, 2 * GAP + LINE * len(lines), label)
