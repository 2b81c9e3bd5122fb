# SPDX-License-Identifier: Apache-2.0
"""Every unusable file gives one sentence that names the file, the row and the fault."""

from __future__ import annotations

import gzip
import json
import math
from pathlib import Path

import pytest
from conftest import Loader

from builders import Json, baseline, google, google_row, pairs, row, run, write
from refusal import fault

GOOD = json.dumps(run([row("a/b")]))
HEAD = '{"context": {"warpgauge_format": "run/1"}'

CONTENTS: dict[str, tuple[str | bytes, str]] = {
    "empty": ("", "is empty"),
    "blank": (" \n\t", "is empty"),
    "truncated": (GOOD[:-20], "ends in the middle"),
    "truncated in a string": (GOOD[: GOOD.index("boot-1") + 3], "ends in the middle"),
    "html": ("<!DOCTYPE html><html></html>", "is an HTML or XML page"),
    "merge conflict": (f"<<<<<<< HEAD\n{GOOD}", "unresolved merge conflict"),
    "no json": ("name,time\na,1\n", "is not JSON (line 1, column 1"),
    "list": ("[]", "holds a list instead of"),
    "string": ('"benchmarks"', "holds a string instead of"),
    "null": ("null", "holds null instead of"),
    "nesting": ("[" * 200_000, "nested too deeply"),
    "nesting in a row": (
        '{"benchmarks": [{"name": "n", "x": ' + '{"x": [' * 50_000 + "]}" * 50_000 + "}]}",
        "is nested too deeply",
    ),
    "two documents": (GOOD * 2, "is not JSON (line 1, column"),
    "a console's table": ("2026-11-20T10:00:00\nRunning ./b\n", "is not JSON (line 1, column 5"),
    "many nulls": ('{"benchmarks": [' + "null, " * 500_000 + "null]}", "row 1: is null, not an"),
    "number of 5000 digits": ('{"a": ' + "9" * 5000 + "}", "a number that is too long"),
    "UTF-16 with a mark": (GOOD.encode("utf-16"), "so it is UTF-16 or a binary file"),
    "UTF-16 without a mark": (GOOD.encode("utf-16-le"), "so it is UTF-16 or a binary file"),
    "Latin-1": (GOOD.replace("a/b", "gr\xf6\xdfe").encode("latin-1"), "is not UTF-8 text (byte "),
    "a surrogate as bytes": (b'{"\xed\xa0\x80": 1}', "is not UTF-8 text (byte 3)"),
    "gzip": (gzip.compress(GOOD.encode()), "zero bytes"),
    "a program": (b"\x7fELF\x02\x01\x01\x00", "is a program, not a result"),
    "Google Benchmark's CSV": (
        'name,iterations,real_time,cpu_time,time_unit\n"BM_a",1,1,1,ns\n',
        "is Google Benchmark's CSV; run the program with --benchmark_out_format=json",
    ),
    "zeros behind a crash": (GOOD[:50].encode() + bytes(4046), "or was cut off by a crash"),
    "a page": (b"\xef\xbb\xbf\n<!DOCTYPE html>", "is an HTML or XML page, not JSON; fetch the fi"),
    "a mark only": (b"\xef\xbb\xbf", "is empty"),
    "twice in context": ('{"context": {"a": "1", "a": "2"}}', ": holds the key 'a' twice"),
    "twice in a run's": (HEAD[:-1] + ', "a": 1, "a": 1}, "benchmarks": []}', "the key 'a' twice"),
    "twice in a row, with spaces": (
        HEAD + ', "benchmarks": [{"name" : "n", "name": "n"}]}',
        "twice",
    ),
    "twice in a row, on two lines": (
        HEAD + ', "benchmarks": [{"name"\n: "n", "name": "n"}]}',
        "twice",
    ),
    "twice in google, with spaces": (
        json.dumps(google([google_row("n", 5.0)])).replace(
            '"cpu_time"', '"real_time" : 1, "cpu_time"'
        ),
        "twice",
    ),
    "lists twice": (HEAD + ', "benchmarks": [], "benchmarks": []}', "the key 'benchmarks' twice"),
    "twice in a row": (
        HEAD + ', "benchmarks": [{"name": "n", "a": 1, "a": 2}]}',
        "row 1 ('n'): holds the",
    ),
    "twice in session": (
        HEAD + ', "benchmarks": [{"name": "n", "process_medians": {"s": [1], "s": [2]}}]}',
        ": holds the key 's' twice in one object; keep one of them",
    ),
    # What Google Benchmark writes for a counter of the user's that is called "real_time".
    "twice in google, counter": (
        '{"benchmarks": [{"name": "n", "real_time": 5, "time_unit": "ns", "real_time": 1}]}',
        "row 1 ('n'): holds the key 'real_time' twice in one object; keep one",
    ),
    **{
        f"half a character in {text}": (GOOD.replace("a/b", text), "holds half of a surrogate pair")
        for text in (r"\\\ud83d", r"\\ud83d\ude80", r"\ude80\ud83d", r"\ud83d\n\ude80")
    },
    # Comparing each key with each would take hours.
    "twice among many": (
        "{" + ", ".join(f'"{key}": 0' for key in range(200_000)) + ', "7": 1}',
        "the key '7' twice",
    ),
}


