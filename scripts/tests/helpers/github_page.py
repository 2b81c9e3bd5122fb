# SPDX-License-Identifier: Apache-2.0
"""A comment as GitHub shows it: Markdown rendered by its own library, sanitised, in its layout.

`python scripts/tests/helpers/github_page.py COMMENT.md PICTURE.png [WIDTH]` takes a picture of one.
"""

from __future__ import annotations

import atexit
import base64
import html
import json
import os
import select
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable
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


class Browser:
    """One headless Chromium with a profile of its own, told what to do by DevTools messages."""

    def __init__(self) -> None:
        assert CHROMIUM is not None
        self._folder = tempfile.TemporaryDirectory()
        ours, theirs = os.pipe(), os.pipe()
        options = ["--headless", "--no-sandbox", "--disable-gpu", "--hide-scrollbars"]
        options += ["--disable-dev-shm-usage", f"--user-data-dir={self._folder.name}/profile"]
        options += ["--no-first-run", "--disable-extensions", "--disable-background-networking"]
        options += ["--host-resolver-rules=MAP * ~NOTFOUND", "--remote-debugging-pipe"]
        line = f'exec "$@" 3<&{ours[0]} 4>&{theirs[1]}'  # where Chromium looks for its pipes
        self._process = subprocess.Popen(
            ["bash", "-c", line, "bash", CHROMIUM, *options],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            pass_fds=(ours[0], theirs[1]),
        )
        os.close(ours[0])
        os.close(theirs[1])
        self._to, self._from, self._read = os.fdopen(ours[1], "wb"), theirs[0], b""
        self._sent, self._session = 0, ""
        target = self._ask("Target.createTarget", url="about:blank")["targetId"]
        attached = self._ask("Target.attachToTarget", targetId=target, flatten=True)
        self._session = attached["sessionId"]
        self._ask("Page.enable")
        atexit.register(self._end)

    def show(self, document: str, width: int = WIDTH, height: int = HEIGHT) -> None:
        """Load a page in a window of that size."""
        size = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": False}
        self._ask("Emulation.setDeviceMetricsOverride", **size)
        file = Path(self._folder.name, "page.html")
        file.write_text(document, encoding="utf-8")
        self._ask("Page.navigate", url=file.as_uri())
        self._until(lambda message: message.get("method") == "Page.loadEventFired")

    def value(self, expression: str) -> Any:  # noqa: ANN401
        """What some JavaScript is in the page."""
        told = self._ask("Runtime.evaluate", expression=expression, returnByValue=True)
        return told["result"]["value"]

    def picture(self) -> bytes:
        return base64.b64decode(self._ask("Page.captureScreenshot")["data"])

    def _ask(self, method: str, **parameters: object) -> dict[str, Any]:
        self._sent += 1
        message: dict[str, object] = {"id": self._sent, "method": method, "params": parameters}
        if self._session:
            message["sessionId"] = self._session
        self._to.write(json.dumps(message).encode() + b"\0")
        self._to.flush()
        told: dict[str, Any] = self._until(lambda one: one.get("id") == self._sent)["result"]
        return told

    def _until(self, wanted: Callable[[dict[str, Any]], bool]) -> dict[str, Any]:
        """The next message that is `wanted`."""
        while True:
            while b"\0" not in self._read:
                assert select.select([self._from], [], [], 60.0)[0], "Chromium does not answer"
                some = os.read(self._from, 1 << 16)
                assert some, "Chromium has gone"
                self._read += some
            text, _, self._read = self._read.partition(b"\0")
            message: dict[str, Any] = json.loads(text)
            if wanted(message):
                return message

    def _end(self) -> None:
        self._to.close()  # which ends it
        self._process.wait(10.0)
        os.close(self._from)
        self._folder.cleanup()


@cache
def browser() -> Browser:
    """The same for all that this process looks at."""
    return Browser()


def measured(markdown: str) -> Any:  # noqa: ANN401
    """What `_MEASURE` says of a comment in a window of 1280 x 900."""
    browser().show(page(markdown))
    return json.loads(browser().value("document.querySelector('#measured').textContent"))


if __name__ == "__main__":
    comment, picture, *size = sys.argv[1:]
    browser().show(page(Path(comment).read_text(encoding="utf-8")), *map(int, size))
    Path(picture).write_bytes(browser().picture())
