# SPDX-License-Identifier: Apache-2.0
"""What a plain program reports becomes rows of runs, each of a clock, under the names asked for."""

from __future__ import annotations

from warpgauge.execution import plain_program

RUN = {"name": "BM_x", "run_name": "BM_x", "run_type": "iteration", "real_time": 2.0}


def aggregate(kind: str, time: float, name: str = "BM_x") -> dict[str, object]:
    typed = {"run_type": "aggregate", "aggregate_name": kind, "aggregate_unit": "time"}
    return {"name": f"{name}_{kind}", "run_name": name, **typed, "real_time": time}


def told(*rows: dict[str, object], prefix: str = "") -> list[dict[str, object]]:
    report = plain_program.as_report({"context": {"date": "d"}, "benchmarks": [*rows]}, prefix)
    assert report["context"] == {"date": "d"}
    return list(report["benchmarks"])


def test_a_row_without_an_sm_clock_is_the_hosts() -> None:
    device = {**RUN, "name": "BM_d", "sm_clock_hz": 1.98e9}
    host, other = told(RUN, device)
    assert (host["timed_by"], other.get("timed_by")) == ("host", None)


def test_names_are_those_asked_for() -> None:
    assert [row["name"] for row in told(RUN, prefix="my bench/")] == ["my bench/BM_x"]


def test_repetitions_count_and_their_aggregates_do_not() -> None:
    rows = told(RUN, RUN, aggregate("median", 3.0), aggregate("BigO", 4.0))
    assert [row["real_time"] for row in rows] == [2.0, 2.0]


def test_of_aggregates_alone_the_median_counts_else_the_mean() -> None:
    rows = told(
        *(aggregate(kind, time) for kind, time in [("mean", 5.0), ("median", 3.0), ("cv", 0.1)]),
        aggregate("mean", 7.0, "BM_y"),
        aggregate("stddev", 1.0, "BM_z"),
    )
    found = [(row["name"], row["run_type"], row["real_time"]) for row in rows]
    assert found == [("BM_x", "iteration", 3.0), ("BM_y", "iteration", 7.0)]


def test_no_report_stays_none() -> None:
    assert plain_program.as_report({}) == {}


def test_a_counter_takes_the_place_of_nothing_that_a_run_file_needs() -> None:
    (row,) = told({**RUN, "process_medians": 1.0, "process_rounds": 2.0, "items": 3.0})
    assert row == {**RUN, "items": 3.0, "timed_by": "host"}
