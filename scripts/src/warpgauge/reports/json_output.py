# SPDX-License-Identifier: Apache-2.0
"""A comparison as JSON for programs: what `json_document` describes.

Text is as the files have it, and nothing in it is for a terminal: all but ASCII is written as JSON
escapes.
"""

from __future__ import annotations

import json
from typing import Any

import msgspec

from warpgauge.files.contract import Document
from warpgauge.records.model import Record, Row
from warpgauge.records.sessions import newest_last
from warpgauge.reports import json_document
from warpgauge.reports.headline import headline, worst
from warpgauge.reports.json_document import Processes, Rows, Side, State
from warpgauge.reports.provenance import nearby
from warpgauge.verdict.comparison import Comparison, Outcome, Verdict
from warpgauge.verdict.note import Note


def render(comparison: Comparison) -> str:
    """The document, indented, with its last newline."""
    return written(document(comparison))


def written(document: Document) -> str:
    """A document of any format as its file holds it."""
    told = json.dumps(msgspec.to_builtins(document))
    finite = json.loads(told, parse_constant=lambda constant: None)  # infinity and NaN are null
    text = json.dumps(finite, indent=1, allow_nan=False)
    # What begins a command of a build server's log (`text.inert`); JSON has another way to say it.
    return text.replace("##", "#\\u0023") + "\n"


def document(comparison: Comparison) -> json_document.Comparison:
    """What `render` writes, but for numbers that are not finite."""
    slowest = worst(comparison)
    return json_document.Comparison(
        headline=str(headline(comparison)),
        exit_status=comparison.exit_status,
        refusal=comparison.refusal,
        alpha=comparison.alpha,
        counts={outcome: comparison.count(outcome) for outcome in Outcome},
        baseline=_side(comparison.baseline),
        candidate=_side(comparison.candidate),
        verdicts=tuple(_verdict(comparison, verdict) for verdict in comparison.verdicts),
        differences=comparison.differences,
        notes=tuple(map(_note, comparison.notes)),
        method=None if comparison.method is None else _note(comparison.method),
        worst=slowest.name if slowest is not None else None,
    )


def _note(note: Note) -> json_document.Note:
    return json_document.Note(note.kind.word, dict(note.values), str(note))


def _side(record: Record) -> Side:
    sessions = tuple(newest_last(record.sessions.values()))
    return Side(str(nearby(record.path)), record.source, sessions)


def _verdict(comparison: Comparison, verdict: Verdict) -> json_document.Verdict:
    rows = (side.rows.get(verdict.name) for side in (comparison.baseline, comparison.candidate))
    apart: dict[str, Any] = {
        "processes": verdict.processes and Processes(*verdict.processes),
        "rows": Rows(*map(_state, rows)),
    }
    alike = [key for key in json_document.Verdict.__struct_fields__ if key not in apart]
    return json_document.Verdict(**{key: getattr(verdict, key) for key in alike}, **apart)


def _state(row: Row | None) -> State:
    if row is None:
        return State.ABSENT
    if row.error is None:
        return State.MEASURED
    return State.SKIPPED if row.skipped else State.FAILED