@pytest.mark.parametrize("case", CONTENTS)
def test_content_that_is_no_result(tmp_path: Path, case: str) -> None:
    content, sentence = CONTENTS[case]
    path = tmp_path / "result.json"
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    assert sentence in fault(path)


def changed(**keys: object) -> Json:
    """A run of two rows whose second has `keys` in place of its own."""
    return run([row("a/a"), {**row("a/b"), **keys}])


def without(key: str) -> Json:
    return run([row("a/a"), {k: value for k, value in row("a/b").items() if k != key}])


def recorded(medians: object, **keys: object) -> Json:
    """A baseline of one row, of the session x."""
    return baseline([row("a", process_medians=medians, **keys)], {"x": {}})


def aggregate(kind: str) -> Json:
    names = {"run_name": "f", "run_type": "aggregate", "aggregate_name": kind}
    return google_row(f"f_{kind}", 1.0, **names)


_ONE_ROUND: Json = {"process_medians": [1.0], "process_rounds": [1]}
_TWO_ROUNDS: Json = {"process_medians": [1.0, 1.0], "process_rounds": [1, 2]}
_WRONG_OF_A_PAIR: dict[str, tuple[object, ...]] = {
    "log_ratio": (True, "1", math.nan, math.inf, 701.0, []),
    "look": (0, -1, 1.5, "1", None, 10**30),
    "slices": (-1, 1.5, None),
    "base_first": (0, "yes", None),
}
_WRONG: tuple[object, ...] = (0, -1.0, True, "1", math.nan, math.inf, [])

