# SPDX-License-Identifier: Apache-2.0
"""False alarms and found changes, counted by family."""

from __future__ import annotations

from pathlib import Path

import pytest

from warpgauge.measurement.self_check_report import Detection, detections
from warpgauge.records.model import Clock, Record, Source
from warpgauge.verdict.comparison import Comparison, Outcome, Verdict

NOBODY = Record(Path("none"), Source.RUN, {}, {})


def compared(**outcomes: Outcome) -> Comparison:
    """Verdicts by name, written family_name; those that begin with h are times of the host."""
    verdicts = [
        Verdict(name.replace("_", "/"), outcome, Clock.HOST if name[0] == "h" else Clock.DEVICE)
        for name, outcome in outcomes.items()
    ]
    return Comparison(NOBODY, NOBODY, tuple(verdicts))


def found(benchmarks: int, **shares: int) -> Detection:
    changes = {int(name[1:]) / 100: count for name, count in shares.items()}
    return Detection("f", Clock.DEVICE, benchmarks, 0, 0, changes)


def test_a_family_and_clock_a_row_and_no_controls() -> None:
    same = compared(
        b_1=Outcome.PASS, a_1=Outcome.IMPROVED, a_2=Outcome.INCONCLUSIVE, host_1=Outcome.PASS
    )
    slower = compared(b_1=Outcome.REGRESSION, a_1=Outcome.PASS, a_2=Outcome.IMPROVED)
    assert detections(same, {0.05: slower}) == [
        Detection("a", Clock.DEVICE, 2, 1, 1, {0.05: 0}),
        Detection("b", Clock.DEVICE, 1, 0, 0, {0.05: 1}),
        Detection("all", Clock.DEVICE, 3, 1, 1, {0.05: 1}),
    ]


def test_what_is_missing_from_a_run_with_extra_work_is_not_found() -> None:
    one, _ = detections(compared(a_1=Outcome.PASS), {0.05: compared()})
    assert one.found == {0.05: 0}


def test_the_smallest_change_lies_between_the_injected_ones() -> None:
    assert found(10, c1=2, c2=8, c3=10).smallest == pytest.approx(0.025)


def test_nothing_smaller_than_the_smallest_injected_change_is_claimed() -> None:
    assert found(10, c1=9, c2=10).smallest == 0.01


def test_where_nine_of_ten_are_never_found_there_is_no_smallest_change() -> None:
    assert found(10, c1=0, c10=8).smallest is None


def test_the_total_is_of_one_clock() -> None:
    same = compared(a_1=Outcome.PASS, b_1=Outcome.PASS, hx_1=Outcome.PASS)
    device, host = detections(same, {0.05: compared(a_1=Outcome.REGRESSION)})[-2:]
    assert device == Detection("all", Clock.DEVICE, 2, 0, 0, {0.05: 1})
    assert host == Detection("all", Clock.HOST, 1, 0, 0, {0.05: 0})
