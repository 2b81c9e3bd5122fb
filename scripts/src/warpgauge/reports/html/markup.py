# SPDX-License-Identifier: Apache-2.0
"""The parts of our pages: the document, inert text of readable length, headings, regions."""

from __future__ import annotations

import base64
import hashlib
import html

from warpgauge.system.text import LONGEST_TEXT, cut, inert

NUMBER = ' class="n"'  # of a cell: monospaced digits, aligned to the right


def document(title: str, style: str, body: str, head: str = "", script: str = "") -> str:
    """Return a page that loads nothing: its policy allows only its own style and script.

    `title` is text; `body` and `head` are our own markup.
    """
    sources = [f"script-src {hash_of(script)}"] if script else []
    sources = ["default-src 'none'", *sources, f"style-src {hash_of(style)}"]
    policy = "; ".join([*sources, "base-uri 'none'", "form-action 'none'"])
    scripts = f"<script>{script}</script>\n" if script else ""
    return (
        '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        f'<meta http-equiv="Content-Security-Policy" content="{html.escape(policy)}">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"{head}<title>{html.escape(title)}</title>\n<style>{style}</style>\n</head>\n"
        f"<body>\n{body}\n{scripts}</body>\n</html>\n"
    )


def hash_of(text: str) -> str:
    """Return the hash that a policy uses to allow a style or a script."""
    digest = hashlib.sha256(text.encode()).digest()
    return f"'sha256-{base64.b64encode(digest).decode()}'"


def plain(text: str) -> str:
    """Return inert text of readable length, not yet escaped."""
    return cut(inert(cut(text, LONGEST_TEXT)), LONGEST_TEXT)


def shown(text: str) -> str:
    return html.escape(plain(text))


def breakable(text: str) -> str:
    """Return inert text that may wrap after a slash or a comma."""
    return html.escape(text).replace("/", "/<wbr>").replace(",", ",<wbr>")


def heading(title: str, count: int | None = None) -> str:
    number = "" if count is None else f' <span class="count">{count:,}</span>'
    return f"<h2>{shown(title)}{number}</h2>"


def scrolled(label: str, content: str) -> str:
    """Return a region that scrolls by itself if wider than the page, also by the keyboard."""
    named = f'role="region" aria-label="{html.escape(plain(label))}"'
    return f'<div class="scroll" tabindex="0" {named}>\n{content}\n</div>'
