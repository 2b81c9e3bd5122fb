# SPDX-License-Identifier: Apache-2.0
"""The recorded comparison that `warpgauge demo` shows, read from a file of `--format json`.

Nothing else reads a comparison: warpgauge judges run files. Those of this one were not kept.
"""

from __future__ import annotations

import gzip
import json
import re
from collections.abc import Mapping
from dataclasses import fields, replace
from pathlib import Path

from warpgauge.records.model import Record
from warpgauge.records.row import Row
from warpgauge.records.sessions import newest
from warpgauge.reports.formats import json as comparison_json
from warpgauge.reports.formats.json import Side, State
from warpgauge.system import contract
from warpgauge.system.location import Place
from warpgauge.system.text import foreign
from warpgauge.verdict.comparison import Change, Comparison, Verdict
from warpgauge.verdict.note import RECORDED, Note

FILE = Path(__file__).with_name("recorded.json.gz")

_ERRORS = {State.FAILED: "failed", State.SKIPPED: "skipped"}


def marked() -> Comparison:
    """Return the recorded comparison, with a note that says where and when it was recorded."""
    found = load(FILE)
    context = newest(found.candidate).context
    gpu, day = foreign(context["gpu_name"]), foreign(context["date"][:10])
    note = Note(RECORDED, f"Recorded on an {gpu} on {day} (no bounds), not on your machine.")
    return replace(found, notes=(note, *found.notes))


def load(path: Path) -> Comparison:
    """Return the comparison in a file that `reports.formats.json` wrote, compressed or not."""
    content = path.read_bytes()
    text = gzip.decompress(content) if path.suffix == ".gz" else content
    document = contract.decoded(json.loads(text), comparison_json.Comparison, Place(path), "")
    return Comparison(
        _side(document.baseline, _rows(document, "baseline")),
        _side(document.candidate, _rows(document, "candidate")),
        tuple(map(_verdict, document.verdicts)),
        notes=tuple(_note(note, document) for note in document.notes),
        differences=document.differences,
        refusal=document.refusal,
        alpha=document.alpha or Comparison.alpha,
        method=None if document.method is None else _note(document.method, document),
    )


def _note(note: comparison_json.Note, document: comparison_json.Comparison) -> Note:
    """Return the note with marks (`text.foreign`) at names, sessions, commits and options."""
    names = [verdict.name for verdict in document.verdicts]
    names += [session.key for session in document.baseline.sessions]
    known = "|".join(re.escape(name) for name in sorted(names, key=len, reverse=True))
    found = rf"{known}|NVIDIA \w+|scripts/bench --\w+ COMMIT|--\w+|(?<=--filter )\S+(?=\.)"
    found += r"|(?<=commit )[0-9a-f]+"
    return Note(note.kind, re.sub(found, lambda match: foreign(match[0]), note.text))


def _side(side: Side, rows: Mapping[str, Row]) -> Record:
    sessions = {session.key: session for session in side.sessions}
    return Record(Path(side.path), side.source, sessions, rows)


def _rows(document: comparison_json.Comparison, side: str) -> dict[str, Row]:
    rows = {}
    for verdict in document.verdicts:
        state: State = getattr(verdict.rows, side)
        if state is not State.ABSENT:
            counters = verdict.counters if side == "candidate" else verdict.baseline_counters
            skipped, error = state is State.SKIPPED, _ERRORS.get(state)
            rows[verdict.name] = Row(
                verdict.name, {}, verdict.clock, _known(counters), error=error, skipped=skipped
            )
    return rows


def _verdict(verdict: comparison_json.Verdict) -> Verdict:
    known = {key.name for key in fields(Verdict) if hasattr(verdict, key.name)}
    values = {name: getattr(verdict, name) for name in known}
    change, processes = verdict.change, verdict.processes
    values["change"] = None
    if change is not None and None not in (change.ratio, change.low, change.high):
        values["change"] = Change(change.ratio or 0.0, change.low or 0.0, change.high or 0.0)
    values["processes"] = processes and (processes.baseline, processes.candidate)
    values |= {key: _known(values[key]) for key in ("counters", "baseline_counters")}
    return Verdict(**values)


def _known(counters: Mapping[str, float | None]) -> dict[str, float]:
    return {name: value for name, value in counters.items() if value is not None}
