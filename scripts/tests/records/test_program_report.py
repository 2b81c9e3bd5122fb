# SPDX-License-Identifier: Apache-2.0
"""A whole report counts; nothing else is one."""

from __future__ import annotations

import json
import math
import os
from pathlib import Path

import pytest

from warpgauge.records import program_report

CONTEXT = {"date": "2026-11-20", "caches": [{"type": "Data", "level": 1}], "gpu_name": "G"}
NAMES = ["a/x", "a/y", "a/z"]
ROW = {"run_type": "iteration", "real_time": 2.0, "time_unit": "us", "iterations": 3}


def text() -> str:
    """As Google Benchmark writes it, the braces where it has them."""
    rows = [
        "    " + json.dumps({**ROW, "name": name, "label": 'a "{}" label'}, indent=6)[:-1] + "    }"
        for name in NAMES
    ]
    context = json.dumps(CONTEXT, indent=4)[:-1]
    joined = ",\n".join(rows)
    return f'{{\n  "context": {context}  }},\n  "benchmarks": [\n{joined}\n  ]\n}}\n'


def test_it_counts_only_if_it_is_whole(tmp_path: Path) -> None:
    path, whole = tmp_path / "out.json", text()
    for length in range(len(whole) - 1):  # the line's end is none of JSON's
        path.write_text(whole[:length])
        assert program_report.read(path) is None
    path.write_text(whole[:-1])
    report = program_report.read(path)
    assert report is not None
    assert report.context == {"date": "2026-11-20", "gpu_name": "G"}
    assert [*report.rows] == NAMES


def test_characters_of_two_halves_and_bytes_that_are_no_text_lose_no_row(tmp_path: Path) -> None:
    path = tmp_path / "out.json"
    whole = text().replace('"gpu_name": "G"', r'"gpu_name": "\ud83d\ude00"')
    path.write_bytes(whole.encode().replace(b" label", b"\x1b\xff"))
    report = program_report.read(path)
    assert report is not None
    assert report.context["gpu_name"] == "\U0001f600"
    assert report.rows["a/z"].label == 'a "{}"\x1b\ufffd'


@pytest.mark.parametrize(
    "written",
    [
        "",
        "<html>",
        "[" * 100_000,
        "null",
        '{"context": {}, "benchmarks": {}}',
        '{"context": [], "benchmarks": []}',
        '{"context": {}, "benchmarks": [{"name": ["a"]}]}',
        '{"context": {}, "benchmarks": [7]}',
        # What no run file can hold, for no reader takes it.
        '{"context": {}, "benchmarks": [{"name": " "}]}',
        '{"context": {}, "benchmarks": [{"name": "' + "x" * 5000 + '"}]}',
        '{"context": {}, "benchmarks": [{"name": "a", "label": "\\ud83d"}]}',
        '{"context": {"note": "' + "x" * 200_000 + '"}, "benchmarks": []}',
    ],
)
def test_what_is_no_report_is_none(tmp_path: Path, written: str) -> None:
    (tmp_path / "out.json").write_text(written)
    assert program_report.read(tmp_path / "out.json") is None


def test_what_is_no_file_or_too_large_is_none(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    os.mkfifo(tmp_path / "pipe")
    for path in (tmp_path, tmp_path / "absent", tmp_path / "pipe"):
        assert program_report.read(path) is None
    path = tmp_path / "large.json"
    path.write_text(text())
    monkeypatch.setattr(program_report, "_LARGEST", len(text()) - 1)
    assert program_report.read(path) is None


@pytest.mark.parametrize("time", [True, "1.0", None, 0, -1.0, math.nan, math.inf])
def test_what_is_no_time_makes_an_error_of_its_row_alone(time: object) -> None:
    rows = [{**ROW, "name": "a", "real_time": time}, {**ROW, "name": "b"}]
    report = program_report.parsed(json.dumps({"context": {}, "benchmarks": rows}).encode())
    assert report is not None
    assert "'real_time'" in str(report.rows["a"].error)
    assert report.rows["b"].error is None


def test_a_counter_that_is_called_as_the_time_is_makes_an_error_and_no_time() -> None:
    row = json.dumps({**ROW, "name": "a"})[:-1]
    rows = f'{row}, "real_time": 9.0}}, {json.dumps({**ROW, "name": "b"})}'
    report = program_report.parsed(f'{{"context": {{}}, "benchmarks": [{rows}]}}'.encode())
    assert report is not None
    assert "holds the key 'real_time' twice" in str(report.rows["a"].error)
    assert report.rows["b"].error is None