DOCUMENTS: list[tuple[Json, str]] = [
    ({"context": {}}, "has no 'benchmarks'"),
    ({"benchmarks": None}, "'benchmarks' is null, not a list"),
    ({"benchmarks": {}}, "'benchmarks' is an object, not a list"),
    (run([]), "holds no benchmark"),
    ({"context": [], "benchmarks": [row("a")]}, "'context' is a list"),
    (
        run([row("a")], warpgauge_format="run/2"),
        "has the format 'run/2'; this warpgauge reads run/1 and baseline/1; update",
    ),
    (google([aggregate("BigO")]), "holds no measured time"),
    (baseline([row("a")], {}), "'sessions' is empty"),
    ({**baseline([], {}), "sessions": []}, "'sessions' is a list, not an object"),
    ({**baseline([], {}), "sessions": None}, "has no 'sessions'"),
    ({**baseline([], {}), "sessions": {"x": "y"}}, ", session 'x': 'x' is a string, not an object"),
    (run([row("a")], gpu_name="x" * 200_000), "'gpu_name' of 'context' is longer than 131072 char"),
    ({**run([]), "benchmarks": [row("a/a"), 7]}, "row 2: is a number, not an object"),
    (without("name"), "row 2: has no 'name'"),
    (changed(name=" "), "'name' is empty"),
    (changed(name=3), "row 2: 'name' is a number"),
    (changed(name="a/a"), "row 2 ('a/a'): this benchmark is in the file twice"),
    (without("time_unit"), "row 2 ('a/b'): has no 'time_unit'; use ns, us, ms or s"),
    (changed(time_unit="min"), "has the time unit 'min'"),
    (changed(time_unit=["ns"]), "'time_unit' is a list"),
    (changed(process_medians=[1.0, 0.0]), "'process_medians' is 0; a time must be positive"),
    (changed(process_medians=[-0.0]), "'process_medians' is -0; a time must be positive"),
    (changed(process_medians=[0]), "'process_medians' is 0; a time must be positive"),
    (changed(real_time=-1.0), "'real_time' is -1; a time must be positive"),
    (changed(process_medians=[float("nan")]), "'process_medians' is NaN"),
    (changed(process_medians=[float("inf")]), "'process_medians' is infinite"),
    (changed(process_medians=[10**400]), "'process_medians' is infinite"),
    (changed(process_medians=[5e-324]), "a time must be positive"),
    (changed(process_medians=[True]), "is a boolean, not a number"),
    (changed(real_time="1.0"), "'real_time' is a string, not a number"),
    (without("process_medians"), "has no 'process_medians'"),
    (changed(process_medians=[]), "'process_medians' is empty"),
    (changed(process_medians=1.0), "is a number, not a list"),
    (changed(process_medians={"x": [1.0]}), "is an object, not a list"),
    (changed(name="n" * 10**6), "'name' is longer than 4096 characters; shorten it"),
    (changed(name="n\ud800"), "n\\ud800'; rename it"),
    (changed(**{"\udc00": 1}), "holds half of a surrogate pair in "),
    (run([row("a\x1b[31m", real_time=0)]), "'a\\x1b[31m'"),
    (changed(registers="40"), "row 2 ('a/b'): the counter 'registers' is a string, not a number"),
    (changed(throttled=None), "the counter 'throttled' is null, not a number"),
    *(
        (changed(throttled=value), "the counter 'throttled' is not finite")
        for value in (math.inf, -math.inf, 10**400)
    ),
    (
        changed(**_ONE_ROUND, pairs=[{"base_first": True, "log_ratio": 0.1}]),
        "'pairs' has a log_ratio without slices",
    ),
    (
        changed(**_TWO_ROUNDS, pairs=[{"base_first": True, "look": 2}, {"base_first": True}]),
        "'pairs' has a look before that of an earlier round",
    ),
    (changed(host_clock=True), "the counter 'host_clock' is a boolean, not"),
    (recorded({"x": [1.0]}, local_bytes="0"), "row 1 ('a'): the counter 'local_bytes' is a string"),
    (
        google([google_row("a", 1.0, items_per_second="fast")]),
        "row 1 ('a'): the counter 'items_per_second' is a string, not a number; measure again",
    ),
    (google([google_row("a", 1.0, x=None)]), "the counter 'x' is null"),
    *(
        (
            changed(process_rounds=wrong),
            "'process_rounds' is not a list of integers from 1 to 10000",
        )
        for wrong in (1, None, [0, 1], [1.5], [True], ["1"], [10**30])
    ),
    (changed(process_rounds=[1, 2, 3, 4, 5, 6, 1]), "names a round twice"),
    (changed(process_rounds=[1]), "has 1 entry for 7 processes"),
    (changed(pairs={"a": 1}), "'pairs' is not a list of pairs"),
    (changed(elapsed=[1.0]), "'elapsed' has 1 entry for 0 processes"),
    (changed(pairs=pairs([1.0])), "'pairs' has 1 entry for 0 processes"),
    *(
        (changed(**_ONE_ROUND, elapsed=[one]), "is not a list of positive numbers")
        for one in _WRONG
    ),
    *(
        (changed(**_ONE_ROUND, pairs=[{"base_first": True, key: wrong}]), "is not a list of pairs")
        for key, values in _WRONG_OF_A_PAIR.items()
        for wrong in values
    ),
    (recorded({"x": [1.0], "y": [1.0]}), "row 1 ('a'): names the session 'y', which 'sessions' l"),
    (recorded({}), "'process_medians' is empty"),
    (recorded([1.0]), "is a list, not an object"),
    (recorded({"x": []}), "'process_medians of x' is empty"),
    (google([{"name": "a", "time_unit": "ns"}]), "row 1 ('a'): has no 'real_time'"),
    (google([google_row("a", 0.0)]), "'real_time' is 0; a time must be positive"),
    (google([google_row("a", 1.0, run_type="x")]), "'run_type' is neither"),
    (google([google_row("a", 1.0, repetition_index=0)] * 2), "row 2 ('a'): this benchmark is in"),
    (google([aggregate("mean")] * 2), "row 2 ('f_mean'): this benchmark is in the file twice"),
    (google([google_row("n", 1.0, run_name="r" * 5000)]), "'run_name' is"),
]


@pytest.mark.parametrize(("document", "sentence"), DOCUMENTS)
def test_a_document_that_cannot_be_used(tmp_path: Path, document: Json, sentence: str) -> None:
    assert sentence in fault(write(tmp_path / "result.json", document))


def test_whatever_google_benchmark_itself_writes_is_no_odd_counter(loaded: Loader) -> None:
    plain = google_row(
        "a", 1.0, label="x", aggregate_unit="time", skipped=False, error_occurred=False,
        error_message="", skip_message="", big_o="N", items_per_second=float("nan"), y=-math.inf,
        total_allocated_bytes=7,
    )  # fmt: skip
    assert loaded(google([plain])).rows["a"].counters == {"total_allocated_bytes": 7.0}
