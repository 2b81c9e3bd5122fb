# SPDX-License-Identifier: Apache-2.0
"""Plain Google Benchmark files of old and new versions: one process, its repetitions as values."""

from __future__ import annotations

import pytest
from conftest import Loader

from builders import Json, google, google_row
from warpgauge.records.model import Record


def times_ns(record: Record, name: str) -> list[float]:
    (times,) = record.rows[name].process_medians.values()
    return [time * 1e9 for time in times]


def aggregate(name: str, kind: str, time: float, **keys: object) -> Json:
    told = {"run_type": "aggregate", "run_name": name, "aggregate_name": kind}
    return google_row(f"{name}_{kind}", time, **told, **keys)


def test_runs_without_a_number_are_repetitions(loaded: Loader) -> None:
    """As in Google Benchmark's own tools/gbench/Inputs/test3_run0.json."""
    rows = [google_row("medium", time) for time in (8.0, 9.0)]
    assert times_ns(loaded({"benchmarks": rows}), "medium") == pytest.approx([8.0, 9.0])


def test_aggregates_are_not_mistaken_for_benchmarks(loaded: Loader) -> None:
    rows = [google_row("f", 5.0), aggregate("f", "mean", 9.0), aggregate("f", "cv", 0.1)]
    rows[-1]["aggregate_unit"] = "percentage"
    record = loaded(google(rows))
    assert list(record.rows) == ["f"]
    assert times_ns(record, "f") == pytest.approx([5.0])


def test_a_mean_stands_in_for_an_absent_median(loaded: Loader) -> None:
    record = loaded(google([aggregate("f", "mean", 9.0), aggregate("f", "stddev", 0.0)]))
    assert times_ns(record, "f") == pytest.approx([9.0])


def test_old_versions_tell_aggregates_by_the_end_of_the_name(loaded: Loader) -> None:
    names = ("f", "f", "f_mean", "f_median", "f_stddev", "g_median", "f_BigO", "f_RMS")
    rows: list[Json] = [
        {"name": name, "real_time": float(i + 1), "time_unit": "ns"} for i, name in enumerate(names)
    ]
    record = loaded(google(rows))
    assert list(record.rows) == ["f", "g"]
    assert times_ns(record, "f") == pytest.approx([1.0, 2.0])
    assert times_ns(record, "g") == pytest.approx([6.0])


def test_counters_are_those_of_the_middle_repetition(loaded: Loader) -> None:
    rows = [google_row("f", 5.0, bytes_per_second=b) for b in (30.0, 10.0, 20.0)]
    assert loaded(google(rows)).rows["f"].counters == {"bytes_per_second": 20.0}


def test_a_file_without_a_context_is_read(loaded: Loader) -> None:
    assert list(loaded({"benchmarks": [google_row("f", 5.0)]}).rows) == ["f"]
