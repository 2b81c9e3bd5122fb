# SPDX-License-Identifier: Apache-2.0
"""False alarms and found changes, counted by family."""

from __future__ import annotations

import pytest

from comparisons import comparison, verdict
from warpgauge.measurement.self_check_report import Detection, detections
from warpgauge.records.model import Clock
from warpgauge.verdict.comparison import Comparison, Outcome


def compared(**outcomes: Outcome) -> Comparison:
    """Verdicts by name, written family_name; those that begin with h are times of the host."""
    clocks = {name: Clock.HOST if name[0] == "h" else Clock.DEVICE for name in outcomes}
    return comparison(
        [verdict(name.replace("_", "/"), one, clock=clocks[name]) for name, one in outcomes.items()]
    )


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


@pytest.mark.parametrize(
    ("shares", "smallest"),
    [
        ({"c1": 2, "c2": 8, "c3": 10}, 0.025),
        ({"c1": 9, "c2": 10}, 0.01),  # nothing smaller than what was injected is claimed
        ({"c1": 0, "c10": 8}, None),
    ],
)
def test_the_smallest_change_found_lies_between_the_injected_ones(
    shares: dict[str, int], smallest: float | None
) -> None:
    assert found(10, **shares).smallest == pytest.approx(smallest)


def test_the_total_is_of_one_clock_and_what_is_missing_with_extra_work_is_not_found() -> None:
    same = compared(a_1=Outcome.PASS, b_1=Outcome.PASS, hx_1=Outcome.PASS)
    first, *_, device, host = detections(same, {0.05: compared(b_1=Outcome.REGRESSION)})
    assert first.found == {0.05: 0}
    assert device == Detection("all", Clock.DEVICE, 2, 0, 0, {0.05: 1})
    assert host == Detection("all", Clock.HOST, 1, 0, 0, {0.05: 0})
