# SPDX-License-Identifier: Apache-2.0
"""The page of a comparison: the verdict, then one table, the worst first, then everything else.

The page is complete without the script, which searches, folds what is within tolerance, and opens
a row's own page. A policy in the page allows only its one style and its one script.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType

import msgspec
from markupsafe import Markup

from warpgauge.records import counters
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
from warpgauge.verdict.comparison import Comparison, exit_status
from warpgauge.verdict.note import RECORDED

MARK = "warpgauge comparison"

_FOLDED = (WITHIN, "skipped")  # words whose rows stand by family, folded
_DIGITS = 6  # significant digits of numbers; they are drawn with four

# The counters of a row's own page, in this order, then all others. What is no measurement is not
# shown.
_COUNTERS = {
    **RESOURCES,
    "registers": "registers per thread",
    "local_bytes": "local memory per thread (spills)",
    "shared_bytes": "shared memory per block",
    "flops_per_second": "arithmetic throughput",
    "bytes_per_second": "memory throughput",
    counters.LIMIT: "fraction of the limit",
    counters.SM_CLOCK: "SM clock before the work",
    "working_sm_clock_hz": "SM clock during the work",
    counters.REASONS: "NVML's reasons for a lower clock",
    "spread": "spread of the samples",
    "discarded": "discarded samples",
    counters.EXTRA_WORK: "extra work",
    counters.CANARY: "slowdown of an empty kernel",
}
_NO_MEASUREMENTS = (counters.SOURCE_LINE, counters.HOST_CLOCK, counters.FULL_SUITE)
# Units by the ends of the names of counters.
_UNITS = {"bytes_per_second": "B/s", "flops_per_second": "FLOP/s", "_bytes": "B", "_hz": "Hz",
          "_watts": "W", "_celsius": "°C", "_seconds": "s", "_joules": "J",
          **dict.fromkeys((counters.LIMIT, counters.EXTRA_WORK, counters.CANARY, "spread"), "%"),
          }  # fmt: skip

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
    data_in_json = msgspec.json.encode(data).decode().translate(_ESCAPES)  # NaN becomes null
    of_roofline = views.gpu_name(comparison.candidate) or "Benchmarks under their limits"
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
        "own_tolerances": _own_tolerances,
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
    """Return the key of each row in links: its inert name, with a number if that may be another's.

    A name that ends like such a key has a number, too.
    """
    shown = [text.cut(text.inert(text.cut(name, text.LONGEST_NAME)), text.LONGEST_NAME)
             for name in names]  # fmt: skip
    counts = Counter(shown)
    return [
        f"{name}~{number}" if counts[name] > 1 or re.search(r"~\d+$", name) else name
        for number, name in enumerate(shown)
    ]


def _most(rows: Sequence[Row]) -> str:
    """Return the largest bound, or ""."""
    bounds = [row.verdict.bound for row in rows if row.verdict.bound is not None]
    return views.rounded_up(max(bounds)) if bounds else ""


def _own_tolerances(rows: Sequence[Row]) -> str:
    return "; ".join(views.own_tolerances(row.verdict for row in rows))


def _facts(comparison: Comparison) -> list[str]:
    """Return where and when it was measured, how what changed was found, and if it is recorded."""
    when = newest(comparison.candidate).context.get("date", "")[:16].replace("T", " ")
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
    pairs = sides[1].pairs if sides[1] else ()
    of_sides = (one.baseline_counters, one.counters)
    known = {**of_sides[0], **of_sides[1]}
    keys = [key for key in {**_COUNTERS, **known} if key in known and key not in _NO_MEASUREMENTS]
    why = one.why
    moved = [[*map(plain, (its.cause, its.what, its.before, its.after))]
             for its in (why.moved if why else ())]  # fmt: skip
    return {
        "word": row.word,
        "told": plain(f"{one.clock.value} time · {row.sentence}"),
        "interval": _rounded((change.ratio, change.low, change.high)) if change else [None] * 3,
        "tolerance": one.tolerance,
        "why": [plain(why.paragraph), moved] if why else None,
        "medians": [[*map(_rounded, its.process_medians.values())] if its else [] for its in sides],
        "pairs": _rounded(math.expm1(its.log_ratio) for its in pairs if its.log_ratio is not None),
        "kernels": [plain(its.label) if its else "" for its in sides],
        "counters": [_counter(key, of_sides) for key in keys],
    }


def _counter(key: str, sides: Sequence[Mapping[str, float]]) -> list[str]:
    """Return the name of a counter, and its value on both sides."""
    end, unit = next((pair for pair in _UNITS.items() if key.endswith(pair[0])), ("", ""))
    name = _COUNTERS.get(key) or plain(key.removesuffix(end).replace("_", " "))
    return [name, *(_amount(side.get(key), unit) for side in sides)]


def _amount(value: float | None, unit: str) -> str:
    if value is None or not math.isfinite(value):
        return "–"
    if unit == "%":
        return text.percent(value, sign=False)
    if unit == "s":
        return text.duration(value)
    is_whole = value.is_integer()
    if unit and not (is_whole and abs(value) < 1000):
        return text.quantity(value, unit)
    return f"{value:.{10 if is_whole else 4}g} {unit}".rstrip()


def _rounded(values: Iterable[float]) -> list[float]:
    return [float(f"{value:.{_DIGITS}g}") for value in values]


_OWN = re.compile(rb'<meta name="generator" content="warpgauge comparison">')
FORMAT = Format("html", render, "page of a comparison", _OWN)
