# SPDX-License-Identifier: Apache-2.0
"""The page of a comparison: the verdict first, what changed by cause, then every row.

The page is complete without the script, which searches, sorts and opens a row's own page. A policy
in the page allows only its one style and its one script. Foreign text is inert.
"""

from __future__ import annotations

import html
import json
import math
import re
from collections.abc import Iterable, Iterator, Mapping
from itertools import chain, count, groupby
from pathlib import Path
from types import MappingProxyType
from urllib.parse import quote

from warpgauge.records.counters import RESOURCES
from warpgauge.reports import pictures
from warpgauge.reports.advice import next_step
from warpgauge.reports.drawing.course import Course
from warpgauge.reports.format import Format
from warpgauge.reports.formats import intervals
from warpgauge.reports.pages import (
    NUMBER,
    breakable,
    document,
    plain,
    scrolled,
    section,
    shown,
    table,
)
from warpgauge.reports.view import (
    CONTROL,
    EXIT_MEANINGS,
    WITHIN,
    Group,
    Row,
    View,
    differences_beside,
    gpu_name,
    headline,
    how_found,
    rank,
    rule,
    side,
)
from warpgauge.system import text
from warpgauge.verdict.comparison import KERNEL, Comparison, exit_status
from warpgauge.verdict.note import RECORDED

# A later run replaces only files that contain it.
MARK = "warpgauge comparison"

_OF_A_GROUP = 20  # rows of a cause shown above the table
_MOST_MOVED = 60  # table lines per row of what moved
_DIGITS = 6  # significant digits of numbers; they are drawn or shown with four

_HEADINGS = ("verdict", "benchmark", "baseline", "candidate", "change", "95 % interval",
             "at most", "of limit")  # fmt: skip
_NUMBERS_FROM = 2
_KEY = '<p class="faint">Dot: change. Line: its 95 % interval. Grey: the tolerance.</p>'

# Characters that could end a script element, or begin markup in it.
_ESCAPES = str.maketrans({char: f"\\u{ord(char):04x}" for char in "<>&"})

_NO_HISTORIES: Mapping[str, Course] = MappingProxyType({})

_HEAD = (
    f'<meta name="generator" content="{MARK}">\n<meta name="referrer" content="no-referrer">\n'
    '<meta name="color-scheme" content="light dark">\n'
)


def render(comparison: Comparison, *, histories: Mapping[str, Course] = _NO_HISTORIES) -> str:
    """Return the file's text. `histories` are courses over the nights by benchmark name."""
    view = View(comparison)
    # All rows, refused ones too, the worst first, by their keys in links.
    rows = view.rows or sorted(view.every_row, key=lambda row: rank(row.verdict))
    keys = _keys(row.name for row in rows)
    links = {row.name: _link(key) for row, key in zip(rows, keys, strict=True)}
    parts = [
        _top(view),
        *_groups(view, links),
        *_within(view),
        _table(rows, keys, links),
        pictures.sweeps(comparison),
        pictures.roofline(comparison),
        pictures.histories([row.verdict for row in rows], histories),
        _compared(comparison),
        _notes(comparison),
    ]
    data = json.dumps([_data(comparison, row) for row in rows], separators=(",", ":"),
                      allow_nan=False).translate(_ESCAPES)  # fmt: skip
    main = "\n".join(filter(None, parts))
    body = (
        f'<a class="skip" href="#rows">Skip to all benchmarks</a>\n<main>\n{main}\n</main>\n'
        f'<script type="application/json" id="data">{data}</script>'
    )
    title = f"{view.check}: {text.plain(headline(comparison))}"
    script = Path(__file__).with_name("report.js").read_text(encoding="utf-8")
    return document(title, body, _HEAD, script)


def _keys(names: Iterable[str]) -> list[str]:
    """Return the key of each row in links: its inert name, with a number if that is taken."""
    found: dict[str, None] = {}
    for number, foreign in enumerate(names, 1):
        name = text.cut(text.inert(text.cut(foreign, text.LONGEST_NAME)), text.LONGEST_NAME)
        others = (f"{name}~{other}" for other in count(number))
        found[next(key for key in chain([name], others) if key not in found)] = None
    return [*found]


