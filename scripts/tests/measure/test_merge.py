# SPDX-License-Identifier: Apache-2.0
"""Several processes become one row: medians of what was measured, never of what was not.

Processes in which the GPU was disturbed are left out where they are few, and told where many.
"""

from __future__ import annotations

import math
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import structs

from reports import reported, written
from warpgauge.measure import cubins
from warpgauge.measure.discovery import Binary
from warpgauge.measure.plan import TurnResult
from warpgauge.records.counters import LEFT_OUT, OTHER_PROCESSES, RESOURCES_VARY, THROTTLED
from warpgauge.records.program_report import Report
from warpgauge.records.row import Pair

SYNC = Binary(Path("bench_sync"), ("sync/a",))


def row(time: object, **more: object) -> dict[str, Any]:
    base = {"name": "sync/a", "run_type": "iteration", "iterations": 10, "time_unit": "ns"}
    return {**base, "real_time": time, "cpu_time": 1.0, **more}


def outcome(*rows: dict[str, Any], number: int = 1, suspect: bool = False) -> TurnResult:
    faults = {"sync/a": "it broke"} if suspect or not rows else {}
    return TurnResult(SYNC, number, reported(rows, SYNC), faults, 1.0)


def merged(*outcomes: TurnResult) -> dict[str, Any]:
    (only,) = written([SYNC], outcomes)
    return only


def test_the_time_is_the_median_of_the_processes_in_nanoseconds() -> None:
    aggregate = row(99.0, name="sync/a_mean", run_type="aggregate")
    repeated = outcome(row(1.0), row(9.0), row(2.0), aggregate)  # one process all the same
    found = merged(outcome(row(3.0)), repeated, outcome(row(0.0025, time_unit="us")))
    assert (found["real_time"], found["time_unit"]) == (pytest.approx(2.5, rel=1e-12), "ns")
    assert found["process_medians"] == pytest.approx([3.0, 2.0, 2.5], rel=1e-12)
    assert found["iterations"] == 50
    assert found["run_type"] == "iteration"


def test_a_pair_tells_the_ratio_of_each_round_where_lock_step_gave_any() -> None:
    rounds = [outcome(row(float(number)), number=number) for number in (1, 2, 3)]
    assert "pairs" not in written([SYNC], rounds, looks=[2, 3])[0]  # of the base
    rounds = [replace(one, side="candidate") for one in rounds]
    rows = rounds[1].report.rows
    pair = Pair(base_first=False, log_ratio=0.012345678901, slices=5)
    paired = {"sync/a": structs.replace(rows["sync/a"], pairs=(pair,))}
    rounds[1] = replace(rounds[1], report=replace(rounds[1].report, rows=paired))
    (found,) = written([SYNC], rounds, looks=[2, 3])
    assert found["process_rounds"] == [1, 2, 3]
    assert [one["log_ratio"] for one in found["pairs"]] == [None, 0.012345678901, None]
    assert [one["slices"] for one in found["pairs"]] == [0, 5, 0]
    assert [one["look"] for one in found["pairs"]] == [1, 1, 2]
    assert [one["base_first"] for one in found["pairs"]] == [True, False, True]
    assert not {"pairs", "process_rounds"} & written([SYNC], rounds)[0].keys()


def test_counters_are_medians_of_what_is_finite_and_the_label_is_the_newest() -> None:
    about = {"source_line": 12345678.0, "z": math.nan}
    processes: list[dict[str, Any]] = [
        {"x": 1.0, "y": math.nan, "label": "old", **about},
        {"x": 3.0, "y": math.inf, **about},
        {"x": 2.0, "y": 5, "label": "new", **about},
    ]
    found = merged(*(outcome(row(1.0, **one)) for one in processes))
    assert (found["x"], found["y"]) == (2.0, 5.0)
    assert "z" not in found
    assert (found["label"], found["source_line"]) == ("new", 12345678.0)


def test_a_failed_benchmark_tells_the_line_of_the_source_too() -> None:
    wrong = row(0.0, error_occurred=True, error_message="wrong result", source_line=43.0)
    found = merged(outcome(wrong), outcome())
    assert (found["error_occurred"], found["source_line"]) == (True, 43.0)
    assert "source_line" not in merged(outcome())


