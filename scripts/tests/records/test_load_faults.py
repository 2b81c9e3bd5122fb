# SPDX-License-Identifier: Apache-2.0
"""Every unusable file gives one sentence that names the file, the row and the fault."""

from __future__ import annotations

import json
import math
from pathlib import Path

import pytest
from conftest import Loader

from builders import Json, baseline, failed, google, google_row, row, run, write
from refusal import fault
from warpgauge.records.counters import KNOWN

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
    "nesting in a row": (
        '{"benchmarks": [{"name": "n", "x": ' + '{"x": [' * 50_000 + "]}" * 50_000 + "}]}",
        "is nested too deeply; give a result file",
    ),
    "two documents": (GOOD * 2, "is not JSON (line 1, column"),
    "a console's table": (
        "2026-11-20T10:00:00\nRunning ./bench\n",
        "is not JSON (line 1, column 5",
    ),
    "half a million nulls": (
        '{"benchmarks": [' + "null, " * 500_000 + "null]}",
        "row 1: is null, not an",
    ),
    "number of 5000 digits": ('{"a": ' + "9" * 5000 + "}", "a number too long"),
}


@pytest.mark.parametrize("case", CONTENTS)
def test_content_that_is_no_result(tmp_path: Path, case: str) -> None:
    content, sentence = CONTENTS[case]
    path = tmp_path / "result.json"
    path.write_text(content)
    assert sentence in fault(path)


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
    "no sessions": (
        {"context": {"warpgauge_format": "baseline/1"}, "benchmarks": []},
        "has no 'sessions'",
    ),
    "a book for a context": (
        {"context": {"gpu_name": "x" * 200_000}, "benchmarks": [row("a")]},
        "'gpu_name' of 'context' is longer than 131072 characters; shorten it",
    ),
    "session a string": (
        {"context": {"warpgauge_format": "baseline/1"}, "sessions": {"x": "y"}, "benchmarks": []},
        ", session 'x': 'x' is a string, not an object",
    ),
}


@pytest.mark.parametrize("case", WHOLE)
def test_a_document_of_the_wrong_shape(tmp_path: Path, case: str) -> None:
    document, sentence = WHOLE[case]
    assert sentence in fault(write(tmp_path / "result.json", document))


HEAD = '{"context": {"warpgauge_format": "run/1"}'
TWICE = {
    "context": ('{"context": {"a": "1", "a": "2"}, "benchmarks": []}', ": holds the key 'a' twice"),
    "run, context": (HEAD[:-1] + ', "a": 1, "a": 1}, "benchmarks": []}', "the key 'a' twice"),
    "run, list": (HEAD + ', "benchmarks": [], "benchmarks": []}', "the key 'benchmarks' twice"),
    "run, row": (HEAD + ', "benchmarks": [{"name": "n", "a": 1, "a": 2}]}', "row 1 ('n'): hol"),
    "session": (
        HEAD + ', "benchmarks": [{"name": "n", "process_medians": {"s": [1], "s": [2]}}]}',
        "row 1 ('n'): holds the key 's' twice in one object; keep one of them",
    ),
    # What Google Benchmark writes for a counter of the user's that is called "real_time".
    "google, counter": (
        '{"benchmarks": [{"name": "n", "real_time": 5, "time_unit": "ns", "real_time": 1}]}',
        "row 1 ('n'): holds the key 'real_time' twice in one object; keep one of them, or give one",
    ),
}


@pytest.mark.parametrize("case", TWICE)
def test_a_key_that_is_there_twice_is_never_a_choice_between_two(tmp_path: Path, case: str) -> None:
    content, sentence = TWICE[case]
    path = tmp_path / "result.json"
    path.write_text(content)
    assert sentence in fault(path)


