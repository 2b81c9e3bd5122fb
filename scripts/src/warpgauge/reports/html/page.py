# SPDX-License-Identifier: Apache-2.0
"""The page of a comparison: the verdict first, what changed, then every row.

The page is complete without the script, which searches, sorts and opens a row's own page. A policy
in the page allows only its one style and its one script. Foreign text is inert.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from types import MappingProxyType

from warpgauge.reports import headline
from warpgauge.reports.advice import next_step
from warpgauge.reports.decision_text import sentences
from warpgauge.reports.drawing import style
from warpgauge.reports.drawing.course import Course
from warpgauge.reports.html import pictures
from warpgauge.reports.html.markup import breakable, document, heading, plain, scrolled, shown
from warpgauge.reports.html.rows import Rows
from warpgauge.reports.provenance import differences_beside, gpu_name, side, told_values
from warpgauge.reports.workflow_commands import check_word
from warpgauge.verdict.comparison import Comparison, exit_status

# A later run replaces only files that contain it.
MARK = "warpgauge comparison"

_NO_HISTORIES: Mapping[str, Course] = MappingProxyType({})


def render(comparison: Comparison, *, histories: Mapping[str, Course] = _NO_HISTORIES) -> str:
    """Return the file's text. `histories` are courses over the nights by benchmark name."""
    rows = Rows(comparison)
    rules, script = f"{style.text()}{_file('report.css')}", _file("report.js")
    word, line = check_word(exit_status(comparison)), str(headline.headline(comparison))
    views = [
        *_top(comparison, word, line),
        *rows.changed(),
        *rows.folds(),
        *rows.table(),
        *pictures.sweeps(comparison),
        *pictures.roofline(comparison),
        *pictures.histories(rows.verdicts, histories),
        *_compared(comparison),
        *_notes(comparison),
    ]
    head = (
        f'<meta name="generator" content="{MARK}">\n<meta name="referrer" content="no-referrer">\n'
        '<meta name="color-scheme" content="light dark">\n'
    )
    main = "\n".join(filter(None, views))
    body = (
        f'<a class="skip" href="#rows">Skip to all benchmarks</a>\n<main>\n{main}\n</main>\n'
        f'<script type="application/json" id="data">{rows.data()}</script>'
    )
    return document(f"{word}: {plain(line)}", rules, body, head, script)


def _file(name: str) -> str:
    return (Path(__file__).parent / name).read_text(encoding="utf-8")


def _top(comparison: Comparison, word: str, line: str) -> Iterator[str]:
    status, gpu = exit_status(comparison), gpu_name(comparison.candidate)
    kind = word.split()[0].lower()
    yield f'<header>\n<h1><span class="badge {kind}">{word}</span> {shown(line)}</h1>'
    told = [*filter(None, (gpu and f"On {gpu}.", headline.how_found(comparison)))]
    yield f"<p>{shown(' '.join(told))}</p>" if told else ""
    yield (
        f'<p class="faint">Exit status {status:d}: {headline.EXIT_MEANINGS[status]}.</p>\n</header>'
    )


def _compared(comparison: Comparison) -> Iterator[str]:
    differences = differences_beside(comparison)
    lines = [("compared", side(comparison.baseline), side(comparison.candidate))]
    lines += [(one.key, *told_values(one)) for one in differences]
    body = "\n".join(
        f'<tr><th scope="row">{shown(key)}</th>'
        + "".join(f"<td>{breakable(plain(text))}</td>" for text in (before, after))
        + "</tr>"
        for key, before, after in lines
    )
    title = "Differences between the environments"
    table = (
        '<table class="sides">\n<thead><tr><td></td><th scope="col">baseline</th>'
        f'<th scope="col">candidate</th></tr></thead>\n<tbody>\n{body}</tbody>\n</table>'
    )
    yield f"<section>\n{heading(title, len(differences))}\n{scrolled(title, table)}\n</section>"


def _notes(comparison: Comparison) -> Iterator[str]:
    told = [*map(str, comparison.every_note), sentences(comparison)]
    told += [" ".join(map(str, next_step(comparison)))]
    items = [f"<li>{shown(one)}</li>" for one in told if one]
    if items:
        title = "Notes" if len(items) > 1 else "Note"
        yield f"<section>\n{heading(title)}\n<ul>\n{chr(10).join(items)}\n</ul>\n</section>"
