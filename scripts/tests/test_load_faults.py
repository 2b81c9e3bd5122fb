# SPDX-License-Identifier: Apache-2.0
"""Every unusable file gives one sentence that names the file, the row and the fault."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from builders import Json, baseline, google, google_row, row, run, write
from warpgauge.errors import ExitStatus, UserError
from warpgauge.load import load

GOOD = json.dumps(run([row("a/b")]))

CONTENTS = {
    "empty": ("", "is empty"),
    "blank": (" \n\t", "is empty"),
    "truncated": (GOOD[:-20], "breaks off in the middle"),
    "truncated in a string": (GOOD[: GOOD.index("boot-1") + 3], "breaks off in the middle"),
    "html": ("<!DOCTYPE html><html></html>", "is an HTML or XML page"),
    "merge conflict": (f"<<<<<<< HEAD\n{GOOD}", "unresolved merge conflict"),
    "no json": ("name,time\na,1\n", "is not JSON (line 1, column 1"),
    "list": ("[]", "holds a list where"),
    "string": ('"benchmarks"', "holds a string where"),
    "null": ("null", "holds null where"),
    "nesting": ("[" * 200_000, "nested too deeply"),
    "number of 5000 digits": ('{"a": ' + "9" * 5000 + "}", "a number too long"),
}


@pytest.mark.parametrize("case", CONTENTS)
def test_content_that_is_no_result(tmp_path: Path, case: str) -> None:
    content, sentence = CONTENTS[case]
    path = tmp_path / "result.json"
    path.write_text(content)
    assert sentence in fault(path)


def test_bytes_that_are_no_utf_8(tmp_path: Path) -> None:
    path = tmp_path / "result.json"
    path.write_bytes(GOOD.encode("utf-16"))
    assert "is not UTF-8 text; save it as UTF-8" in fault(path)


def test_a_file_that_is_not_there(tmp_path: Path) -> None:
    assert "cannot be read (No such file or directory)" in fault(tmp_path / "absent.json")


def test_a_path_through_a_file(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    assert "cannot be read" in fault(tmp_path / "file" / "result.json")


def test_a_file_that_is_too_large(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "result.json"
    path.write_text(GOOD)
    monkeypatch.setattr("warpgauge.document.SIZE_LIMIT_BYTES", len(GOOD) - 1)
    assert "larger than 256 MiB" in fault(path)


def test_what_is_no_file_is_not_waited_for(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    for path in (Path("/dev/zero"), tmp_path / "pipe"):
        assert "is no regular file; give a result file" in fault(path)


TWO_KEYS = '{"context": {"warpgauge_format": "run/1", "a": "1", "a": "2"}, "benchmarks": []}'


def changed(**keys: object) -> Json:
    """A run of two rows whose second has `keys` in place of its own."""
    return run([row("a/a"), {**row("a/b"), **keys}])


def without(key: str) -> Json:
    bad = row("a/b")
    del bad[key]
    return run([row("a/a"), bad])


WHOLE = {
    "no benchmarks": ({"context": {}}, "has no 'benchmarks'"),
    "benchmarks null": ({"benchmarks": None}, "'benchmarks' is null, not a list"),
    "benchmarks object": ({"benchmarks": {}}, "'benchmarks' is an object, not a list"),
    "benchmarks empty": (run([]), "holds no benchmark"),
    "context a list": ({"context": [], "benchmarks": [row("a")]}, "'context' is a list"),
    "future format": (
        {"context": {"warpgauge_format": "run/2"}, "benchmarks": [row("a")]},
        "has the format 'run/2'; this warpgauge reads run/1 and baseline/1; update",
    ),
    "only derived rows": (
        google([{"name": "f_BigO", "run_type": "aggregate", "aggregate_name": "BigO"}]),
        "holds no measured time",
    ),
    "baseline without sessions": (baseline([row("a")], {}), "'sessions' is empty"),
    "sessions a list": (
        {"context": {"warpgauge_format": "baseline/1"}, "sessions": [], "benchmarks": []},
        "'sessions' is a list, not an object",
    ),
    "session a string": (
        {"context": {"warpgauge_format": "baseline/1"}, "sessions": {"x": "y"}, "benchmarks": []},
        "'x' is a string, not an object",
    ),
}


@pytest.mark.parametrize("case", WHOLE)
def test_a_document_of_the_wrong_shape(tmp_path: Path, case: str) -> None:
    document, sentence = WHOLE[case]
    assert sentence in fault(write(tmp_path / "result.json", document))


def test_a_key_that_is_there_twice(tmp_path: Path) -> None:
    path = tmp_path / "result.json"
    path.write_text(TWO_KEYS)
    assert "holds the key 'a' twice in one object" in fault(path)


ROWS = {
    "not an object": (run([row("a/a"), 7]), "row 2: is a number, not an object"),  # type: ignore[list-item]
    "no name": (without("name"), "row 2: has no 'name'"),
    "empty name": (changed(name=" "), "'name' is empty"),
    "name a number": (changed(name=3), "row 2: 'name' is a number"),
    "twice": (changed(name="a/a"), "row 2 ('a/a'): this benchmark is in the file twice"),
    "no unit": (without("time_unit"), "row 2 ('a/b'): has no 'time_unit'; use ns, us, ms or s"),
    "unknown unit": (changed(time_unit="min"), "has the time unit 'min'"),
    "unit a list": (changed(time_unit=["ns"]), "'time_unit' is a list"),
    "zero": (changed(process_medians=[1.0, 0.0]), "'process_medians' is 0; a time lies above"),
    "negative": (changed(real_time=-1.0), "'real_time' is -1; a time lies above zero"),
    "nan": (changed(process_medians=[float("nan")]), "'process_medians' is NaN"),
    "infinite": (changed(process_medians=[float("inf")]), "'process_medians' is infinite"),
    "huge": (changed(process_medians=[10**400]), "'process_medians' is infinite"),
    "tiny": (changed(process_medians=[5e-324]), "a time lies above zero"),
    "boolean": (changed(process_medians=[True]), "is a boolean, not a number"),
    "string": (changed(real_time="1.0"), "'real_time' is a string, not a number"),
    "no medians": (without("process_medians"), "has no 'process_medians'"),
    "medians empty": (changed(process_medians=[]), "'process_medians' is empty"),
    "medians a number": (changed(process_medians=1.0), "is a number, not a list"),
    "medians by session": (changed(process_medians={"x": [1.0]}), "is an object, not a list"),
    "not in sessions": (
        baseline([row("a", process_medians={"x": [1.0], "y": [1.0]})], {"x": {}}),
        "row 1 ('a'): names the session 'y', which 'sessions' lacks",
    ),
    "no session": (
        baseline([row("a", process_medians={})], {"x": {}}),
        "'process_medians' is empty",
    ),
    "a list in a baseline": (baseline([row("a")], {"x": {}}), "is a list, not an object"),
    "empty session": (
        baseline([row("a", process_medians={"x": []})], {"x": {}}),
        "'process_medians of x' is empty",
    ),
    "google, no time": (google([{"name": "a", "time_unit": "ns"}]), "'real_time' is null"),
    "google, zero": (google([google_row("a", 0.0)]), "'real_time' is 0; a time lies above zero"),
    "google, kind": (google([google_row("a", 1.0, run_type="x")]), "'run_type' is neither"),
    "google, twice": (
        google([google_row("a", 1.0, repetition_index=0)] * 2),
        "row 2 ('a'): this benchmark is in the file twice",
    ),
    "google, twice without a number": (
        {"benchmarks": [google_row("a", 1.0)] * 2},
        "row 2 ('a'): this benchmark is in the file twice",
    ),
}


@pytest.mark.parametrize("case", ROWS)
def test_a_row_that_cannot_be_used(tmp_path: Path, case: str) -> None:
    document, sentence = ROWS[case]
    assert sentence in fault(write(tmp_path / "result.json", document))


def test_a_name_with_an_escape_sequence_is_told_inert(tmp_path: Path) -> None:
    message = fault(write(tmp_path / "result.json", run([row("a\x1b[31m", real_time=0)])))
    assert message.isprintable()
    assert "\\x1b[31m" in message


def fault(path: Path) -> str:
    """The sentence of the error that loading `path` raises."""
    with pytest.raises(UserError) as raised:
        load(path)
    assert raised.value.status is ExitStatus.BAD_USAGE
    sentence = str(raised.value)
    assert sentence.startswith(str(path))
    assert "\n" not in sentence
    return sentence
