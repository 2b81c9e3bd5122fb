# SPDX-License-Identifier: Apache-2.0
"""The columns of each table in the Markdown of a comparison, and the cells of its rows."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from warpgauge.comparison import ContextDifference, Verdict
from warpgauge.markdown_text import code, prose, unbroken
from warpgauge.provenance import told_values
from warpgauge.sentence import sentence
from warpgauge.text import duration, of_limit, percent, percent_number


@dataclass(frozen=True)
class Column:
    """A heading and its cell of a verdict; numbers align to the right."""

    heading: str
    cell: Callable[[Verdict], str]
    is_number: bool = False


def _change(verdict: Verdict) -> str:
    """The change and its interval, which may stand below each other."""
    if verdict.change is None:
        return ""
    ratio, low, high = verdict.change.ratio, verdict.change.low, verdict.change.high
    interval = unbroken(f"({percent_number(low)} … {percent_number(high)})")
    return f"{unbroken(percent(ratio))} {interval}"


def _time(seconds: float | None) -> str:
    return unbroken(duration(seconds)) if seconds is not None else ""


_NAME = Column("benchmark", lambda one: code(one.name))
_VERDICT = Column("verdict", lambda one: one.outcome.value)
_MEASURED = (
    Column("change (95 % interval)", _change, is_number=True),
    Column("baseline", lambda one: _time(one.baseline_seconds), is_number=True),
    Column("candidate", lambda one: _time(one.candidate_seconds), is_number=True),
)
_LIMIT = Column(
    "of limit",
    lambda one: unbroken(of_limit(one.counters.get("limit_fraction"))),
    is_number=True,
)
_CAUSE = Column(
    "likely cause",
    lambda one: prose("; ".join(filter(None, (one.reason, *one.causes, one.accepted)))),
)

# What a reader of ten seconds asks comes first: of what, how much. A page is not wide.
CHANGED = (_NAME, *_MEASURED, _CAUSE)
UNMEASURED = (_NAME, _VERDICT, Column("why", lambda one: prose(sentence(one))))
ACCEPTED = (
    _NAME,
    *_MEASURED,
    Column("why", lambda one: prose("; ".join((*one.causes, one.accepted)))),
)
NEW = (_NAME, Column("time", lambda one: _time(one.candidate_seconds), is_number=True), _LIMIT)
UNCHANGED = (_NAME, *_MEASURED, _LIMIT)


def worth_showing(columns: Sequence[Column], verdicts: Sequence[Verdict]) -> list[Column]:
    """Without the last one, where it would stand empty."""
    last = columns[-1]
    return list(columns if any(map(last.cell, verdicts)) else columns[:-1])


def difference(one: ContextDifference) -> list[str]:
    return [code(one.key), *map(code, told_values(one))]
