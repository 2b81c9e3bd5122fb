# SPDX-License-Identifier: Apache-2.0
"""What is read of pytest-benchmark's, hyperfine's and Catch2's files, and which are refused."""

from __future__ import annotations

import math
from pathlib import Path
from statistics import stdev

import pytest
from conftest import Loader

import other_tools as tools
from builders import Json, write
from refusal import fault
from warpgauge.records.counters import Clock
from warpgauge.records.load import load
from warpgauge.records.model import Record, Source
from warpgauge.records.row import Row


def times(row: Row) -> tuple[float, ...]:
    (of_row,) = row.process_medians.values()
    return of_row


def of_xml(tmp_path: Path, results: str) -> Record:
    path = tmp_path / "x.xml"
    path.write_text(tools.catch2(results), encoding="utf-8")
    return load(path)


def test_the_rounds_of_pytest_benchmark_are_repetitions_in_seconds(loaded: Loader) -> None:
    name = "tests/test_a.py::test_b[1]"
    stats = {"median": 9.0, "stddev": 1.0, "rounds": 3, "iterations": 4, "data": [1e-3, 2e-3, 9e-3]}
    record = loaded(tools.pytest_benchmark({name: stats}))
    row = record.rows[name]
    assert (row.clock, row.iterations, times(row)) == (Clock.HOST, 12, (1e-3, 2e-3, 9e-3))
    assert (record.source, record.single_process) == (Source.PYTEST_BENCHMARK, True)
    (session,) = record.sessions.values()
    assert session.context["commit"] == "a" * 40
    assert session.context["dirty"] == "true"


def test_without_its_data_the_median_and_the_deviation_are_known(loaded: Loader) -> None:
    stats = {"median": 2e-3, "stddev": 2e-5, "rounds": 50, "iterations": 1}
    row = loaded(tools.pytest_benchmark({"a": stats})).rows["a"]
    assert row.seconds == pytest.approx(2e-3)
    assert stdev(map(math.log, times(row))) == pytest.approx(0.01, rel=0.01)


def test_each_time_of_hyperfine_is_a_process(loaded: Loader) -> None:
    record = loaded(tools.hyperfine({"./sort big": [1.0, 1.1, 0.9]}))
    row = record.rows["./sort big"]
    assert (times(row), row.cpu_seconds) == ((1.0, 1.1, 0.9), 0.75)
    assert record.source is Source.HYPERFINE
    assert not record.single_process


def test_parameters_are_axes_of_a_name(loaded: Loader) -> None:
    document = tools.hyperfine({"sort": [1.0]}, parameters={"n": "1"})
    document["results"] += tools.hyperfine({"sort": [2.0]}, parameters={"n": "2"})["results"]
    assert loaded(document).rows.keys() == {"sort/n:1", "sort/n:2"}


@pytest.mark.parametrize("statuses", [[0, 1], [None, 0]])
def test_a_command_that_failed_has_no_time(loaded: Loader, statuses: list[int | None]) -> None:
    document = tools.hyperfine({"good": [1.0]})
    document["results"] += tools.hyperfine({"bad": [1.0, 1.0]}, exit_codes=statuses)["results"]
    record = loaded(document)
    assert "a run failed" in str(record.rows["bad"].error)
    assert record.rows["good"].error is None
    assert len(record.faults) == 1


def test_a_benchmark_of_catch2_is_named_by_case_and_sections_in_nanoseconds(
    tmp_path: Path,
) -> None:
    section = f'<Section name="big">{tools.result("b", 300.0)}</Section>'
    record = of_xml(tmp_path, tools.result("a", 200.0, 4.0, 50) + section + tools.result("c", 5e3))
    assert {name: row.seconds for name, row in record.rows.items()} == pytest.approx(
        {"sorting/a": 200e-9, "sorting/big/b": 300e-9, "sorting/c": 5e-6}
    )
    row = record.rows["sorting/a"]
    assert stdev(map(math.log, times(row))) == pytest.approx(0.02, rel=0.01)
    assert (row.iterations, len(times(row))) == (100, 50)
    assert (record.source, record.single_process) == (Source.CATCH2, True)


