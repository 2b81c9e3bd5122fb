# SPDX-License-Identifier: Apache-2.0
"""Whatever a file holds, loading gives a record or one sentence, and a record can be judged."""

from __future__ import annotations

import io
import math
import tempfile
from pathlib import Path

from hypothesis import given, settings
from rich.console import Console

from mutations import VALUES, damaged, documents, written
from warpgauge.records.load import load
from warpgauge.records.model import Record
from warpgauge.reports.format import FORMATS
from warpgauge.reports.formats.terminal import render, render_values
from warpgauge.system.errors import ExitStatus, UserError
from warpgauge.verdict.judge import judge


def loaded(content: bytes) -> Record | None:
    """The record in a file of `content`, found sound; None where one good sentence refused it."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "fuzz.json"
        path.write_bytes(content)
        try:
            record = load(path)
        except UserError as error:
            assert str(error).startswith(str(path))
            assert str(error).isprintable()
            assert len(str(error)) < 1000
            assert error.status is ExitStatus.BAD_USAGE
            return None
    sound(record)
    return record


def sound(record: Record) -> None:
    """What every other module takes for granted."""
    assert record.rows
    assert record.sessions
    for name, row in record.rows.items():
        name.encode()
        assert row.name == name
        assert name.strip()
        assert (row.error is None) == bool(row.process_medians)
        assert row.process_medians.keys() <= record.sessions.keys()
        assert all(row.process_medians.values())
        assert all(0 < t < math.inf for times in row.process_medians.values() for t in times)
        assert all(map(math.isfinite, row.counters.values()))
        assert len(set(row.rounds)) == len(row.rounds)
        assert not row.rounds or len(row.rounds) == len(next(iter(row.process_medians.values())))


ANY_JSON = VALUES.map(lambda value: written(value).encode())
# With parts replaced, lost, doubled or moved.
DOCUMENTS = documents().map(lambda text: text.encode("utf-8", "surrogatepass"))


@settings(max_examples=900)
@given(ANY_JSON | DOCUMENTS | damaged())
def test_whatever_a_file_holds_loads_or_gives_a_sentence(content: bytes) -> None:
    loaded(content)


@settings(max_examples=150)
@given(documents(), documents())
def test_whatever_loads_can_be_judged_and_shown(one: str, other: str) -> None:
    baseline_side = loaded(one.encode())
    candidate_side = loaded(other.encode())
    console = Console(file=io.StringIO(), width=80)
    if baseline_side is not None:
        render_values(baseline_side, console)
    if baseline_side is not None and candidate_side is not None:
        try:
            comparison = judge(baseline_side, candidate_side)
        except UserError as error:
            assert "not a valid regular expression" in str(error)
            return
        names = baseline_side.rows.keys() | candidate_side.rows.keys()
        assert {verdict.name for verdict in comparison.verdicts} <= names
        render(comparison, console, verbose=True)
        for form in FORMATS.values():
            report = form.render(comparison).encode()
            assert not report or form.own.search(report), form.name
