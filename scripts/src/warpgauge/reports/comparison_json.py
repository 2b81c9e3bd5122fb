# SPDX-License-Identifier: Apache-2.0
"""Write a comparison as JSON for programs: `json_document` describes it.

Text is written as the files have it, in ASCII with JSON escapes. Nothing reads it back: whoever
wants another verdict, or another format, judges the run files.
"""

from __future__ import annotations

import json
from typing import Any

import msgspec

from warpgauge.records.model import Record, Row
from warpgauge.records.sessions import newest_last
from warpgauge.reports import json_document
from warpgauge.reports.json_document import Processes, Rows, Side, State
from warpgauge.reports.provenance import nearby
from warpgauge.reports.view import headline, worst
from warpgauge.system.contract import Document
from warpgauge.system.text import plain
from warpgauge.verdict.comparison import Comparison, Outcome, Verdict, exit_status
from warpgauge.verdict.note import Note


def render(comparison: Comparison) -> str:
    """Return the document as indented JSON with a final newline."""
    return written(document(comparison))


def written(document: Document) -> str:
    """Return the JSON text of a document of any format."""
    told = json.dumps(msgspec.to_builtins(document))
    finite = json.loads(told, parse_constant=lambda constant: None)  # infinity and NaN are null
    text = json.dumps(finite, indent=1, allow_nan=False)
    # "##" begins a command in a build server's log (`text.inert`); JSON can escape it.
    return text.replace("##", "#\\u0023") + "\n"


def document(comparison: Comparison) -> json_document.Comparison:
    """Return the document that `render` writes, with numbers that may not be finite."""
    slowest = worst(comparison)
    return json_document.Comparison(
        headline=plain(headline(comparison)),
        exit_status=exit_status(comparison),
        refusal=comparison.refusal,
        alpha=comparison.alpha,
        counts={outcome: comparison.count(outcome) for outcome in Outcome},
        baseline=_written_side(comparison.baseline),
        candidate=_written_side(comparison.candidate),
        verdicts=tuple(_written_verdict(comparison, verdict) for verdict in comparison.verdicts),
        differences=comparison.differences,
        notes=tuple(map(_written_note, comparison.notes)),
        method=None if comparison.method is None else _written_note(comparison.method),
        worst=slowest.name if slowest is not None else None,
    )


def _written_note(note: Note) -> json_document.Note:
    return json_document.Note(note.kind.word, dict(note.values), str(note))


def _written_side(record: Record) -> Side:
    sessions = tuple(newest_last(record.sessions.values()))
    return Side(str(nearby(record.path)), record.source, sessions)


def _written_verdict(comparison: Comparison, verdict: Verdict) -> json_document.Verdict:
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