def test_a_benchmark_of_catch2_that_threw_is_an_error(tmp_path: Path) -> None:
    thrown = '<BenchmarkResults name="b"><failed message="no memory"/></BenchmarkResults>'
    nothing = '<BenchmarkResults name="c"/>'
    rows = of_xml(tmp_path, tools.result("a", 1.0) + thrown + nothing).rows
    assert rows["sorting/b"].error == "no memory"
    assert "mean" in str(rows["sorting/c"].error)
    assert rows["sorting/a"].error is None


def test_catch2_before_3_is_read(tmp_path: Path) -> None:
    path = tmp_path / "x.xml"
    case = f'<TestCase name="t">{tools.result("a", 2.0)}</TestCase>'
    path.write_text(f'<Catch name="x"><Group name="x">{case}</Group></Catch>', encoding="utf-8")
    assert load(path).rows.keys() == {"t/a"}


def test_a_folder_of_nothing_but_xml_holds_processes_of_catch2(tmp_path: Path) -> None:
    for index in (1, 2):
        path = tmp_path / f"{index}.xml"
        path.write_text(tools.catch2(tools.result("a", index * 100.0)), encoding="utf-8")
    record = load(tmp_path)
    assert times(record.rows["sorting/a"]) == pytest.approx((1e-7, 2e-7))
    assert not record.single_process
    write(tmp_path / "1.json", tools.hyperfine({"a": [1.0]}))
    assert load(tmp_path).source is Source.HYPERFINE


def test_files_of_two_tools_are_no_side(tmp_path: Path) -> None:
    write(tmp_path / "1.json", tools.hyperfine({"a": [1.0]}))
    write(tmp_path / "2.json", tools.nvbench({"a": [tools.state(1.0)]}))
    assert "give files of one kind" in fault(tmp_path)


HALF = tools.catch2(tools.result("a", 1.0))[:-40]
BOMB = f'<!DOCTYPE x [<!ENTITY a "{"b" * 99}">]><Catch2TestRun name="&a;"></Catch2TestRun>'
REFUSED: dict[str, tuple[str | Json, str]] = {
    "cut off": (HALF, "is not whole XML (unclosed token"),
    "unknown encoding": ('<?xml version="1.0" encoding="no"?><Catch name="a"/>', "not whole XML"),
    "no benchmarks": (tools.catch2(""), "holds no benchmark"),
    "entities": (BOMB, "is an HTML or XML page"),
    "JSON of Catch2": (
        {"version": 1, "metadata": {"catch2-version": "3.5.0"}, "test-run": {}},
        "holds no benchmark results; run the program with --reporter xml::out=FILE",
    ),
    "no times": (tools.hyperfine({"a": []}), "'times' is a list, not a list of times"),
    "a time of zero": (tools.hyperfine({"a": [0.0]}), "a time must be positive"),
    "no command": (tools.hyperfine({"": [1.0]}), "'command' is empty"),
    "no result": (tools.hyperfine({}), "holds no benchmark"),
    "no statistics": (tools.pytest_benchmark({"a": {}}), "has no 'median'"),
    "hyperfine's CSV": ("command,mean,stddev,median\n", "run hyperfine with --export-json FILE"),
    "pytest-benchmark's CSV": ("name,min,max\n", "run pytest with --benchmark-json=FILE"),
    "nvbench's CSV": ("Benchmark,Device,Device Name\n", "run the program with --json FILE"),
}


@pytest.mark.parametrize("kind", REFUSED)
def test_a_file_that_cannot_be_used_is_one_sentence(tmp_path: Path, kind: str) -> None:
    content, sentence = REFUSED[kind]
    path = tmp_path / "x.json"
    if isinstance(content, str):
        path.write_text(content, encoding="utf-8")
    else:
        write(path, content)
    assert sentence in fault(path)
