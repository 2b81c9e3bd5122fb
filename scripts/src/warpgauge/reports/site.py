# SPDX-License-Identifier: Apache-2.0
"""The pages of the nightly site: the GPUs, and the history of each. Pure.

All text is escaped, and a policy in each page allows nothing but its own style.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from html import escape

from warpgauge.reports.drawing import style
from warpgauge.reports.html.markup import document
from warpgauge.system.text import inert, plural

REPORT, INDEX = "report.html", "index.html"

_STYLE = f"""\
:root{{color-scheme:light dark;--ink:#1f2328;--paper:#fff;--link:#0969da;--grid:#d8dce1}}
@media (prefers-color-scheme:dark){{:root{{--ink:#e6edf3;--paper:#0d1117;--link:#4493f8;\
--grid:#30363d}}}}
body{{max-width:72rem;margin:0 auto;padding:1rem;font:16px/1.5 system-ui,sans-serif;\
color:var(--ink);background:var(--paper)}}
a{{color:var(--link)}}
table{{border-collapse:collapse}}
th,td{{padding:.3rem 1rem .3rem 0;text-align:left;vertical-align:top;\
border-bottom:1px solid var(--grid)}}
.wide{{overflow-x:auto}}
{style.text()}"""


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


def index(gpus: Sequence[Gpu]) -> str:
    """Return the first page of the site."""
    head = "".join(f'<th scope="col">{one}</th>' for one in ("GPU", "newest night", "pages"))
    rows = "".join(map(_row, gpus))
    table = f"<table><thead><tr>{head}</tr></thead><tbody>{rows}</tbody></table>"
    return page("warpgauge: nightly results by GPU", f'<div class="wide">{table}</div>')


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
    return document(inert(title), _STYLE, main)


_NO_NIGHT = "<p>No report: none of the last nights has a result.</p>"


def _row(gpu: Gpu) -> str:
    newest = _newest(gpu) if gpu.verdict else "no result"
    pages = [_link(f"{gpu.slug}/{REPORT}", "report")] if gpu.verdict else []
    history = f"history of {plural(gpu.nights, 'night')}" if gpu.nights else "no history yet"
    pages += [_link(f"{gpu.slug}/", history)]
    name = f'<th scope="row">{_text(gpu.name)}</th>'
    return f"<tr>{name}<td>{newest}</td><td>{' · '.join(pages)}</td></tr>"


def _newest(gpu: Gpu) -> str:
    run = _link(gpu.run_url, gpu.day)
    return f"<strong>{_text(gpu.verdict)}</strong>, {run}, commit <code>{_text(gpu.commit)}</code>"


def _link(url: str, words: str) -> str:
    return f'<a href="{escape(url)}">{_text(words)}</a>'


def _text(words: str) -> str:
    return escape(inert(words))