@pytest.mark.parametrize("time", [math.nan, math.inf, -1.0, 0.0, 10**400, "fast", None])
def test_what_is_no_time_is_an_error(time: object) -> None:
    found = merged(outcome(row(1.0)), outcome(row(time)))
    assert found["error_occurred"] is True
    assert found["error_message"].startswith("in round 1: its report, row ")
    assert found["real_time"] == 0
    assert "process_medians" not in found


def test_a_skipped_row_has_no_time_and_says_so_in_a_field() -> None:
    errored = {"error_occurred": True, "error_message": "no memory"}
    for keys in ({"skip_message": "no memory"}, errored):
        found = merged(outcome(row(0.0, skipped=1.0, **keys)))
        assert (found["error_occurred"], found["error_message"]) == (True, "no memory")
        assert found["skipped"] is True
    wrong = row(0.0, error_occurred=True, error_message="skipped: it says")
    found = merged(outcome(wrong), outcome(wrong, number=2))
    assert "skipped" not in found
    assert found["error_message"] == "in round 1: skipped: it says"


SKIP = row(0.0, skipped=True, skip_message="no memory")
WRONG = row(0.0, error_occurred=True, error_message="wrong result")
GOOD = row(1.0)


@pytest.mark.parametrize(
    ("outcomes", "message"),
    [
        # A row is skipped only where every process skipped it.
        ([outcome(SKIP), outcome(SKIP, number=2)], "no memory"),
        ([outcome(SKIP), outcome(WRONG, number=2)], "in round 2: wrong result"),
        ([outcome(WRONG), outcome(SKIP, number=2)], "in round 1: wrong result"),
        ([outcome(SKIP), outcome(number=2)], "in round 2: it broke"),
        ([outcome(SKIP), outcome(GOOD, number=2)],
         "in round 1: skipped: no memory"),
        ([outcome(GOOD), outcome(SKIP, number=2)],
         "in round 2: skipped: no memory"),
        ([outcome(SKIP), outcome(GOOD, number=2), outcome(WRONG, number=3)],
         "in round 3: wrong result"),
        # A missing row, a fault beside a row, one bad repetition, neither row nor fault.
        ([outcome(GOOD), outcome(number=2), outcome(GOOD, number=3)], "in round 2: it broke"),
        ([outcome(GOOD), outcome(GOOD, number=2, suspect=True)], "in round 2: it broke"),
        ([outcome(GOOD, WRONG, row(2.0))], "in round 1: wrong result"),
        ([outcome(GOOD), TurnResult(SYNC, 1, Report(), {}, 1.0)],
         "in round 1: it was not reported"),
    ],
)  # fmt: skip
def test_a_failure_in_any_round_is_an_error_with_its_reason(
    outcomes: list[TurnResult], message: str
) -> None:
    assert merged(*outcomes)["error_message"] == message


@pytest.mark.parametrize("unit", ["weeks", ["ns"], None])
def test_an_unknown_unit_is_an_error(unit: object) -> None:
    assert "use ns, us, ms or s" in merged(outcome(row(1.0, time_unit=unit)))["error_message"]


@pytest.mark.parametrize("iterations", ["many", None, math.nan, 10**400])
def test_iterations_that_are_no_number_lose_nothing(iterations: object) -> None:
    found = merged(outcome(row(2.0, iterations=iterations)))
    assert (found["real_time"], found["iterations"]) == (2.0, 0)


def test_rows_stand_in_the_order_of_registration_each_under_its_own_program() -> None:
    zoo = Binary(Path("bench_a"), ("a/z", "a/y"))
    of_zoo = TurnResult(zoo, 1, reported([row(3.0, name="a/z")], zoo), {}, 1.0)
    rows = written([zoo, SYNC], [of_zoo, outcome(row(1.0), row(2.0, name="a/z"))])
    found = [(one["name"], one["real_time"]) for one in rows]
    assert found == [("a/z", 3.0), ("a/y", 0), ("sync/a", 1.0)]


@given(st.lists(st.floats(1e-3, 1e12), min_size=1, max_size=9))
def test_the_median_lies_among_the_processes(times: list[float]) -> None:
    found = merged(*(outcome(row(time)) for time in times))
    assert min(found["process_medians"]) <= found["real_time"] <= max(found["process_medians"])
    assert found["process_medians"] == pytest.approx(times, rel=1e-6)


CLEAN: dict[str, float] = {OTHER_PROCESSES: 0.0, "sm_clock_hz": 1.98e9}
SLOW: dict[str, float] = {THROTTLED: 1.0, "sm_clock_hz": 1.62e9, "clock_event_reasons": 4.0}
FOREIGN: dict[str, float] = {OTHER_PROCESSES: 2.0}


