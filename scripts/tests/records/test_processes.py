# SPDX-License-Identifier: Apache-2.0
"""Several plain Google Benchmark files as the processes of one side."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest

from builders import Json, failed, google, google_row, write
from warpgauge.records.counters import Clock
from warpgauge.records.load import load
from warpgauge.records.model import Record, Source
from warpgauge.system.errors import UserError


def files(folder: Path, documents: Sequence[Json]) -> list[Path]:
    return [write(folder / f"p{index}.json", one) for index, one in enumerate(documents, 1)]


def repeated(name: str, *times: float, **keys: object) -> list[Json]:
    return [google_row(name, time, **keys) for time in times]


def merged(folder: Path, *processes: Sequence[Json], **context: object) -> Record:
    files(folder, [google(rows, **context) for rows in processes])
    return load(folder)


def fault(folder: Path) -> str:
    with pytest.raises(UserError) as caught:
        load(folder)
    return str(caught.value)


def test_a_file_counts_by_the_median_of_its_repetitions(tmp_path: Path) -> None:
    microseconds = repeated("a/b", 5.0, 3.0, time_unit="us")
    record = merged(tmp_path, repeated("a/b", 1.0, 2.0, 9.0), microseconds)
    (times,) = record.rows["a/b"].process_medians.values()
    assert times == pytest.approx((2e-9, 4e-6))
    assert record.source is Source.GOOGLE_BENCHMARK
    assert not record.single_process
    assert record.rows["a/b"].clock is Clock.HOST


def test_files_of_a_folder_are_processes_of_the_same_benchmarks_or_one_suite(
    tmp_path: Path,
) -> None:
    for name in ("a/b", "a/c"):
        files(tmp_path / name, [google(repeated("a/b", 1.0)), google(repeated(name, 3.0))])
    record, suite = load(tmp_path / "a/b"), load(tmp_path / "a/c")
    assert not record.single_process
    assert record.path == tmp_path / "a/b"
    assert suite.single_process
    assert suite.rows.keys() == {"a/b", "a/c"}


def test_one_file_is_a_single_process(tmp_path: Path) -> None:
    record = merged(tmp_path, repeated("a/b", 1.0, 2.0))
    assert record.single_process
    assert record == load(tmp_path / "p1.json")


def test_a_row_that_a_file_lacks_is_an_error_that_names_the_file(tmp_path: Path) -> None:
    both = [*repeated("a/b", 1.0), *repeated("a/c", 1.0)]
    record = merged(tmp_path, both, repeated("a/b", 1.0), both, repeated("a/b", 1.0))
    assert record.rows["a/b"].error is None
    assert record.rows["a/c"].error == (
        "missing in p2.json and 1 more file: measure it in every process of this side"
    )
    assert record.rows["a/c"].process_medians == {}


def test_a_row_that_failed_is_an_error_that_names_the_file_or_skipped_in_all(
    tmp_path: Path,
) -> None:
    lost = failed("a/b", "out of memory")
    failing = merged(tmp_path, repeated("a/b", 1.0), [lost], [lost], repeated("a/c", 1.0))
    assert failing.rows["a/b"].error == "in p2.json (and in 1 more file): out of memory"
    assert not failing.rows["a/b"].skipped
    later = {**google_row("a/b", 0.0), "skipped": True, "skip_message": "no such GPU"}
    assert merged(tmp_path / "all", [later], [later]).rows["a/b"].skipped
    assert not merged(tmp_path / "one", [later], repeated("a/b", 1.0)).rows["a/b"].skipped


def test_the_context_is_what_the_files_agree_on(tmp_path: Path) -> None:
    about: list[Json] = [
        {"date": "2026-11-20T10:00:00+00:00", "host_name": "x", "gpu_name": "G"},
        {"date": "2026-11-20T12:00:00+00:00", "host_name": "y"},
        {"date": "2026-11-20T11:00:00+00:00", "host_name": "x"},
    ]
    documents = [google(repeated("a/b", 1.0), **context) for context in about]
    files(tmp_path, documents)
    (session,) = load(tmp_path).sessions.values()
    assert session.context == {
        "date": "2026-11-20T12:00:00+00:00",
        "gpu_name": "G",
        "processes": "3",
    }


@pytest.mark.parametrize("key", ["gpu_name", "build_type"])
def test_files_of_different_gpus_or_builds_are_no_side(tmp_path: Path, key: str) -> None:
    documents = [google(repeated("a/b", 1.0), **{key: value}) for value in ("one", "two")]
    first, second = files(tmp_path, documents)
    assert fault(tmp_path) == (
        f"{second}: '{key}' is 'two', but 'one' in {first}; give files with the same value"
    )


def of_programs(folder: Path, *processes: tuple[str, Sequence[str]]) -> Path:
    """A folder of a file for each program and the names that it measured."""
    documents = [
        google([google_row(name, 10.0 + at) for name in names], executable=program)
        for at, (program, names) in enumerate(processes)
    ]
    files(folder, documents)
    return folder


VECTOR, DEQUE = "./vector.bench", "/build/deque.bench"


@pytest.mark.parametrize(
    ("programs", "names"),
    [
        # As `ab` does, all benchmarks of both.
        ([(VECTOR, ["push", "ctor"]), (DEQUE, ["pop", "ctor"])],
         ["vector/push", "vector/ctor", "deque/pop", "deque/ctor"]),
        ([(VECTOR, ["ctor"]), (DEQUE, ["ctor"]), ("./map", ["find"])],
         ["vector/ctor", "deque/ctor", "find"]),
        ([("./set.a", ["ctor"]), ("./set.b", ["ctor"])], ["set.a/ctor", "set.b/ctor"]),
        # Nothing is shared.
        ([(VECTOR, ["push"]), (DEQUE, ["pop"])], ["push", "pop"]),
        # One program from two folders, and programs that are not all known.
        ([("old/bench", ["a"]), ("./bench", ["a"])], ["a"]),
        ([("./x", ["a"]), ("", ["a"])], ["a"]),
    ],
)  # fmt: skip
def test_programs_of_a_folder_that_share_a_name_are_told_apart(
    tmp_path: Path, programs: Sequence[tuple[str, Sequence[str]]], names: Sequence[str]
) -> None:
    record = load(of_programs(tmp_path, *programs))
    assert list(record.rows) == names
    assert all(row.name == name and row.error is None for name, row in record.rows.items())


def test_programs_may_have_several_processes_each(tmp_path: Path) -> None:
    processes = [
        (VECTOR, ["push", "ctor"]),
        (DEQUE, ["ctor"]),
        (VECTOR, ["ctor"]),
        ("./map", ["find"]),
    ]
    record = load(of_programs(tmp_path, *processes))
    times = {name: [*row.process_medians.values()] for name, row in record.rows.items()}
    assert times == {
        "vector/push": [],
        "vector/ctor": [pytest.approx((10e-9, 12e-9))],
        "deque/ctor": [pytest.approx((11e-9,))],
        "find": [pytest.approx((13e-9,))],
    }
    assert (record.rows["vector/push"].error or "").startswith("missing in p3.json: ")
    assert not record.single_process
