# SPDX-License-Identifier: Apache-2.0
"""Plain Google Benchmark files of old and new versions: one process, its repetitions as values."""

from __future__ import annotations

import pytest
from conftest import Loader

from builders import Json, google, google_row
from warpgauge.records.model import Clock, Record, Source


def times_ns(record: Record, name: str) -> list[float]:
    (times,) = record.rows[name].process_medians.values()
    return [time * 1e9 for time in times]


def aggregate(name: str, kind: str, time: float, **keys: object) -> Json:
    told = {"run_type": "aggregate", "run_name": name, "aggregate_name": kind}
    return google_row(f"{name}_{kind}", time, **told, **keys)


def test_repetitions_of_a_benchmark_are_values_of_one_process(loaded: Loader) -> None:
    rows = [google_row("f/8", time, repetition_index=i) for i, time in enumerate((5.0, 7.0, 6.0))]
    record = loaded(google(rows))
    assert record.source is Source.GOOGLE_BENCHMARK
    assert len(record.sessions) == 1
    assert times_ns(record, "f/8") == pytest.approx([5.0, 7.0, 6.0])
    assert record.rows["f/8"].clock is Clock.HOST


def test_aggregates_are_not_mistaken_for_benchmarks(loaded: Loader) -> None:
    rows = [google_row("f", 5.0), aggregate("f", "mean", 9.0), aggregate("f", "cv", 0.1)]
    rows[-1]["aggregate_unit"] = "percentage"
    record = loaded(google(rows))
    assert list(record.rows) == ["f"]
    assert times_ns(record, "f") == pytest.approx([5.0])


def test_a_file_of_aggregates_only_gives_its_medians(loaded: Loader) -> None:
    kinds = {"mean": 9.0, "median": 5.0, "stddev": 1.0}
    record = loaded(google([aggregate("f", kind, time) for kind, time in kinds.items()]))
    assert times_ns(record, "f") == pytest.approx([5.0])


def test_a_mean_stands_in_for_an_absent_median(loaded: Loader) -> None:
    record = loaded(google([aggregate("f", "mean", 9.0), aggregate("f", "stddev", 0.0)]))
    assert times_ns(record, "f") == pytest.approx([9.0])


def test_fitted_rows_are_left_out(loaded: Loader) -> None:
    rows: list[Json] = [
        google_row("f/8", 5.0),
        {"name": "f_BigO", "run_name": "f", "run_type": "aggregate", "aggregate_name": "BigO"},
        {"name": "f_RMS", "run_name": "f", "run_type": "aggregate", "aggregate_name": "RMS"},
    ]
    assert list(loaded(google(rows)).rows) == ["f/8"]


def test_old_versions_tell_aggregates_by_the_end_of_the_name(loaded: Loader) -> None:
    names = ("f", "f", "f_mean", "f_median", "f_stddev", "g_median", "f_BigO", "f_RMS")
    rows: list[Json] = [
        {"name": name, "real_time": float(i + 1), "time_unit": "ns"} for i, name in enumerate(names)
    ]
    record = loaded(google(rows))
    assert list(record.rows) == ["f", "g"]
    assert times_ns(record, "f") == pytest.approx([1.0, 2.0])
    assert times_ns(record, "g") == pytest.approx([6.0])


def test_units_may_differ_from_row_to_row(loaded: Loader) -> None:
    rows = [google_row("f", 5.0), google_row("g", 5.0, time_unit="ms")]
    assert times_ns(loaded(google(rows)), "g") == pytest.approx([5e6])


@pytest.mark.parametrize(
    ("keys", "error"),
    [
        ({"error_occurred": True, "error_message": "boom"}, "boom"),
        ({"error_occurred": True}, "it gave no message"),
        ({"skipped": True, "skip_message": "no GPU"}, "skipped: no GPU"),
    ],
)
def test_one_failed_repetition_fails_the_benchmark(loaded: Loader, keys: Json, error: str) -> None:
    rows = [google_row("f", 5.0, repetition_index=0), google_row("f", 0.0, **keys)]
    record = loaded(google([*rows, google_row("g", 1.0)]))
    assert record.rows["f"].error == error
    assert record.rows["f"].process_medians == {}


def test_counters_are_those_of_the_middle_repetition(loaded: Loader) -> None:
    rows = [google_row("f", 5.0, bytes_per_second=b) for b in (30.0, 10.0, 20.0)]
    assert loaded(google(rows)).rows["f"].counters == {"bytes_per_second": 20.0}


def test_a_file_without_a_context_is_read(loaded: Loader) -> None:
    assert list(loaded({"benchmarks": [google_row("f", 5.0)]}).rows) == ["f"]
