# SPDX-License-Identifier: Apache-2.0
"""A comment as GitHub shows it: Markdown rendered by its own library, sanitised, in its layout."""

from __future__ import annotations

import html
import json
import shutil
import subprocess
import tempfile
from functools import cache
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import cmarkgfm
from cmarkgfm.cmark import Options

CHROMIUM = shutil.which("chromium")
WIDTH, HEIGHT = 1280, 900

# Of the elements that GitHub lets through, those that Markdown and our own folds may make; the
# others would be a stranger's.
_ELEMENTS = frozenset(
    "p br hr h1 h2 h3 h4 h5 h6 strong em del code pre a img ul ol li blockquote input"
    " table thead tbody tr th td details summary wbr".split()
)
_ATTRIBUTES = frozenset("href src alt align title open type checked disabled".split())
_SWALLOWED = ("script", "style", "textarea", "iframe")

# What github.com gives a comment: its letters, its tables and the width that a pull request leaves.
_STYLE = """
body { margin: 0; background: #fff; color: #1f2328; font: 14px/1.5 -apple-system,
  BlinkMacSystemFont, "Segoe UI", "Noto Sans", Helvetica, Arial, sans-serif; }
main { margin: 24px; padding: 16px; border: 1px solid #d1d9e0; border-radius: 6px;
  max-width: min(792px, 100vw - 340px); box-sizing: content-box; overflow-wrap: break-word; }
p, ul, table, pre, details { margin: 0 0 16px; }
ul { padding-left: 2em; }
code, pre { font-family: ui-monospace, SFMono-Regular, "SF Mono", Menlo, Consolas,
  "Liberation Mono", monospace; font-size: 85%; }
code { padding: .2em .4em; background: #818b981f; border-radius: 6px; white-space: break-spaces; }
pre { padding: 16px; overflow: auto; line-height: 1.45; background: #f6f8fa; border-radius: 6px; }
pre code { padding: 0; background: none; font-size: 100%; white-space: pre; }
table { display: block; width: max-content; max-width: 100%; overflow: auto;
  border-collapse: collapse; font-variant: tabular-nums; }
th, td { padding: 6px 13px; border: 1px solid #d1d9e0; }
th { font-weight: 600; }
tr:nth-child(2n) { background: #f6f8fa; }
summary { cursor: pointer; }
"""

# Says of the comment what it consists of and where it stands. Ours, and outside of it.
_MEASURE = """
const box = one => { const r = one.getBoundingClientRect();
  return {text: one.textContent, left: r.left, top: r.top, right: r.right, bottom: r.bottom,
          seen: one.checkVisibility() && r.width > 0 && r.height > 0}; };
const comment = document.querySelector('main');
const all = [...comment.querySelectorAll('*')];
const words = document.createTreeWalker(comment, NodeFilter.SHOW_TEXT);
const loose = [];
while (words.nextNode())
  if (!words.currentNode.parentElement.closest('code')) loose.push(words.currentNode.data);
document.querySelector('#measured').textContent = JSON.stringify({
  window: [innerWidth, innerHeight],
  elements: [...new Set(all.map(one => one.localName))],
  attributes: [...new Set(all.flatMap(one => one.getAttributeNames()))],
  tables: [...comment.querySelectorAll('table')].map(
    table => [...table.rows].map(row => row.cells.length)),
  rows: [...comment.querySelectorAll('tbody tr')].map(box),
  bottom: comment.getBoundingClientRect().bottom,
  wide: [document.documentElement, ...comment.querySelectorAll('table, pre')]
    .filter(one => one.scrollWidth > one.clientWidth && one.clientWidth).map(one => one.localName),
  loose: loose.join(' '),
  folds: comment.querySelectorAll('details').length,
});
"""


class _Sanitised(HTMLParser):
    """Lets through what GitHub does, and no other tag."""

    def __init__(self) -> None:
        super().__init__()
        self.kept: list[str] = []
        self._inside = ""

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        if tag in _SWALLOWED:
            self._inside = tag
        elif tag in _ELEMENTS:
            kept = "".join(
                f' {name}="{html.escape(value or "")}"'
                for name, value in attributes
                if name in _ATTRIBUTES and not (value or "").lower().startswith("javascript")
            )
            self.kept.append(f"<{tag}{kept}>")

    def handle_endtag(self, tag: str) -> None:
        if tag == self._inside:
            self._inside = ""
        elif tag in _ELEMENTS:
            self.kept.append(f"</{tag}>")

    def handle_data(self, data: str) -> None:
        self.kept += [] if self._inside else [html.escape(data, quote=False)]


def page(markdown: str) -> str:
    """A page of nothing but the comment, and what measures it."""
    parser = _Sanitised()
    parser.feed(cmarkgfm.github_flavored_markdown_to_html(markdown, Options.CMARK_OPT_UNSAFE))
    parser.close()
    return (
        f'<!doctype html><meta charset="utf-8"><style>{_STYLE}</style>'
        f'<main>{"".join(parser.kept)}</main><pre id="measured"></pre>'
        f"<script>{_MEASURE}</script>"
    )


@cache
def measured(markdown: str) -> Any:  # noqa: ANN401
    """What `_MEASURE` says of a comment in a window of 1280 x 900."""
    assert CHROMIUM is not None
    options = ["--headless", "--no-sandbox", "--disable-gpu", "--hide-scrollbars", "--no-first-run"]
    options += [
        "--disable-dev-shm-usage",
        "--disable-extensions",
        f"--window-size={WIDTH},{HEIGHT}",
    ]
    options += ["--disable-background-networking", "--host-resolver-rules=MAP * ~NOTFOUND"]
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        file = Path(folder, "page.html")
        file.write_text(page(markdown), encoding="utf-8")
        options += [f"--user-data-dir={folder}/profile", "--dump-dom", file.as_uri()]
        done = subprocess.run([CHROMIUM, *options], capture_output=True, timeout=60.0, check=True)
    text = done.stdout.decode().rpartition('<pre id="measured">')[2].partition("</pre>")[0]
    return json.loads(html.unescape(text))