def _link(key: str) -> str:
    return f'<a href="#row={quote(key, safe="/:,")}">{breakable(key)}</a>'


def _class(word: str) -> str:
    return word.replace(" ", "-")


def _words(words: str) -> str:
    return html.escape(text.plain(words))


def _top(view: View) -> str:
    comparison, kind = view.comparison, view.check.split()[0].lower()
    status, gpu = exit_status(comparison), gpu_name(comparison.candidate)
    marks = [str(note) for note in comparison.notes if note.kind == RECORDED]
    found = " ".join(filter(None, (*marks, gpu and f"On {gpu}.", how_found(comparison))))
    return (
        f'<header>\n<h1><span class="badge {kind}">{view.check}</span> '
        f"{_words(headline(comparison))}</h1>\n<p>{shown(found)}</p>\n"
        f'<p class="faint">Exit status {status:d}: {EXIT_MEANINGS[status]}.</p>\n</header>'
    )


def _groups(view: View, links: Mapping[str, str]) -> Iterator[str]:
    """Yield what changed, by cause, and what is open."""
    folded = (WITHIN, CONTROL, "new", "skipped")
    open_groups = [group for group in view.groups if group.word not in folded]
    key = _KEY
    for word, groups in groupby(open_groups, key=lambda group: group.word):
        members = [*groups]
        size = sum(len(group.rows) for group in members)
        inner = "\n".join(_group(group, links) for group in members)
        yield section(word.capitalize(), f"{key}\n{inner}", size)
        key = ""


def _group(group: Group, links: Mapping[str, str]) -> str:
    title = f"<h3>{_words(group.cause)}</h3>\n" if group.cause else ""
    lines = "\n".join(_line(row, links[row.name]) for row in group.rows[:_OF_A_GROUP])
    more = len(group.rows) - _OF_A_GROUP
    rest = f'<p><a href="#rows">{more:,} more below</a></p>\n' if more > 0 else ""
    inner = scrolled(text.plain(group.title), f"<table>\n{lines}\n</table>")
    return f'<div class="group {_class(group.word)}">\n{title}{inner}\n{rest}</div>'


def _line(row: Row, link: str) -> str:
    one, numbers = row.verdict, row.numbers
    bar = intervals.bar(one.change, one.tolerance or 0.0) if one.change else ""
    times = f"{numbers.old} → {numbers.new}" if numbers.change else ""
    why = _words("; ".join((*row.reasons, *(() if one.is_changed else row.causes))))
    return (
        f'<tr><th scope="row">{link}</th><td class="n {_class(row.word)}">{row.size}</td>'
        f"<td>{bar}</td><td{NUMBER}>{times}</td><td{NUMBER}>{numbers.limit}</td>"
        f'<td class="faint">{why}</td></tr>'
    )


def _within(view: View) -> Iterator[str]:
    """Yield how many rows of each family are within tolerance, and their largest bound."""
    for word, title in ((WITHIN, WITHIN.capitalize()), (CONTROL, "Controls, not judged")):
        families = view.families(word)
        items = "\n".join(
            f"<li>{shown(one.name)} {len(one.rows)} <span>{one.most}</span></li>"
            for one in families
        )
        size = sum(len(one.rows) for one in families)
        yield section(title, f'<ul class="bounds">\n{items}\n</ul>', size) if families else ""


def _table(rows: Iterable[Row], keys: Iterable[str], links: Mapping[str, str]) -> str:
    heads = "".join(
        f'<th scope="col"{NUMBER if at >= _NUMBERS_FROM else ""}>{title}</th>'
        for at, title in enumerate(_HEADINGS)
    )
    # The id is the target of a link to this row if the script does not run.
    lines = [
        f'<tr id="row={html.escape(key)}"><td class="{_class(row.word)}">{row.word}</td>'
        f'<th scope="row">{links[row.name]}</th>'
        + "".join(f"<td{NUMBER}>{cell}</td>" for cell in row.numbers)
        + "</tr>"
        for row, key in zip(rows, keys, strict=True)
    ]
    body = "\n".join(lines)
    whole = f'<table id="all">\n<thead><tr>{heads}</tr></thead>\n<tbody>\n{body}</tbody>\n</table>'
    inner = f'<div id="tools" hidden></div>\n{scrolled("Table of all benchmarks", whole)}'
    return section("All benchmarks", inner, len(lines), ' id="rows" tabindex="-1"')


