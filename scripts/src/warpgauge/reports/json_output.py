# SPDX-License-Identifier: Apache-2.0
"""A comparison as JSON for programs: comparison.schema.json, beside this file, describes it.

Times are seconds an operation, ratios are fractions, numbers are finite or null. Text is as the
files have it, and nothing in it is for a terminal: all but ASCII is written as JSON escapes.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
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
        "differences": [
            {"key": one.key, "baseline": one.baseline, "candidate": one.candidate}
            for one in comparison.differences
        ],
        "notes": list(comparison.notes),
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


def _verdict(verdict: Verdict) -> Json:
    change, processes = verdict.change, verdict.processes
    return {
        "name": verdict.name,
        "family": verdict.family,
        "outcome": verdict.outcome.value,
        "by_time": None if verdict.by_time is None else verdict.by_time.value,
        "clock": verdict.clock.value,
        "evidence": verdict.evidence.value,
        "baseline_seconds": _number(verdict.baseline_seconds),
        "candidate_seconds": _number(verdict.candidate_seconds),
        "change": None
        if change is None
        else {
            "ratio": _number(change.ratio),
            "low": _number(change.low),
            "high": _number(change.high),
        },
        "p": _number(verdict.p),
        "minimum_effect": _number(verdict.minimum_effect),
        "noise_floor": _number(verdict.noise_floor),
        "detectable": _number(verdict.detectable),
        "processes": None
        if processes is None
        else {"baseline": processes[0], "candidate": processes[1]},
        "reason": verdict.reason,
        "accepted": verdict.accepted,
        "resources": [
            {
                "key": one.key,
                "words": one.words,
                "before": one.before,
                "after": one.after,
                "worse": one.worse,
            }
            for one in verdict.resources
        ],
        "counters": _counters(verdict.counters),
        "baseline_counters": _counters(verdict.baseline_counters),
    }


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


def _counters(counters: Mapping[str, float]) -> Json:
    return {name: _number(value) for name, value in counters.items()}


def _number(value: float | None) -> float | None:
    return value if value is not None and math.isfinite(value) else None
