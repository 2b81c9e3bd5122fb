# SPDX-License-Identifier: Apache-2.0
"""A comparison as JSON for programs: comparison.schema.json, beside this file, describes it.

Times are seconds an operation, ratios are fractions, numbers are finite or null. Text is as the
files have it, and nothing in it is for a terminal: all but ASCII is written as JSON escapes.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from enum import Enum

from warpgauge.records.model import Record, Row
from warpgauge.records.sessions import newest_last
from warpgauge.reports.headline import headline
from warpgauge.reports.provenance import nearby
from warpgauge.verdict.comparison import Comparison, Outcome, Verdict

FORMAT = "comparison/1"

Json = dict[str, object]


class State(Enum):
    """What a file has of a benchmark."""

    ABSENT = "absent"
    MEASURED = "measured"
    FAILED = "failed"
    SKIPPED = "skipped"


def render(comparison: Comparison) -> str:
    """The document, indented, with its last newline."""
    text = json.dumps(document(comparison), indent=1, allow_nan=False)
    # What begins a command of a build server's log (`text.inert`); JSON has another way to say it.
    return text.replace("##", "#\\u0023") + "\n"


def document(comparison: Comparison) -> Json:
    """The object that `render` writes."""
    return {
        "warpgauge_format": FORMAT,
        "headline": str(headline(comparison)),
        "exit_status": int(comparison.exit_status),
        "refusal": comparison.refusal,
        "alpha": _number(comparison.alpha),
        "beside": comparison.beside,
        "counts": {outcome.value: comparison.count(outcome) for outcome in Outcome},
        "baseline": _side(comparison.baseline),
        "candidate": _side(comparison.candidate),
        "verdicts": [
            {**_verdict(verdict), "rows": _rows(comparison, verdict.name)}
            for verdict in comparison.verdicts
        ],
        "differences": _plain(comparison.differences),
        "notes": list(comparison.every_note),
    }


def _side(record: Record) -> Json:
    return {
        "path": str(nearby(record.path)),
        "source": record.source.value,
        "sessions": [
            {"key": session.key, "context": dict(session.context)}
            for session in newest_last(record.sessions.values())
        ],
    }


# What is told of a verdict, in this order.
_TOLD = (
    *"name family outcome by_time clock evidence baseline_seconds candidate_seconds change".split(),
    *"p minimum_effect noise_floor detectable processes reason accepted resources".split(),
    *"counters baseline_counters".split(),
)


def _verdict(verdict: Verdict) -> Json:
    told = {key: _plain(getattr(verdict, key)) for key in _TOLD}
    if verdict.processes is not None:
        told["processes"] = dict(zip(("baseline", "candidate"), verdict.processes, strict=True))
    return told


def _plain(value: object) -> object:
    """As JSON has it: a dataclass is an object, an enumeration its value."""
    if isinstance(value, Enum):
        return value.value
    if is_dataclass(value):
        return {one.name: _plain(getattr(value, one.name)) for one in fields(value)}
    if isinstance(value, Mapping):
        return {key: _plain(one) for key, one in value.items()}
    if isinstance(value, tuple):
        return [_plain(one) for one in value]
    return _number(value) if isinstance(value, float) else value


def _rows(comparison: Comparison, name: str) -> Json:
    """What each side's file has of a benchmark."""
    return {
        "baseline": state(comparison.baseline.rows.get(name)).value,
        "candidate": state(comparison.candidate.rows.get(name)).value,
    }


def state(row: Row | None) -> State:
    if row is None:
        return State.ABSENT
    if row.error is None:
        return State.MEASURED
    return State.SKIPPED if row.skipped else State.FAILED


def _number(value: float | None) -> float | None:
    return value if value is not None and math.isfinite(value) else None
