# SPDX-License-Identifier: Apache-2.0
"""Rows that are parsed one after the other are those of the whole text, or that is judged."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from builders import Json, google, google_row
from warpgauge.records.load import load
from warpgauge.system.document import read, read_row_by_row, rows_of
from warpgauge.system.errors import UserError

ROWS = [google_row(f"a/{index}", 1.0 + index, label="x" * 50) for index in range(20)]
DOCUMENT = google(ROWS, host_name="h")


def written(tmp_path: Path, text: str) -> Path:
    path = tmp_path / "plain.json"
    path.write_text(text)
    return path


def rows(path: Path) -> list[tuple[object, Json]]:
    return list(rows_of(read_row_by_row(path)))


LAYOUTS = {
    "as Google Benchmark": json.dumps(DOCUMENT, indent=2),
    "on one line": json.dumps(DOCUMENT),
    "without a space": json.dumps(DOCUMENT, separators=(",", ":")),
    "a row a line": json.dumps(DOCUMENT).replace("}, {", "},\n{"),
}


@pytest.mark.parametrize("layout", LAYOUTS)
def test_the_rows_and_their_places_are_those_of_the_whole(tmp_path: Path, layout: str) -> None:
    path = written(tmp_path, LAYOUTS[layout])
    assert read_row_by_row(path).later is not None
    assert rows(path) == list(rows_of(read(path)))


@pytest.mark.parametrize(
    "odd",
    [
        {"label": "}, {"},
        {"label": "x}\n,\n{y"},
        {"more": [{"a": 1}, {"b": 2}] * 9},
        {"more": {"a": [{}, {}], "b": {}}},
        {"real_time": float("nan")},
    ],
    ids=str,
)
def test_what_looks_like_the_end_of_a_row_is_none(tmp_path: Path, odd: Json) -> None:
    several = [{**one, **odd} if index % 7 == 3 else one for index, one in enumerate(ROWS)]
    path = written(tmp_path, json.dumps(google(several), indent=2).replace("\\n", "\n"))
    assert str(rows(path)) == str(list(rows_of(read(path))))


def damages() -> dict[str, str]:
    text = json.dumps(DOCUMENT, indent=2)
    at = text.index('"a/15"')
    return {
        "ends in the middle": text[:at],
        "no JSON": text[:at] + "x" + text[at:],
        "a key twice": text[:at] + '"a", "name": ' + text[at:],
        "context twice": text.rstrip()[:-1] + ', "context": {}}',
        "rows twice": text.rstrip()[:-1] + ', "benchmarks": []}',
        "half a character": text.replace('"a/15"', '"\\ud800"'),
        "a row that is none": text[: text.index("{", at)] + "3, " + text[text.index("{", at) :],
        "something behind": text + "x",
        "no comma": text.replace("},", "}", 7),
        "a comma too many": text.replace("]", ",]"),
        "no row": text[: text.index("[")] + "[]}",
    }


@pytest.mark.parametrize("damage", damages())
def test_a_fault_is_told_as_of_the_whole(tmp_path: Path, damage: str) -> None:
    path = written(tmp_path, damages()[damage])
    with pytest.raises(UserError) as whole:
        list(rows_of(read(path)))
    with pytest.raises(UserError) as one_by_one:
        rows(path)
    assert str(one_by_one.value) == str(whole.value)


def test_a_context_and_other_keys_behind_the_rows_do_no_harm(tmp_path: Path) -> None:
    text = json.dumps({"benchmarks": ROWS, "context": {"gpu_name": "G"}, "more": 1}, indent=2)
    record = load(written(tmp_path, text))
    assert len(record.rows) == len(ROWS)
    assert [session.gpu_name for session in record.sessions.values()] == ["G"]