def of(*processes: dict[str, float]) -> dict[str, Any]:
    """The row of processes that take 1, 2, 3 … ns."""
    return merged(*(outcome(row(float(i + 1), **one)) for i, one in enumerate(processes)))


@pytest.mark.parametrize("bad", [SLOW, FOREIGN, SLOW | FOREIGN])
def test_a_minority_is_left_out_and_counted(bad: dict[str, float]) -> None:
    found = of(CLEAN, bad, CLEAN, bad, CLEAN)
    assert found["process_medians"] == [1.0, 3.0, 5.0]
    assert (found["real_time"], found["iterations"]) == (3.0, 30)
    assert found[LEFT_OUT] == 2
    assert THROTTLED not in found
    assert found[OTHER_PROCESSES] == 0
    assert found["sm_clock_hz"] == 1.98e9


@pytest.mark.parametrize("processes", [(SLOW,), (CLEAN, SLOW), (CLEAN, SLOW, CLEAN, SLOW)])
def test_without_a_clean_majority_the_row_says_in_how_many(
    processes: tuple[dict[str, float], ...],
) -> None:
    found = of(*processes)
    assert len(found["process_medians"]) == len(processes)
    assert found[THROTTLED] == processes.count(SLOW)
    assert (found["sm_clock_hz"], found["clock_event_reasons"]) == (1.62e9, 4.0)
    assert LEFT_OUT not in found


def test_what_one_process_saw_of_the_benchmark_itself_is_said_of_all() -> None:
    counters = {"l2_set_aside": 33554432.0, "host_nodes": 2.0, "beyond_ceiling": 1.6}
    for counter, value in counters.items():
        found = of(CLEAN, {**CLEAN, counter: value}, CLEAN)
        assert (found[counter], len(found["process_medians"])) == (value, 3)


def test_kinds_of_disturbance_add_up_and_one_repetition_disturbs_its_process() -> None:
    found = of(CLEAN, SLOW, FOREIGN)
    assert (found[THROTTLED], found[OTHER_PROCESSES]) == (1, 2)
    assert len(found["process_medians"]) == 3
    assert merged(outcome(row(1.0), row(2.0, **SLOW), row(3.0)))[THROTTLED] == 1


def test_an_undisturbed_run_says_nothing_of_it() -> None:
    found = of(CLEAN, {THROTTLED: math.nan, OTHER_PROCESSES: math.nan})
    assert found["process_medians"] == [1.0, 2.0]
    assert not {THROTTLED, LEFT_OUT}.intersection(found)


def test_resources_keep_their_last_digit_and_tell_when_they_vary() -> None:
    found = of({"peak_device_bytes": 8589934593.0}, {"peak_device_bytes": 8589934593.0})
    assert found["peak_device_bytes"] == 8589934593.0
    assert RESOURCES_VARY not in found
    assert of({"registers": 40.0}, {"registers": 48.0})[RESOURCES_VARY] == 1


@given(st.lists(st.sampled_from([CLEAN, SLOW, FOREIGN]), min_size=1, max_size=9))
def test_no_disturbed_time_ever_counts_as_clean(processes: list[dict[str, float]]) -> None:
    found = of(*processes)
    clean = [float(i + 1) for i, one in enumerate(processes) if one is CLEAN]
    if found.get(THROTTLED) or found.get(OTHER_PROCESSES):
        assert 2 * len(clean) <= len(processes)
        assert len(found["process_medians"]) == len(processes)
    else:
        assert found["process_medians"] == clean
        assert found.get(LEFT_OUT, 0) == len(processes) - len(clean)
        assert len(clean) >= min(2, len(processes))


def test_the_machine_code_is_told_where_all_processes_run_the_same(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(
        cubins,
        "of_row",
        lambda binary, launches: f"{binary.family} {launches}" if launches else "",
    )

    def code(*launches: float) -> tuple[object, set[str]]:
        processes = [outcome(row(1.0, **{"kernel:_Z3sumv": one})) for one in launches]
        found = merged(*processes)
        return found.get("machine_code"), {key for key in found if key.startswith("kernel")}

    assert code(3.0, 3.0) == ("sync {'_Z3sumv': 3.0}", set())
    assert code(3.0, 4.0) == (None, set())
    assert "machine_code" not in merged(outcome(row(1.0)))
