# SPDX-License-Identifier: Apache-2.0
"""The data of the page's script, for display and search: every row once, in columns, as JSON."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterable, Sequence
from itertools import chain, count

from warpgauge.records.counters import RESOURCES
from warpgauge.records.model import Record, Why
from warpgauge.reports.pages import plain
from warpgauge.reports.view import ACCEPTED, CONTROL, WORDS, Row
from warpgauge.system.text import LONGEST_NAME, cut, inert
from warpgauge.system.text import plain as unmarked
from warpgauge.verdict.comparison import Comparison, Verdict
from warpgauge.verdict.resource_changes import KERNEL

# Significant digits of numbers; they are drawn or shown with four.
_DIGITS = 6
_MOST_MOVED = 60  # table lines per row of what moved

# Characters that could end a script element, or begin markup in it.
_ESCAPES = {char: f"\\u{ord(char):04x}" for char in "<>&"}

Cell = Callable[[Row], object]
_WORDS: list[str] = [*WORDS.values(), ACCEPTED, CONTROL]
_CELLS: dict[str, Cell] = {
    "outcome": lambda row: _WORDS.index(row.word),
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


def keys(names: Iterable[str]) -> list[str]:
    """Return the key of each row in links: its inert name, with a number if that is taken."""
    found: dict[str, None] = {}
    for number, foreign in enumerate(names, 1):
        name = cut(inert(cut(foreign, LONGEST_NAME)), LONGEST_NAME)
        others = (f"{name}~{other}" for other in count(number))
        found[next(key for key in chain([name], others) if key not in found)] = None
    return [*found]


def text(comparison: Comparison, rows: Sequence[Row], rest: Sequence[Sequence[str]]) -> str:
    """Return the JSON of these rows, in their order, for a script element.

    `rest` has the keys and cells of the last rows, which have no row in the page itself.
    """
    verdicts = [row.verdict for row in rows]
    sides = {"baseline": comparison.baseline, "candidate": comparison.candidate}
    causes = {at: f"Likely cause: {unmarked(row.cause)}" for at, row in enumerate(rows)
              if row.causes}  # fmt: skip
    told = {
        "outcomes": _WORDS,
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
    return [_number(one - 1.0) for one in row.pair_ratios if one is not None] if row else []


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