def test_an_object_of_many_keys_with_one_twice_is_told_at_once(tmp_path: Path) -> None:
    path = tmp_path / "result.json"
    path.write_text("{" + ", ".join(f'"{key}": 0' for key in range(200_000)) + ', "7": 1}')
    assert "holds the key '7' twice" in fault(path)  # comparing each with each would take hours


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
    "minus zero": (changed(process_medians=[-0.0]), "'process_medians' is -0; a time lies above"),
    "an integer zero": (changed(process_medians=[0]), "'process_medians' is 0; a time lies above"),
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
    "long name": (changed(name="n" * 10**6), "'name' is longer than 4096 characters; shorten it"),
    "half a character": (changed(name="n\ud800"), "'n\\ud800' holds half a character; rename it"),
    "half a key": (changed(**{"\udc00": 1}), "row 2 ('a/b'): '\\udc00' holds half a character"),
    "counter a string": (
        changed(registers="40"),
        "row 2 ('a/b'): the counter 'registers' is a string, not a number; measure again, or remov",
    ),
    "counter null": (changed(throttled=None), "the counter 'throttled' is null, not a number"),
    "counter a boolean": (changed(host_clock=True), "the counter 'host_clock' is a boolean, not"),
    "counter a list": (changed(bytes_per_second=[1.0]), "the counter 'bytes_per_second' is a list"),
    "counter of a failed row": (
        run([row("a/a"), {**failed("a/b"), "source_line": "7"}]),
        "the counter 'source_line' is a string",
    ),
    "counter in a baseline": (
        baseline([row("a", process_medians={"x": [1.0]}, local_bytes="0")], {"x": {}}),
        "row 1 ('a'): the counter 'local_bytes' is a string",
    ),
    "google, counter": (
        google([google_row("a", 1.0, items_per_second="fast")]),
        "row 1 ('a'): the counter 'items_per_second' is a string, not a number; measure again",
    ),
    "google, counter null": (google([google_row("a", 1.0, x=None)]), "the counter 'x' is null"),
    "rounds a number": (
        changed(process_rounds=1),
        "'process_rounds' is a number, not a list; measu",
    ),
    "rounds null": (changed(process_rounds=None), "'process_rounds' is null, not a list"),
    "rounds from zero": (changed(process_rounds=[0, 1]), "'process_rounds' holds what is no whole"),
    "rounds of fractions": (
        changed(process_rounds=[1.0]),
        "holds what is no whole number from 1 on",
    ),
    "rounds of booleans": (
        changed(process_rounds=[True]),
        "holds what is no whole number from 1 on",
    ),
    "rounds twice": (changed(process_rounds=[1, 2, 3, 4, 5, 6, 1]), "names a round twice"),
    "too few rounds": (changed(process_rounds=[1]), "has 1 numbers for 7 process_medians"),
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
    "google, no time": (
        google([{"name": "a", "time_unit": "ns"}]),
        "row 1 ('a'): has no 'real_time'",
    ),
    "google, zero": (google([google_row("a", 0.0)]), "'real_time' is 0; a time lies above zero"),
    "google, kind": (google([google_row("a", 1.0, run_type="x")]), "'run_type' is neither"),
    "google, twice": (
        google([google_row("a", 1.0, repetition_index=0)] * 2),
        "row 2 ('a'): this benchmark is in the file twice",
    ),
    "google, one aggregate twice": (
        google(
            [google_row("f_mean", 1.0, run_name="f", run_type="aggregate", aggregate_name="mean")]
            * 2
        ),
        "row 2 ('f_mean'): this benchmark is in the file twice",
    ),
    "google, long run name": (google([google_row("n", 1.0, run_name="r" * 5000)]), "'run_name' is"),
    "nvbench": (
        {
            "meta": {"argv": ["copy.bench"], "version": {"json": {"major": 1}, "nvbench": {}}},
            "devices": [{"id": 0, "name": "NVIDIA H100"}],
            "benchmarks": [{"name": "copy", "index": 0, "axes": [], "states": []}],
        },
        "result.json: is nvbench's JSON, which warpgauge does not read; compare it with nvbench's",
    ),
}


@pytest.mark.parametrize("case", ROWS)
def test_a_row_that_cannot_be_used(tmp_path: Path, case: str) -> None:
    document, sentence = ROWS[case]
    assert sentence in fault(write(tmp_path / "result.json", document))


def test_every_counter_that_a_run_file_of_ours_has_is_known() -> None:
    ours = Path(__file__).parents[3] / "baselines"
    files = [json.loads(path.read_text()) for path in ours.glob("*/*.json")]
    rows = [one for file in files for one in file["benchmarks"]]
    numbers = {key for one in rows for key, value in one.items() if isinstance(value, float)}
    assert numbers - {"real_time", "cpu_time"} <= KNOWN
    assert "registers" in numbers


def test_what_is_no_counter_of_ours_may_be_anything(loaded: Loader) -> None:
    side = loaded(run([row("a/b", remark="x", tags=["y"], registers=40)]))
    assert side.rows["a/b"].counters == {"registers": 40.0}


def test_whatever_google_benchmark_itself_writes_is_no_odd_counter(loaded: Loader) -> None:
    plain = google_row(
        "a", 1.0, label="x", aggregate_unit="time", skipped=False, error_occurred=False,
        error_message="", skip_message="", big_o="N", items_per_second=float("nan"), y=-math.inf,
        total_allocated_bytes=7,
    )  # fmt: skip
    assert loaded(google([plain])).rows["a"].counters == {"total_allocated_bytes": 7.0}


def test_a_name_with_an_escape_sequence_is_told_inert(tmp_path: Path) -> None:
    message = fault(write(tmp_path / "result.json", run([row("a\x1b[31m", real_time=0)])))
    assert message.isprintable()
    assert "\\x1b[31m" in message