def _compared(comparison: Comparison) -> str:
    differences = differences_beside(comparison)
    sides = ("compared", side(comparison.baseline), side(comparison.candidate))
    cells = [
        (shown(key), breakable(plain(before)), breakable(plain(after)))
        for key, before, after in (sides, *differences)
    ]
    title = "Differences between the environments"
    inner = table(cells, ("", "baseline", "candidate"), ' class="sides"')
    return section(title, scrolled(title, inner), len(differences))


def _notes(comparison: Comparison) -> str:
    notes = [*map(str, comparison.every_note), rule(comparison)]
    notes += [" ".join(map(str, next_step(comparison)))]
    items = [f"<li>{shown(note)}</li>" for note in notes if note]
    inner = "\n".join(items)
    return section("Notes", f"<ul>\n{inner}\n</ul>") if items else ""


def _data(comparison: Comparison, row: Row) -> dict[str, object]:
    """Return what the script shows of a row, and by which numbers it sorts."""
    one = row.verdict
    change = one.change
    ratio, low, high = (change.ratio, change.low, change.high) if change else (None, None, None)
    sorted_by = (one.baseline_seconds, one.candidate_seconds, ratio, ratio, one.bound,
                 one.limit_fraction)  # fmt: skip
    sides = [side.rows.get(one.name) for side in (comparison.baseline, comparison.candidate)]
    pairs = [pair.log_ratio for pair in sides[1].pairs] if sides[1] else []
    medians = [
        [_numbers(times) for times in side.process_medians.values()] if side else []
        for side in sides
    ]
    why = one.why
    moved = [[*map(plain, (its.cause, its.what, its.before, its.after))]
             for its in (why.moved[:_MOST_MOVED] if why else ())]  # fmt: skip
    kernels = [side.label if side else "" for side in sides]
    if not any(kernels):
        known = (its for its in one.resources if its.key == KERNEL)
        kernels = next(([its.before, its.after] for its in known), [])
    return {
        "word": row.word,
        "sorted_by": _numbers(sorted_by),
        "told": f"{one.clock.value} time · {row.sentence}",
        "interval": _numbers((ratio, low, high)),
        "tolerance": _number(one.tolerance),
        "why": [plain(why.paragraph), moved] if why else None,
        "medians": medians,
        "pairs": _numbers(math.expm1(log) for log in pairs if log is not None),
        "kernels": [*map(plain, kernels)],
        "resources": [[RESOURCES[key], *_both(row, key)] for key in RESOURCES if _both(row, key)],
        "counters": [
            [plain(key), *_both(row, key)]
            for key in {**one.counters, **one.baseline_counters}
            if key not in RESOURCES
        ],
    }


def _both(row: Row, key: str) -> list[str]:
    """Return a counter of both sides in words; none if neither side has it."""
    found = [side.get(key) for side in (row.verdict.baseline_counters, row.verdict.counters)]
    return [*map(_shown, found)] if any(value is not None for value in found) else []


def _shown(value: float | None) -> str:
    number = _number(value)
    if number is None or isinstance(number, int):
        return "–" if number is None else str(number)
    return text.quantity(number, "").strip()


def _numbers(values: Iterable[float | None]) -> list[float | None]:
    return [*map(_number, values)]


def _number(value: float | None) -> float | None:
    """Return a value rounded to `_DIGITS`, or None if it is not finite."""
    if value is None or not math.isfinite(value):
        return None
    rounded = float(f"{value:.{_DIGITS}g}")
    return int(rounded) if rounded.is_integer() and abs(rounded) < 1e6 else rounded


_OWN = re.compile(rb'<meta name="generator" content="warpgauge comparison">')
FORMAT = Format("html", render, "page of a comparison", _OWN)
