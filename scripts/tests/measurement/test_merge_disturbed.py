# SPDX-License-Identifier: Apache-2.0
"""Processes in which the GPU was disturbed: left out where they are few, told where many."""

from __future__ import annotations

import math
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from test_merge import merged, outcome, row

from warpgauge.records.counters import LEFT_OUT, OTHER_PROCESSES, RESOURCES_VARY, THROTTLED

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


@pytest.mark.parametrize(
    ("counter", "value"),
    [("l2_set_aside", 33554432.0), ("host_nodes", 2.0), ("beyond_ceiling", 1.6)],
)
def test_what_one_process_saw_of_the_benchmark_itself_is_said_of_all(
    counter: str, value: float
) -> None:
    found = of(CLEAN, {**CLEAN, counter: value}, CLEAN)
    assert (found[counter], len(found["process_medians"])) == (value, 3)


def test_kinds_of_disturbance_add_up() -> None:
    found = of(CLEAN, SLOW, FOREIGN)
    assert (found[THROTTLED], found[OTHER_PROCESSES]) == (1, 2)
    assert len(found["process_medians"]) == 3


def test_one_repetition_disturbs_its_process() -> None:
    found = merged(outcome(row(1.0), row(2.0, **SLOW), row(3.0)))
    assert found[THROTTLED] == 1


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
