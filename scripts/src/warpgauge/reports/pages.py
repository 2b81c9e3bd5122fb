# SPDX-License-Identifier: Apache-2.0
"""Our pages: the document and its parts, and the pages of the nightly site. Pure.

All text is escaped, and a policy in each page allows only its own style and script.
"""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from html import escape
from pathlib import Path

from warpgauge.reports.drawing import picture
from warpgauge.system.text import LONGEST_TEXT, cut, inert, plural

_CSS = Path(__file__).parent / "report.css"
NUMBER = ' class="n"'  # of a cell: monospaced digits, aligned to the right


def document(title: str, body: str, head: str = "", script: str = "") -> str:
    """Return a page that loads nothing: its policy allows only its own style and script.

    `title` is text; `body` and `head` are our own markup.
    """
    style = f"{picture.style()}{_CSS.read_text(encoding='utf-8')}"
    sources = [f"script-src {hash_of(script)}"] if script else []
    sources = ["default-src 'none'", *sources, f"style-src {hash_of(style)}"]
    policy = "; ".join([*sources, "base-uri 'none'", "form-action 'none'"])
    scripts = f"<script>{script}</script>\n" if script else ""
    return (
        '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        f'<meta http-equiv="Content-Security-Policy" content="{escape(policy)}">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"{head}<title>{escape(title)}</title>\n<style>{style}</style>\n</head>\n"
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
    return escape(plain(text))


def breakable(text: str) -> str:
    """Return inert text that may wrap after a slash or a comma."""
    return escape(text).replace("/", "/<wbr>").replace(",", ",<wbr>")


def section(title: str, inner: str, count: int | None = None, more: str = "") -> str:
    """Return a section with its heading; `more` are attributes, and `inner` is markup."""
    number = "" if count is None else f' <span class="count">{count:,}</span>'
    return f"<section{more}>\n<h2>{shown(title)}{number}</h2>\n{inner}\n</section>"


def table(rows: Iterable[Sequence[str]], heads: Sequence[str], more: str = "") -> str:
    """Return a table of cells of markup; the first cell of a row is its heading."""
    lines = (
        f'<tr><th scope="row">{first}</th>{"".join(f"<td>{cell}</td>" for cell in rest)}</tr>'
        for first, *rest in rows
    )
    above = "".join(f'<th scope="col">{head}</th>' if head else "<td></td>" for head in heads)
    body = "\n".join(lines)
    return f"<table{more}>\n<thead><tr>{above}</tr></thead>\n<tbody>\n{body}</tbody>\n</table>"


def scrolled(label: str, content: str) -> str:
    """Return a region that scrolls by itself if wider than the page, also by the keyboard."""
    named = f'role="region" aria-label="{escape(plain(label))}"'
    return f'<div class="scroll" tabindex="0" {named}>\n{content}\n</div>'


REPORT, INDEX = "report.html", "index.html"


@dataclass(frozen=True)
class Gpu:
    """A row of the index. An empty `verdict` means no report; `nights` counts the history's."""

    slug: str
    name: str
    nights: int
    verdict: str = ""
    day: str = ""
    commit: str = ""
    run_url: str = ""


def index(gpus: Sequence[Gpu], gate: str = "") -> str:
    """Return the first page of the site; `gate` is markup of how often the gate errs."""
    inner = table(map(_row, gpus), ("GPU", "newest night", "pages"))
    return page("warpgauge: nightly results by GPU", f'<div class="wide">{inner}</div>{gate}')


def of_self_checks(heads: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Return the section of the kept self-checks; empty without any. Heads and cells are text."""
    cells = [tuple(map(_text, row)) for row in rows]
    if not cells:
        return ""
    shown = scrolled("Self-checks", table(cells, [*map(_text, heads)]))
    what = "A build compared with itself; in the candidate, most benchmarks do extra work."
    return section("How often the gate errs", f"<p>{what} 36/38: 36 of 38.</p>{shown}")


def of_gpu(gpu: Gpu, benchmarks: Mapping[str, int]) -> str:
    """Return a GPU's first page, with the number of `benchmarks` of each family."""
    report = f"{_newest(gpu)}: {_link(REPORT, 'report')}"
    newest = f"<p>Newest night: {report}</p>" if gpu.verdict else _NO_NIGHT
    families = "".join(
        f"<li>{_link(f'{family}.html', family)}, {plural(count, 'benchmark')}</li>"
        for family, count in sorted(benchmarks.items())
    )
    history = f"<h2>History</h2><ul>{families}</ul>" if families else ""
    return page(gpu.name, f"<p>{_link('../', 'all GPUs')}</p>{newest}{history}")


def of_family(gpu: Gpu, family: str, pictures: Iterable[str]) -> str:
    """Return the history of a family's benchmarks, one picture each."""
    shown = "\n".join(f'<div class="wide">{one}</div>' for one in pictures)
    return page(f"{gpu.name}: {family}", f"<p>{_link('./', gpu.name)}</p>\n{shown}")


def page(title: str, body: str) -> str:
    """Return a page; `body` is our own markup."""
    main = f"<main>\n<h1>{_text(title)}</h1>\n{body}\n</main>"
    return document(inert(title), main)


_NO_NIGHT = "<p>No report: none of the last nights has a result.</p>"


def _row(gpu: Gpu) -> tuple[str, ...]:
    pages = [_link(f"{gpu.slug}/{REPORT}", "report")] if gpu.verdict else []
    history = f"history of {plural(gpu.nights, 'night')}" if gpu.nights else "no history yet"
    pages += [_link(f"{gpu.slug}/", history)]
    return _text(gpu.name), _newest(gpu) if gpu.verdict else "no result", " · ".join(pages)


def _newest(gpu: Gpu) -> str:
    run = _link(gpu.run_url, gpu.day)
    return f"<strong>{_text(gpu.verdict)}</strong>, {run}, commit <code>{_text(gpu.commit)}</code>"


def _link(url: str, words: str) -> str:
    return f'<a href="{escape(url)}">{_text(words)}</a>'


def _text(words: str) -> str:
    return escape(inert(words))
