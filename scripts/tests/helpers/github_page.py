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
# A window that many have, less what the browser and GitHub's own head take of its height.
WIDTH, HEIGHT = 1000, 800

# Of the elements that GitHub lets through, those that Markdown and our own folds may make; the
# others would be a stranger's.
_ELEMENTS = frozenset(
    "p br hr h1 h2 h3 h4 h5 h6 strong em del code pre a img ul ol li blockquote input"
    " table thead tbody tr th td details summary".split()
)
_ATTRIBUTES = frozenset("href src alt align title open type checked disabled".split())
_SWALLOWED = ("script", "style", "textarea", "iframe")

# What github.com gives a comment: its letters, its tables and the width that a pull request leaves.
_STYLE = """
body { margin: 0; background: #fff; color: #1f2328; font: 14px/1.5 -apple-system,
  BlinkMacSystemFont, "Segoe UI", "Noto Sans", Helvetica, Arial, sans-serif; }
main { margin: 24px; padding: 16px; border: 1px solid #d1d9e0; border-radius: 6px;
  width: min(792px, 100vw - 374px); box-sizing: content-box; overflow-wrap: break-word; }
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

# Says of each comment what it consists of and where that stands in it. Ours, and outside of it.
_MEASURE = """
const measure = comment => {
  const edge = comment.getBoundingClientRect();
  const box = one => { const r = one.getBoundingClientRect();
    return {text: one.innerText || one.textContent, left: r.left - edge.left, top: r.top - edge.top,
            right: r.right - edge.left, bottom: r.bottom - edge.top, lines: lines(one),
            seen: one.checkVisibility() && r.width > 0 && r.height > 0}; };
  const texts = one => { const found = document.createTreeWalker(one, NodeFilter.SHOW_TEXT);
    const all = []; while (found.nextNode()) all.push(found.currentNode); return all; };
  // Letters of two sizes on one line do not begin at quite the same height.
  const lines = one => { const range = document.createRange(); let count = 0, last = -99;
    for (const text of texts(one)) { range.selectNode(text);
      for (const r of range.getClientRects()) if (r.top > last + 8) { count++; last = r.top; } }
    return count; };
  const all = [...comment.querySelectorAll('*')];
  const wide = kind => [document.documentElement, comment, ...comment.querySelectorAll(kind)]
    .filter(one => one.scrollWidth > one.clientWidth && one.clientWidth).map(one => one.localName);
  const found = {
    elements: [...new Set(all.map(one => one.localName))],
    attributes: [...new Set(all.flatMap(one => one.getAttributeNames()))],
    tables: [...comment.querySelectorAll('table')].map(
      table => [...table.rows].map(row => row.cells.length)),
    first: box(comment.querySelector('p')),
    rows: [...comment.querySelectorAll('tbody tr')].map(
      row => ({...box(row), cells: [...row.cells].map(box)})),
    wide: wide('table, pre'),
    links: [...comment.querySelectorAll('a')].map(one => one.getAttribute('href')),
    loose: texts(comment).filter(one => !one.parentElement.closest('code'))
      .map(one => one.data).join(' '),
    folds: comment.querySelectorAll('details').length,
    first_screen: [...comment.querySelectorAll('p, li, tr, summary')].map(box)
      .filter(one => one.seen && one.bottom <= innerHeight).map(one => one.text).join('\\n'),
  };
  comment.querySelectorAll('details').forEach(one => one.open = true);
  found.wide_unfolded = wide('table');
  return found;
};
document.querySelector('#measured').textContent = JSON.stringify(
  {window: [innerWidth, innerHeight],
   comments: [...document.querySelectorAll('main')].map(measure)});
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


def _shown(markdown: str) -> str:
    # GitHub ends a line where a comment's text does.
    options = Options.CMARK_OPT_UNSAFE | Options.CMARK_OPT_HARDBREAKS
    parser = _Sanitised()
    parser.feed(cmarkgfm.github_flavored_markdown_to_html(markdown, options))
    parser.close()
    return f"<main>{''.join(parser.kept)}</main>"


def page(*comments: str) -> str:
    """A page of nothing but these comments, and what measures them."""
    return (
        f'<!doctype html><meta charset="utf-8"><style>{_STYLE}</style>'
        f'{"".join(map(_shown, comments))}<pre id="measured"></pre><script>{_MEASURE}</script>'
    )


@cache
def measured(*comments: str) -> Any:  # noqa: ANN401
    """What `_MEASURE` says of each comment, all seen in one window of `WIDTH` pixels."""
    text = str(browsed(page(*comments), "--dump-dom"))
    found = json.loads(
        html.unescape(text.rpartition('<pre id="measured">')[2].partition("</pre>")[0])
    )
    assert found["window"][0] == WIDTH
    return found["comments"]


def browsed(content: str, *options: str, fragment: str = "") -> str:
    """What Chromium prints of a page, called with the `fragment` of its address."""
    assert CHROMIUM is not None
    common = ["--headless", "--no-sandbox", "--disable-gpu", "--hide-scrollbars", "--no-first-run"]
    common += ["--disable-dev-shm-usage", "--disable-extensions"]
    common += [f"--window-size={WIDTH},{HEIGHT}"]
    common += ["--disable-background-networking", "--host-resolver-rules=MAP * ~NOTFOUND"]
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        file = Path(folder, "page.html")
        file.write_text(content, encoding="utf-8")
        common += [f"--user-data-dir={folder}/profile", *options, f"{file.as_uri()}{fragment}"]
        done = subprocess.run([CHROMIUM, *common], capture_output=True, timeout=600.0, check=True)
    return done.stdout.decode()
