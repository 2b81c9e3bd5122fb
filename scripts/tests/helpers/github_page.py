# SPDX-License-Identifier: Apache-2.0
"""A comment as GitHub shows it: Markdown rendered by its own library, sanitised, in its layout.

`python scripts/tests/helpers/github_page.py COMMENT.md PICTURE.png [WIDTH]` takes a picture of one.
"""

from __future__ import annotations

import html
import json
import shutil
import subprocess
import sys
import tempfile
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
        super().__init__(convert_charrefs=False)
        self.kept: list[str] = []
        self._inside = ""

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        if tag in _SWALLOWED:
            self._inside = tag
        elif tag in _ELEMENTS:
            told = "".join(
                f' {name}="{html.escape(value or "")}"'
                for name, value in attributes
                if name in _ATTRIBUTES and not (value or "").lower().startswith("javascript")
            )
            self.kept.append(f"<{tag}{told}>")

    def handle_endtag(self, tag: str) -> None:
        if tag == self._inside:
            self._inside = ""
        elif tag in _ELEMENTS:
            self.kept.append(f"</{tag}>")

    def handle_data(self, data: str) -> None:
        self.kept += [] if self._inside else [data]

    def handle_entityref(self, name: str) -> None:
        self.handle_data(f"&{name};")

    def handle_charref(self, name: str) -> None:
        self.handle_data(f"&#{name};")


def page(markdown: str) -> str:
    """A page of nothing but the comment, and what measures it."""
    parser = _Sanitised()
    parser.feed(cmarkgfm.github_flavored_markdown_to_html(markdown, Options.CMARK_OPT_UNSAFE))
    parser.close()
    return (
        f'<!doctype html><meta charset="utf-8"><style>{_STYLE}</style>'
        f'<main>{"".join(parser.kept)}</main><pre id="measured" hidden></pre>'
        f"<script>{_MEASURE}</script>"
    )


def browser(document: str, *options: str, width: int = WIDTH, height: int = HEIGHT) -> str:
    """What headless Chromium prints of a page, in a profile of its own, within a minute."""
    assert CHROMIUM is not None
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder, "page.html")
        file.write_text(document, encoding="utf-8")
        command = [CHROMIUM, "--headless", "--no-sandbox", "--disable-gpu", "--hide-scrollbars"]
        command += ["--disable-dev-shm-usage", f"--user-data-dir={folder}/profile"]
        command += [f"--window-size={width},{height}", "--no-first-run", "--disable-extensions"]
        command += ["--host-resolver-rules=MAP * ~NOTFOUND", "--disable-background-networking"]
        done = subprocess.run(
            [*command, *options, file.as_uri()],
            capture_output=True,
            text=True,
            timeout=60,
            check=True,
            stdin=subprocess.DEVNULL,
        )
    return done.stdout


def measured(markdown: str) -> Any:  # noqa: ANN401
    """What `_MEASURE` says of a comment in a window of 1280 x 900."""
    shown = browser(page(markdown), "--dump-dom")
    begin = shown.rindex('<pre id="measured" hidden="">') + len('<pre id="measured" hidden="">')
    return json.loads(html.unescape(shown[begin : shown.index("</pre>", begin)]))


if __name__ == "__main__":
    comment, picture, *size = sys.argv[1:]
    browser(
        page(Path(comment).read_text(encoding="utf-8")),
        f"--screenshot={Path(picture).resolve()}",
        width=int(size[0]) if size else WIDTH,
        height=int(size[1]) if size[1:] else HEIGHT,
    )
