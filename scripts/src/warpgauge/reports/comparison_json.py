# SPDX-License-Identifier: Apache-2.0
"""Write a comparison as JSON for programs, and read it back: `json_document` describes it.

Text is written as the files have it, in ASCII with JSON escapes. A file that is read is untrusted:
what its types allow is read, any fault becomes one sentence. What follows from the verdicts
(counts, headline, exit status) is recomputed, not read.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import fields, replace
from pathlib import Path
from typing import Any

import msgspec

from warpgauge.records.model import Record, Row
from warpgauge.records.sessions import newest_last
from warpgauge.reports import json_document
from warpgauge.reports.headline import headline, worst
from warpgauge.reports.json_document import Processes, Rows, Side, State
from warpgauge.reports.provenance import nearby
from warpgauge.system import contract
from warpgauge.system.contract import Document
from warpgauge.system.json_file import parsed
from warpgauge.system.location import Place
from warpgauge.system.text import quoted
from warpgauge.verdict.comparison import Change, Comparison, Outcome, Verdict, exit_status
from warpgauge.verdict.note import Kind, Note

_PLACE = Place(Path("comparison.json"))
_REMEDY = "give the output of --format json of the same warpgauge"

# The verdict's reason says why a row failed; the row itself only records that it did.
_ERRORS = {State.FAILED: "failed", State.SKIPPED: "skipped"}

_KINDS = {kind.word: kind for kind in Kind}


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
        headline=str(headline(comparison)),
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


def load(text: str, place: Place = _PLACE) -> Comparison:
    """Return the comparison in `text`. Raise UserError, a sentence that begins with `place`."""
    value = parsed(place, text, _REMEDY)
    return read(contract.decoded(value, json_document.Comparison, place, _REMEDY), place)


def read(document: json_document.Comparison, place: Place = _PLACE) -> Comparison:
    """Return the comparison in a document. Raise UserError for a repeated verdict or session."""
    _require_unique((verdict.name for verdict in document.verdicts), "verdict", place)
    method = _notes([document.method], place)[0] if document.method else None
    return Comparison(
        _side(document.baseline, _rows(document, "baseline"), place),
        _side(document.candidate, _rows(document, "candidate"), place),
        tuple(map(_verdict, document.verdicts)),
        notes=_notes(document.notes, place),
        differences=document.differences,
        refusal=document.refusal,
        alpha=Comparison.alpha if document.alpha is None else document.alpha,
        method=method,
    )


def _notes(notes: Sequence[json_document.Note], place: Place) -> tuple[Note, ...]:
    """Return the notes of kinds known to this version, and a note that counts the others."""
    known = [note for note in notes if note.kind in _KINDS]
    found = [_note(note, place) for note in known]
    if left := len(notes) - len(known):
        found.append(Note(Kind.NEWER, notes=left))
    return tuple(found)


def _note(note: json_document.Note, place: Place) -> Note:
    try:
        return Note(_KINDS[note.kind], **note.values)
    except msgspec.ValidationError as fault:
        why = contract.in_words(fault)
        wrong = f"its note {quoted(note.kind)} differs from what this version reads ({why})"
        raise place.error(wrong, _REMEDY) from None


def _require_unique(keys: Iterable[str], what: str, place: Place) -> None:
    seen: set[str] = set()
    for key in keys:
        if key in seen:
            raise place.error(f"holds the {what} {quoted(key)} twice", _REMEDY)
        seen.add(key)


def _side(side: Side, rows: Mapping[str, Row], place: Place) -> Record:
    _require_unique((session.key for session in side.sessions), "session", place)
    sessions = {session.key: session for session in side.sessions}
    return Record(Path(side.path), side.source, sessions, rows)


def _rows(document: json_document.Comparison, side: str) -> dict[str, Row]:
    """Return what is known of a side's rows: which exist, which failed, and their counters."""
    rows = {}
    for verdict in document.verdicts:
        state: State = getattr(verdict.rows, side)
        if state is not State.ABSENT:
            candidate = side == "candidate"
            counters = _known(verdict.counters if candidate else verdict.baseline_counters)
            row = Row(verdict.name, {}, verdict.clock, counters, error=_ERRORS.get(state))
            rows[row.name] = replace(row, skipped=state is State.SKIPPED)
    return rows


def _verdict(one: json_document.Verdict) -> Verdict:
    told = {key.name: getattr(one, key.name) for key in fields(Verdict) if hasattr(one, key.name)}
    told["change"] = _change(one.change)
    told["processes"] = one.processes and (one.processes.baseline, one.processes.candidate)
    told |= {key: _known(told[key]) for key in ("counters", "baseline_counters")}
    return Verdict(**told)


def _change(change: json_document.Change | None) -> Change | None:
    """Return a change, or None if one of its three numbers is missing."""
    if change is None or change.ratio is None or change.low is None or change.high is None:
        return None
    return Change(change.ratio, change.low, change.high)


def _known(counters: Mapping[str, float | None]) -> dict[str, float]:
    return {name: value for name, value in counters.items() if value is not None}
