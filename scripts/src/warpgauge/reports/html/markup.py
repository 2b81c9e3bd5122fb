# SPDX-License-Identifier: Apache-2.0
"""What the views of the page are made of: inert text of a length to read, headings, regions."""

from __future__ import annotations

import html

from warpgauge.system.text import LONGEST_TEXT, cut, inert

NUMBER = ' class="n"'  # of a cell: digits of one width, at the right


def plain(text: str) -> str:
    """Not yet escaped."""
    return cut(inert(cut(text, LONGEST_TEXT)), LONGEST_TEXT)


def shown(text: str) -> str:
    return html.escape(plain(text))


def breakable(text: str) -> str:
    """Inert text that may go on in the next line behind a slash or a comma."""
    return html.escape(text).replace("/", "/<wbr>").replace(",", ",<wbr>")


def heading(title: str, count: int | None = None) -> str:
    number = "" if count is None else f' <span class="count">{count:,}</span>'
    return f"<h2>{shown(title)}{number}</h2>"


def scrolled(label: str, content: str) -> str:
    """What may be wider than the page scrolls alone, by the keyboard, too."""
    named = f'role="region" aria-label="{html.escape(plain(label))}"'
    return f'<div class="scroll" tabindex="0" {named}>\n{content}\n</div>'
