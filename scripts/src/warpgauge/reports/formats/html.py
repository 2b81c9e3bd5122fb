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
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import chain, count
from pathlib import Path
from types import MappingProxyType
from urllib.parse import quote

from warpgauge.records.counters import RESOURCES
from warpgauge.records.model import Record, Why
from warpgauge.reports import pictures
from warpgauge.reports.advice import next_step
from warpgauge.reports.drawing import picture
from warpgauge.reports.drawing.course import Course
from warpgauge.reports.format import Format
from warpgauge.reports.formats import intervals
from warpgauge.reports.pages import (
    NUMBER,
    breakable,
    document,
    heading,
    plain,
    scrolled,
    shown,
)
from warpgauge.reports.view import (
    ACCEPTED,
    CONTROL,
    EXIT_MEANINGS,
    WITHIN,
    WORDS,
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
from warpgauge.verdict.comparison import KERNEL, Comparison, Verdict, exit_status

# A later run replaces only files that contain it.
MARK = "warpgauge comparison"

# The table has all rows up to _MOST_ROWS. Of more, it has those that are not within tolerance, at
# least _FIRST_ROWS; the script makes the others from the data.
_MOST_ROWS, _FIRST_ROWS = 2000, 500
_OF_A_GROUP = 20  # rows of a cause shown above the table

_HEADINGS = ("verdict", "benchmark", "baseline", "candidate", "change", "95 % interval",
             "at most", "of limit")  # fmt: skip
_NUMBERS_FROM = 2
_KEY = "Dot: change. Line: its 95 % interval. Grey: the tolerance."

_NO_HISTORIES: Mapping[str, Course] = MappingProxyType({})


def render(comparison: Comparison, *, histories: Mapping[str, Course] = _NO_HISTORIES) -> str:
    """Return the file's text. `histories` are courses over the nights by benchmark name."""
    page = _Page(View(comparison))
    rules, script = f"{picture.style()}{_file('report.css')}", _file("report.js")
    views = [
        *_top(page.view),
        *page.groups(),
        *page.within(),
        *page.table(),
        *pictures.sweeps(comparison),
        *pictures.roofline(comparison),
        *pictures.histories([row.verdict for row in page.rows], histories),
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
        f'<script type="application/json" id="data">{page.data()}</script>'
    )
    title = f"{page.view.check}: {text.plain(headline(comparison))}"
    return document(title, rules, body, head, script)


def _file(name: str) -> str:
    return (Path(__file__).parent / name).read_text(encoding="utf-8")


@dataclass(frozen=True)
class _Page:
    view: View

    @cached_property
    def rows(self) -> list[Row]:
        """All rows, refused ones too, the worst first."""
        every = self.view.every_row
        return self.view.rows or sorted(every, key=lambda row: rank(row.verdict))

    @cached_property
    def keys(self) -> Mapping[str, str]:
        """The key of each row in links, by its name."""
        names = [row.name for row in self.rows]
        return dict(zip(names, _keys(names), strict=True))

    @cached_property
    def _in_table(self) -> int:
        """The number of rows in the page's own table."""
        if len(self.rows) <= _MOST_ROWS:
            return len(self.rows)
        telling = sum(row.word not in (WITHIN, CONTROL) for row in self.rows)
        return min(max(telling, _FIRST_ROWS), _MOST_ROWS)

    def data(self) -> str:
        """Return the data for the script."""
        rest = [[self.keys[row.name], *row.numbers] for row in self.rows[self._in_table :]]
        return _data(self.view.comparison, self.rows, rest)

    def groups(self) -> Iterator[str]:
        """Yield what changed, by cause, and what is open."""
        key = f'<p class="faint">{_KEY}</p>'
        titles: dict[str, list[Group]] = {}
        for group in self.view.groups:
            if group.word not in (WITHIN, CONTROL, "new", "skipped"):
                titles.setdefault(group.word, []).append(group)
        for word, groups in titles.items():
            count = sum(len(group.rows) for group in groups)
            yield f"<section>\n{heading(word.capitalize(), count)}\n{key}"
            yield from map(self._group, groups)
            yield "</section>"
            key = ""

    def _group(self, group: Group) -> str:
        title = f"<h3>{_words(group.cause)}</h3>\n" if group.cause else ""
        lines = "\n".join(map(self._line, group.rows[:_OF_A_GROUP]))
        more = len(group.rows) - _OF_A_GROUP
        rest = f'<p><a href="#rows">{more:,} more below</a></p>\n' if more > 0 else ""
        table = scrolled(text.plain(group.title), f"<table>\n{lines}\n</table>")
        return f'<div class="group {_class(group.word)}">\n{title}{table}\n{rest}</div>'

    def _line(self, row: Row) -> str:
        one, numbers = row.verdict, row.numbers
        bar = intervals.bar(one.change, one.tolerance or 0.0) if one.change else ""
        times = f"{numbers.old} → {numbers.new}" if numbers.change else ""
        said = _words("; ".join((*row.reasons, *(() if one.is_changed else row.causes))))
        return (
            f'<tr><th scope="row">{self.link(row)}</th>'
            f'<td class="n {_class(row.word)}">{row.size}</td>'
            f"<td>{bar}</td><td{NUMBER}>{times}</td><td{NUMBER}>{numbers.limit}</td>"
            f'<td class="faint">{said}</td></tr>'
        )

    def link(self, row: Row) -> str:
        key = self.keys[row.name]
        return f'<a href="#row={quote(key, safe="/:,")}">{breakable(key)}</a>'

    def within(self) -> Iterator[str]:
        """Yield how many rows of each family are within tolerance, and their largest bound."""
        for word, title in ((WITHIN, WITHIN.capitalize()), (CONTROL, "Controls, not judged")):
            if families := self.view.families(word):
                yield "<section>\n" + heading(title, sum(len(one.rows) for one in families))
                yield '<ul class="bounds">'
                for one in families:
                    yield f"<li>{shown(one.name)} {len(one.rows)} <span>{one.most}</span></li>"
                yield "</ul></section>"

    def table(self) -> Iterator[str]:
        heads = (
            f'<th scope="col"{NUMBER if at >= _NUMBERS_FROM else ""}>{title}</th>'
            for at, title in enumerate(_HEADINGS)
        )
        yield (
            f'<section id="rows" tabindex="-1">\n{heading("All benchmarks", len(self.rows))}\n'
            '<div id="tools" hidden></div>'
        )
        body = "\n".join(map(self._row, self.rows[: self._in_table]))
        yield scrolled(
            "Table of all benchmarks",
            f'<table id="all">\n<thead><tr>{"".join(heads)}</tr></thead>\n<tbody>\n{body}</tbody>\n'
            "</table>",
        )
        if (more := len(self.rows) - self._in_table) > 0:
            yield (
                f"<noscript><p>{more:,} more rows, the least significant ones, are in this file; "
                "only its script shows them.</p></noscript>"
            )
        yield "</section>"

    def _row(self, row: Row) -> str:
        key = html.escape(self.keys[row.name])
        numbers = "".join(f"<td{NUMBER}>{cell}</td>" for cell in row.numbers)
        # The target of a link to this row if the script does not run.
        return (
            f'<tr id="row={key}"><td class="{_class(row.word)}">{row.word}</td>'
            f'<th scope="row">{self.link(row)}</th>{numbers}</tr>'
        )


def _class(word: str) -> str:
    return word.replace(" ", "-")


def _words(words: str) -> str:
    return html.escape(text.plain(words))


def _top(view: View) -> Iterator[str]:
    comparison, kind = view.comparison, view.check.split()[0].lower()
    status, gpu = exit_status(comparison), gpu_name(comparison.candidate)
    title = _words(headline(comparison))
    yield f'<header>\n<h1><span class="badge {kind}">{view.check}</span> {title}</h1>'
    told = [*filter(None, (gpu and f"On {gpu}.", how_found(comparison)))]
    yield f"<p>{shown(' '.join(told))}</p>" if told else ""
    yield f'<p class="faint">Exit status {status:d}: {EXIT_MEANINGS[status]}.</p>\n</header>'


def _compared(comparison: Comparison) -> Iterator[str]:
    differences = differences_beside(comparison)
    lines = [("compared", side(comparison.baseline), side(comparison.candidate)), *differences]
    body = "\n".join(
        f'<tr><th scope="row">{shown(key)}</th>'
        + "".join(f"<td>{breakable(plain(value))}</td>" for value in (before, after))
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
    told = [*map(str, comparison.every_note), rule(comparison)]
    told += [" ".join(map(str, next_step(comparison)))]
    items = [f"<li>{shown(one)}</li>" for one in told if one]
    if items:
        title = "Notes" if len(items) > 1 else "Note"
        yield f"<section>\n{heading(title)}\n<ul>\n{chr(10).join(items)}\n</ul>\n</section>"


# Significant digits of numbers; they are drawn or shown with four.
_DIGITS = 6
_MOST_MOVED = 60  # table lines per row of what moved

# Characters that could end a script element, or begin markup in it.
_ESCAPES = {char: f"\\u{ord(char):04x}" for char in "<>&"}

Cell = Callable[[Row], object]
_OUTCOMES: list[str] = [*WORDS.values(), ACCEPTED, CONTROL]
_CELLS: dict[str, Cell] = {
    "outcome": lambda row: _OUTCOMES.index(row.word),
    "clock": lambda row: row.verdict.clock.value,
    "before": lambda row: _number(row.verdict.baseline_seconds),
    "after": lambda row: _number(row.verdict.candidate_seconds),
    "ratio": lambda row: _number(row.verdict.change.ratio if row.verdict.change else None),
    "low": lambda row: _number(row.verdict.change.low if row.verdict.change else None),
    "high": lambda row: _number(row.verdict.change.high if row.verdict.change else None),
    "bound": lambda row: _number(row.verdict.bound),
    "tolerance": lambda row: _number(row.verdict.tolerance),
    "limit": lambda row: _number(row.verdict.limit_fraction),
    "told": lambda row: row.finding,
}


def _keys(names: Iterable[str]) -> list[str]:
    """Return the key of each row in links: its inert name, with a number if that is taken."""
    found: dict[str, None] = {}
    for number, foreign in enumerate(names, 1):
        name = text.cut(text.inert(text.cut(foreign, text.LONGEST_NAME)), text.LONGEST_NAME)
        others = (f"{name}~{other}" for other in count(number))
        found[next(key for key in chain([name], others) if key not in found)] = None
    return [*found]


def _data(comparison: Comparison, rows: Sequence[Row], rest: Sequence[Sequence[str]]) -> str:
    """Return the JSON of these rows, in their order, for a script element.

    `rest` has the keys and cells of the last rows, which have no row in the page itself.
    """
    verdicts = [row.verdict for row in rows]
    sides = {"baseline": comparison.baseline, "candidate": comparison.candidate}
    causes = {at: f"Likely cause: {text.plain(row.cause)}" for at, row in enumerate(rows)
              if row.causes}  # fmt: skip
    told = {
        "outcomes": _OUTCOMES,
        "rows": {name: [*map(cell, rows)] for name, cell in _CELLS.items()},
        "causes": causes,
        "why": {at: _why(one.why) for at, one in enumerate(verdicts) if one.why},
        **_kernels(comparison, verdicts),
        "rest": rest,
        "medians": {name: _medians(side, verdicts) for name, side in sides.items()},
        "pairs": [_pairs(comparison.candidate, one) for one in verdicts],
        "counters": _counters(verdicts),
    }
    made = json.dumps(told, separators=(",", ":"), allow_nan=False)
    for char, escape in _ESCAPES.items():
        made = made.replace(char, escape)
    return made


def _why(why: Why) -> list[object]:
    """Return the paragraph, and the cells of the table."""
    cells = [
        [plain(cell) for cell in (one.cause, one.what, one.before, one.after)]
        for one in why.moved[:_MOST_MOVED]
    ]
    return [plain(why.paragraph), cells]


def _medians(side: Record, verdicts: Sequence[Verdict]) -> list[list[list[float | None]]]:
    """Return for each row the process medians of each session."""
    rows = (side.rows.get(verdict.name) for verdict in verdicts)
    return [
        [[*map(_number, medians)] for medians in row.process_medians.values()] if row else []
        for row in rows
    ]


def _pairs(candidate: Record, verdict: Verdict) -> list[float | None]:
    """Return candidate over base minus one, for the pairs in lock-step."""
    row = candidate.rows.get(verdict.name)
    ratios = (pair.log_ratio for pair in row.pairs) if row else ()
    return [_number(math.expm1(ratio)) for ratio in ratios if ratio is not None]


def _counters(verdicts: Sequence[Verdict]) -> list[list[object]]:
    """Return each counter's name, whether it is a resource, and its values by the row's number.

    These are the candidate's values, and the baseline's if they differ.
    """
    found: dict[str, tuple[dict[int, object], dict[int, object]]] = {}
    for number, verdict in enumerate(verdicts):
        before, after = verdict.baseline_counters, verdict.counters
        for name in {**after, **before}:
            now, then = found.setdefault(name, ({}, {}))
            now[number] = _number(after.get(name))
            if (older := _number(before.get(name))) != now[number]:
                then[number] = older
    # Resources come first.
    order = sorted(found, key=lambda name: [*RESOURCES, name].index(name))
    return [[plain(RESOURCES.get(name, name)), name in RESOURCES, *found[name]] for name in order]


def _kernels(comparison: Comparison, verdicts: Sequence[Verdict]) -> dict[str, object]:
    """Return the kernels of each row on both sides, as numbers of their names, if known."""
    known: dict[str, int] = {}
    found = {
        at: [known.setdefault(plain(name), len(known)) for name in names]
        for at, one in enumerate(verdicts)
        if any(names := _kernels_of(comparison, one))
    }
    return {"kernel_names": [*known], "kernels": found}


def _kernels_of(comparison: Comparison, verdict: Verdict) -> list[str]:
    rows = (side.rows.get(verdict.name) for side in (comparison.baseline, comparison.candidate))
    names = [row.label if row else "" for row in rows]
    changes = (one for one in verdict.resources if one.key == KERNEL)
    return names if any(names) else [name for one in changes for name in (one.before, one.after)]


def _number(value: float | None) -> float | None:
    """Return a value rounded to `_DIGITS`, or None if it is not finite."""
    if value is None or not math.isfinite(value):
        return None
    short = float(f"{value:.{_DIGITS}g}")
    return int(short) if short.is_integer() and abs(short) < 2**53 else short


_OWN = re.compile(rb'<meta name="generator" content="warpgauge comparison">')
FORMAT = Format("html", render, "page of a comparison", _OWN)
