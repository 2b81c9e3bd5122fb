# SPDX-License-Identifier: Apache-2.0
"""The page of a comparison: the verdict, then one table, the worst first, then everything else.

The page is complete without the script, which searches, folds what is within tolerance, and opens
a row's own page. A policy in the page allows only its one style and its one script.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterable, Mapping, Sequence
from itertools import chain, count
from pathlib import Path
from types import MappingProxyType

from markupsafe import Markup

from warpgauge.records.counters import RESOURCES
from warpgauge.records.sessions import newest
from warpgauge.reports import view as views
from warpgauge.reports.advice import next_step
from warpgauge.reports.drawing import course, roofline
from warpgauge.reports.drawing.course import Course
from warpgauge.reports.format import Format
from warpgauge.reports.pages import anchor, plain
from warpgauge.reports.pages import render as page
from warpgauge.reports.view import CONTROL, WITHIN, Group, Row, View
from warpgauge.system import text
from warpgauge.verdict.comparison import KERNEL, Comparison, exit_status
from warpgauge.verdict.note import RECORDED

MARK = "warpgauge comparison"

_FOLDED = (WITHIN, "skipped")  # words whose rows stand by family, folded
_MOST_MOVED = 60  # table lines per row of what moved
_DIGITS = 6  # significant digits of numbers; they are drawn or shown with four

# Characters that could end a script element, or begin markup in it.
_ESCAPES = str.maketrans({char: f"\\u{ord(char):04x}" for char in "<>&"})

_NO_HISTORIES: Mapping[str, Course] = MappingProxyType({})


def render(comparison: Comparison, *, histories: Mapping[str, Course] = _NO_HISTORIES) -> str:
    """Return the file's text. `histories` are courses over the nights by benchmark name."""
    view = View(comparison)
    # All rows, refused ones too, the worst first, by their keys in links.
    rows = view.rows or sorted(view.every_row, key=lambda row: views.rank(row.verdict))
    keys = dict(zip((row.name for row in rows), _keys(row.name for row in rows), strict=True))
    known = {row.name: histories.get(row.name) for row in rows if row.verdict.is_changed}
    data = [{"key": keys[row.name], **_data(comparison, row)} for row in rows]
    data_in_json = json.dumps(data, separators=(",", ":"), allow_nan=False).translate(_ESCAPES)
    of_roofline = " · ".join(filter(None, ("Roofline", views.gpu_name(comparison.candidate))))
    links = {name: f"#row={anchor(key)}" for name, key in keys.items()}
    groups = [group for group in view.groups if group.word != CONTROL]
    if view.is_refused and rows:
        groups = [Group("not compared", "", tuple(rows))]
    values = {
        "view": view,
        "headline": views.headline(comparison),
        "facts": _facts(comparison),
        "sides": [
            {"title": views.side_name(its), "words": views.side(its)}
            for its in (comparison.baseline, comparison.candidate)
        ],
        "keys": keys,
        "groups": groups,
        "folded": _FOLDED,
        "controls": view.of(CONTROL),
        "most": _most,
        "histories": {name: its for name, its in known.items() if its and its.has_a_line},
        "course": course.drawn,
        "roofline": roofline.drawn(comparison.verdicts, of_roofline, links),
        "steps": next_step(comparison),
        "differences": views.differences_beside(comparison),
        "notes": _notes(comparison),
        "data": Markup(data_in_json),
    }
    title = f"{view.check}: {text.plain(views.headline(comparison))}"
    script = Path(__file__).with_name("report.js").read_text(encoding="utf-8")
    return page("comparison.html", title, values, mark=MARK, script=script)


def _keys(names: Iterable[str]) -> list[str]:
    """Return the key of each row in links: its inert name, with a number if that is taken."""
    found: dict[str, None] = {}
    for number, foreign in enumerate(names, 1):
        name = text.cut(text.inert(text.cut(foreign, text.LONGEST_NAME)), text.LONGEST_NAME)
        others = (f"{name}~{other}" for other in count(number))
        found[next(key for key in chain([name], others) if key not in found)] = None
    return [*found]


def _most(rows: Sequence[Row]) -> str:
    """Return the largest bound, or ""."""
    bounds = [row.verdict.bound for row in rows if row.verdict.bound is not None]
    return views.rounded_up(max(bounds)) if bounds else ""


def _facts(comparison: Comparison) -> list[str]:
    """Return where and when it was measured, how what changed was found, and if it is recorded."""
    sessions = comparison.candidate.sessions
    date = newest(comparison.candidate).context.get("date", "") if sessions else ""
    when = date[:16].replace("T", " ")
    marks = [str(note) for note in comparison.notes if note.kind == RECORDED]
    how = views.how_found(comparison).rstrip(".")
    return [*filter(None, (views.gpu_name(comparison.candidate), when, how, *marks))]


def _notes(comparison: Comparison) -> list[str]:
    status = exit_status(comparison)
    notes = [str(note) for note in comparison.every_note if note.kind != RECORDED]
    notes += [views.rule(comparison)]
    return [*filter(None, notes), f"Exit status {status:d}: {views.EXIT_MEANINGS[status]}."]


def _data(comparison: Comparison, row: Row) -> dict[str, object]:
    """Return what the script shows of a row."""
    one = row.verdict
    change = one.change
    sides = [its.rows.get(one.name) for its in (comparison.baseline, comparison.candidate)]
    pairs = [pair.log_ratio for pair in sides[1].pairs] if sides[1] else []
    medians = [
        [_numbers(times) for times in its.process_medians.values()] if its else [] for its in sides
    ]
    counters = (one.baseline_counters, one.counters)
    why = one.why
    moved = [[*map(plain, (its.cause, its.what, its.before, its.after))]
             for its in (why.moved[:_MOST_MOVED] if why else ())]  # fmt: skip
    kernels = [its.label if its else "" for its in sides]
    if not any(kernels):
        known = (its for its in one.resources if its.key == KERNEL)
        kernels = next(([its.before, its.after] for its in known), [])
    return {
        "word": row.word,
        "told": plain(f"{one.clock.value} time · {row.sentence}"),
        "interval": _numbers((change.ratio, change.low, change.high)) if change else [None] * 3,
        "tolerance": _number(one.tolerance),
        "why": [plain(why.paragraph), moved] if why else None,
        "medians": medians,
        "pairs": _numbers(math.expm1(log) for log in pairs if log is not None),
        "kernels": [*map(plain, kernels)],
        "counters": [
            [RESOURCES.get(key, plain(key)), *_numbers(its.get(key) for its in counters)]
            for key in {**RESOURCES, **one.counters, **one.baseline_counters}
            if any(key in its for its in counters)
        ],
    }


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
