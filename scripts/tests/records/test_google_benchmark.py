# SPDX-License-Identifier: Apache-2.0
"""Files as the versions of Google Benchmark from 1.5 on write them, each with what it is known for.

1.5.0 has neither family numbers nor aggregate units; 1.6 brought cv and `aggregate_unit`; 1.8 the
message of a skipped benchmark, the version of the library and the schema's.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from statistics import median, stdev

import pytest
from conftest import Loader

from builders import Json, google, google_row, write
from warpgauge.records.load import load
from warpgauge.records.row import Row
from warpgauge.system.errors import UserError

CONTEXT = """
  "context": {
    "date": "2026-11-20T10:00:00+00:00",
    "host_name": "machine",
    "executable": "./bench_copy",
    "num_cpus": 2,
    "mhz_per_cpu": 2100,
    "cpu_scaling_enabled": false,
    "caches": [
      {
        "type": "Data",
        "level": 1,
        "size": 49152,
        "num_sharing": 1
      }
    ],
    "load_avg": [0.13,0.3,0.41],%s
    "library_build_type": "release"
  },
  "benchmarks": [
"""
NEWER_CONTEXT = CONTEXT % '\n    "library_version": "v1.9.5",\n    "json_schema_version": 1,'
OLDER_CONTEXT = CONTEXT % ""


def measured(name: str, time: float, repetition: int = 0, of: int = 1, **keys: object) -> Json:
    """A row of one repetition, as 1.6 and later have it."""
    return {
        "name": name,
        "family_index": 0,
        "per_family_instance_index": 0,
        "run_name": name,
        "run_type": "iteration",
        "repetitions": of,
        "repetition_index": repetition,
        "threads": 1,
        "iterations": 1000,
        "real_time": time,
        "cpu_time": 0.5 * time,
        "time_unit": "ns",
        **keys,
    }


def aggregate(name: str, kind: str, value: float, **keys: object) -> Json:
    unit = "percentage" if kind in ("cv", "RMS") else "time"
    row = measured(f"{name}_{kind}", value, run_name=name, run_type="aggregate")
    del row["repetition_index"]
    return {**row, "aggregate_name": kind, "aggregate_unit": unit, **keys}


def statistics_of(name: str, **keys: object) -> list[Json]:
    values = {"mean": 52.0, "median": 50.0, "stddev": 5.0, "cv": 0.1}
    return [aggregate(name, kind, value, **keys) for kind, value in values.items()]


def old(row: Mapping[str, object]) -> Json:
    """The same row from 1.5.0."""
    newer = ("family_index", "per_family_instance_index", "aggregate_unit")
    return {key: value for key, value in row.items() if key not in newer}


def rows(folder: Path, entries: Sequence[Json], context: str = NEWER_CONTEXT) -> Mapping[str, Row]:
    """What is loaded of a file that is laid out as Google Benchmark does it."""
    lines = ",\n".join(json.dumps(row, indent=6) for row in entries)
    path = folder / "google.json"
    path.write_text(f"{{{context}{lines}\n  ]\n}}\n")
    return load(path).rows


def times_ns(row: Row) -> list[float]:
    (times,) = row.process_medians.values()
    return [time * 1e9 for time in times]


@pytest.mark.parametrize("context", [OLDER_CONTEXT, NEWER_CONTEXT])
def test_repetitions_with_their_statistics_are_the_repetitions(
    tmp_path: Path, context: str
) -> None:
    entries = [measured("f/8", time, i, 3) for i, time in enumerate((50.0, 49.0, 57.0))]
    entries += statistics_of("f/8")
    if context is OLDER_CONTEXT:
        entries = [old(row) for row in entries]
    found = rows(tmp_path, entries, context)
    assert list(found) == ["f/8"]
    assert times_ns(found["f/8"]) == pytest.approx([50.0, 49.0, 57.0])


def test_a_report_of_aggregates_only_is_its_medians(tmp_path: Path) -> None:
    found = rows(tmp_path, [*statistics_of("f"), *statistics_of("g")])
    assert list(found) == ["f", "g"]
    assert times_ns(found["g"]) == pytest.approx([50.0])
    assert found["g"].cpu_seconds == pytest.approx(25e-9)


@pytest.mark.parametrize("count", [2, 3, 10, 10**12])
@pytest.mark.parametrize("stddev", [0.0, 5.0, 400.0, 1e300])
def test_aggregates_alone_stand_for_repetitions_that_scatter_as_they_tell(
    tmp_path: Path, count: int, stddev: float
) -> None:
    entries = [aggregate("f", "median", 50.0, repetitions=count)]
    entries += [aggregate("f", "stddev", stddev, repetitions=count)]
    logs = [math.log(time / 50.0) for time in times_ns(rows(tmp_path, entries)["f"])]
    assert len(logs) == min(count, 100)
    assert median(logs) == pytest.approx(0.0, abs=1e-9)
    least, most = {0.0: (0.0, 1e-9), 5.0: (0.099, 0.1)}.get(stddev, (1.0, 10.0))
    assert least <= stdev(logs) <= most


@pytest.mark.parametrize("stddev", [-1.0, math.nan, math.inf, "5", None])
def test_a_standard_deviation_that_is_none_is_refused(tmp_path: Path, stddev: object) -> None:
    entries = [
        aggregate("f", "median", 50.0),
        {**aggregate("f", "stddev", 5.0), "real_time": stddev},
    ]
    with pytest.raises(UserError, match=r"row 2 \('f_stddev'\)"):
        rows(tmp_path, entries)


def test_a_typical_time_is_a_median_or_mean_in_time_and_nothing_else(tmp_path: Path) -> None:
    entries = [aggregate("f", "p99", 99.0), aggregate("f", "median", 50.0)]
    entries += [
        aggregate("g", "median", 0.5, aggregate_unit="percentage"),
        aggregate("g", "mean", 52),
    ]
    entries += [aggregate("h", "p99", 99.0), aggregate("h", "cv", 0.1)]
    found = rows(tmp_path, entries)
    assert times_ns(found["f"]) == pytest.approx([50.0])
    assert times_ns(found["g"]) == pytest.approx([52.0])
    assert found["h"].error == "its only aggregates are not typical times ('p99', 'cv')"
    assert found["h"].process_medians == {}


def test_fitted_complexities_are_no_benchmarks(tmp_path: Path) -> None:
    fitted = {"cpu_coefficient": 2.0, "real_coefficient": 3.0, "big_o": "N", "time_unit": "ns"}
    about: Json = {"run_name": "f", "run_type": "aggregate", "repetitions": 1, "threads": 1}
    big_o = {"name": "f_BigO", **about, "aggregate_name": "BigO", "aggregate_unit": "time"}
    rms = {"name": "f_RMS", **about, "aggregate_name": "RMS", "aggregate_unit": "percentage"}
    entries = [
        measured("f/8", 5.0),
        measured("f/64", 40.0),
        {**big_o, **fitted},
        {**rms, "rms": 0.02},
    ]
    assert list(rows(tmp_path, entries)) == ["f/8", "f/64"]
    assert list(rows(tmp_path, [old(row) for row in entries], OLDER_CONTEXT)) == ["f/8", "f/64"]


def test_repetitions_may_be_unequal_out_of_turn_and_of_several_units(tmp_path: Path) -> None:
    entries = [measured("f", 5000.0, 1, 2), measured("g", 2.0, time_unit="ms")]
    entries += [measured("f", 5.1, 0, 2, time_unit="us"), measured("h", 2.0, time_unit="s")]
    found = rows(tmp_path, entries)
    assert times_ns(found["f"]) == pytest.approx([5000.0, 5100.0])
    assert times_ns(found["g"]) == pytest.approx([2e6])
    assert times_ns(found["h"]) == pytest.approx([2e9])


@pytest.mark.parametrize(
    "failed",
    [
        {"error_occurred": True, "error_message": "no memory"},
        {"skipped": True, "skip_message": "no memory"},
    ],
    ids=["error", "skipped"],
)
@pytest.mark.parametrize("when", [0, 1, 2])
def test_a_benchmark_of_which_some_repetition_failed_has_failed(
    tmp_path: Path, failed: Json, when: int
) -> None:
    entries = [measured("f", 5.0, index, 3) for index in range(3)]
    entries[when].update(failed, iterations=0, real_time=0.0)
    found = rows(tmp_path, [*entries, *statistics_of("f")])["f"]
    assert found.error is not None
    assert found.error.endswith("no memory")
    assert found.process_medians == {}


def test_an_old_failure_is_known_without_repetitions(tmp_path: Path) -> None:
    failed: Json = {"name": "f", "run_name": "f", "run_type": "iteration", "error_occurred": True}
    entries = [{**failed, "error_message": "boom"}, old(measured("g", 1.0))]
    assert rows(tmp_path, entries, OLDER_CONTEXT)["f"].error == "boom"


def test_counters_are_the_users_finite_numbers_and_a_label_is_kept(tmp_path: Path) -> None:
    lost = {"threads": 4, "nan": math.nan, "endless": -math.inf}
    kept = {"items_per_second": 2e8, "allocs_per_iter": 1.5, "whole": 3}
    entries = [measured("f/threads:4", 5.0, 0, 1, label="3 GB/s \u00b5", **lost, **kept)]
    found = rows(tmp_path, entries)["f/threads:4"]
    assert found.counters == kept
    assert found.label == "3 GB/s \u00b5"


@pytest.mark.parametrize("suffix", ["manual_time", "real_time", "process_time/real_time"])
def test_a_name_tells_how_the_time_was_taken_and_stays_whole(tmp_path: Path, suffix: str) -> None:
    name = f"f/8/iterations:5/repeats:2/{suffix}/threads:2"
    entries = [measured(name, 5.0, 0, 2), measured(name, 6.0, 1, 2)]
    found = rows(tmp_path, entries)
    assert list(found) == [name]
    assert times_ns(found[name]) == pytest.approx([5.0, 6.0])  # and never the CPU's


def test_runs_without_a_number_are_repetitions(loaded: Loader) -> None:
    """As in Google Benchmark's own tools/gbench/Inputs/test3_run0.json, without a context."""
    found = loaded({"benchmarks": [google_row("medium", time) for time in (8.0, 9.0)]})
    assert times_ns(found.rows["medium"]) == pytest.approx([8.0, 9.0])


def test_old_versions_tell_aggregates_by_the_end_of_the_name(loaded: Loader) -> None:
    names = ("f", "f", "f_mean", "f_median", "f_stddev", "g_median", "f_BigO", "f_RMS")
    entries: list[Json] = [
        {"name": name, "real_time": float(i + 1), "time_unit": "ns"} for i, name in enumerate(names)
    ]
    found = loaded(google(entries)).rows
    assert list(found) == ["f", "g"]
    assert times_ns(found["f"]) == pytest.approx([1.0, 2.0])
    assert times_ns(found["g"]) == pytest.approx([6.0])


def test_aggregates_without_a_name_are_times_if_there_are_no_others(tmp_path: Path) -> None:
    """As in Google Benchmark's own tools/gbench/Inputs/test3_run0.json."""
    entries: list[Json] = [
        {"name": name, "run_type": "aggregate", "real_time": time, "time_unit": "ns"}
        for name, time in (("f", 8.0), ("f", 6.0), ("g", 9.0))
    ]
    found = rows(tmp_path, [*entries, measured("g", 7.0)])
    assert times_ns(found["f"]) == pytest.approx([8.0, 6.0])
    assert times_ns(found["g"]) == pytest.approx([7.0])


def test_counters_are_those_of_the_middle_repetition(tmp_path: Path) -> None:
    entries = [
        measured("f", 5.0, i, 3, bytes_per_second=b) for i, b in enumerate((30.0, 10.0, 20.0))
    ]
    assert rows(tmp_path, entries)["f"].counters == {"bytes_per_second": 20.0}


UNREADABLE: dict[str, Sequence[Json]] = {
    "no time": [measured("bad", 0.0)],
    "NaN": [measured("bad", math.nan)],
    "no unit": [measured("bad", 1.0, time_unit="h")],
    "one of three repetitions": [measured("bad", time, i, 3) for i, time in enumerate((1, -1, 1))],
    "two benchmarks of one name": [
        measured("bad", 1.0, per_family_instance_index=index) for index in (0, 1)
    ],
    "two medians": [aggregate("bad", "median", 1.0), aggregate("bad", "median", 2.0)],
}


@pytest.mark.parametrize("case", UNREADABLE)
def test_what_cannot_be_read_costs_its_own_benchmark_alone(tmp_path: Path, case: str) -> None:
    entries = [measured("first", 5.0), *UNREADABLE[case], measured("last", 7.0)]
    found = rows(tmp_path, entries)
    assert {name: row.error is None for name, row in found.items()} == {
        "first": True, "bad": False, "last": True,
    }  # fmt: skip
    assert f"('{UNREADABLE[case][0]['name']}')" in (found["bad"].error or "")
    assert found["bad"].process_medians == {}
    assert times_ns(found["last"]) == pytest.approx([7.0])
    (fault,) = load(tmp_path / "google.json").faults
    assert fault == f"{tmp_path}/{found['bad'].error}"


def test_a_bad_aggregate_of_an_old_version_is_its_benchmarks(tmp_path: Path) -> None:
    entries = [measured("first", 5.0), measured("bad", 7.0), measured("bad_mean", 0.0)]
    for row in entries:
        del row["run_type"], row["run_name"]
    found = rows(tmp_path, entries)
    assert {name: row.error is None for name, row in found.items()} == {"first": True, "bad": False}


@pytest.mark.parametrize("case", UNREADABLE)
def test_a_file_in_which_nothing_can_be_read_is_refused(tmp_path: Path, case: str) -> None:
    with pytest.raises(UserError, match="'bad"):
        rows(tmp_path, UNREADABLE[case])


def test_a_row_without_a_name_cannot_be_an_error_of_its_own(tmp_path: Path) -> None:
    nameless = {key: value for key, value in measured("", 5.0).items() if "name" not in key}
    with pytest.raises(UserError, match="row 2: has no 'name'"):
        rows(tmp_path, [measured("f", 5.0), nameless])


@pytest.mark.parametrize("last", [5, None, {}])
def test_a_row_without_keys_at_the_end_is_no_less_a_fault(tmp_path: Path, last: object) -> None:
    path = write(tmp_path / "google.json", {"benchmarks": [measured("f", 5.0), last]})
    with pytest.raises(UserError, match="row 2"):
        load(path)


def test_rows_of_another_spelling_at_the_end_are_not_lost(tmp_path: Path) -> None:
    entries = [json.dumps(measured("first", 5.0))]
    entries += [json.dumps(measured(name, time)).replace('":', '" :')
                for name, time in (("bad", -1.0), ("last", 7.0))]  # fmt: skip
    path = tmp_path / "google.json"
    path.write_text(f'{{"benchmarks": [{", ".join(entries)}]}}')
    found = load(path).rows
    assert {name: row.error is None for name, row in found.items()} == {
        "first": True, "bad": False, "last": True,
    }  # fmt: skip
