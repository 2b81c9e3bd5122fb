# SPDX-License-Identifier: Apache-2.0
"""False alarms and found changes, counted by family."""

from __future__ import annotations

import json
from dataclasses import replace
from io import StringIO
from typing import cast

import pytest
from rich.console import Console

from comparisons import comparison, record, verdict
from warpgauge.measurement import self_check_report
from warpgauge.measurement.self_check import CHANGES, SelfCheck
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
    return counted("f", benchmarks, found=changes)


def counted(
    family: str,
    benchmarks: int,
    alarms: int = 0,
    unknown: int = 0,
    *,
    found: dict[float, int],
    clock: Clock = Clock.DEVICE,
    **more: float,
) -> Detection:
    counts = {"bounded": 0, "covered": 0, "intervals": 0, "pairs": 7.0, **more}
    return Detection(family, clock, benchmarks, alarms, unknown, found=found, **counts)  # type: ignore[arg-type]


def test_a_family_and_clock_a_row_and_no_controls() -> None:
    same = compared(
        b_1=Outcome.PASS, a_1=Outcome.IMPROVED, a_2=Outcome.INCONCLUSIVE, host_1=Outcome.PASS
    )
    slower = compared(b_1=Outcome.REGRESSION, a_1=Outcome.PASS, a_2=Outcome.IMPROVED)
    assert detections(same, {0.05: slower}) == [
        counted("a", 2, 1, 1, found={0.05: 0}, intervals=2),
        counted("b", 1, found={0.05: 1}, bounded=1, intervals=1),
        counted("all", 3, 1, 1, found={0.05: 1}, bounded=1, intervals=3),
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
    assert device == counted("all", 2, found={0.05: 1}, bounded=2, intervals=1)
    assert host == counted("all", 1, found={0.05: 0}, bounded=1, clock=Clock.HOST)


def test_what_passes_is_bounded_where_its_bound_is_within_the_tolerance() -> None:
    tight, loose, unknown = (
        replace(verdict(f"a/{bound}"), bound=bound, tolerance=0.01) for bound in (0.01, 0.02, None)
    )
    slower = replace(verdict("a/slower", Outcome.REGRESSION), bound=0.005, tolerance=0.01)
    family, _ = detections(comparison([tight, loose, unknown, slower]), {})
    assert (family.benchmarks, family.bounded) == (4, 1)


def test_what_a_policy_tolerates_is_counted_apart_and_not_missed() -> None:
    tolerant = replace(verdict("a/wide", bound=0.05), tolerance=0.1)
    same = comparison([verdict("a/1"), tolerant])
    injected = {
        by: comparison([verdict("a/1", Outcome.REGRESSION, by), tolerant]) for by in CHANGES
    }
    family, everything, wide = detections(same, injected)
    one, none = dict.fromkeys(CHANGES, 1), dict.fromkeys(CHANGES, 0)
    assert family == counted("a", 1, found=one, bounded=1, covered=5, intervals=5)
    assert (everything.family, everything.benchmarks, everything.tolerance) == ("all", 1, None)
    assert wide == counted("all", 1, found=none, bounded=1, intervals=5, tolerance=0.1)
    check = SelfCheck(record(measured_seconds="90"), same, injected)
    console = Console(width=200, file=StringIO())
    self_check_report.render(check, None, console)
    shown = " ".join(cast(StringIO, console.file).getvalue().split())
    assert "1 of 2 have a tolerance of 10 %: found 1 % in 0, 2 % in 0, " in shown
    assert "10 % in 0; false alarms in 0." in shown
    assert "0 of 12 comparisons stayed undecided. Measured in 1:30." in shown
    document = json.loads(self_check_report.text(check, None))
    assert [one.get("tolerance") for one in document["families"]] == [None, None, 0.1]
    assert document["not_found_by_change"] == {f"{by:g}": [] for by in CHANGES}
    assert document["context"]["measured_seconds"] == "90"


def test_the_pairs_that_a_benchmark_needed_are_the_mean_over_all_sides() -> None:
    same = comparison([replace(verdict("a/1"), processes=(24, 4)), verdict("a/2", Outcome.ERROR)])
    slower = comparison([replace(verdict("a/1", Outcome.REGRESSION, 0.1), processes=(24, 24))])
    assert [one.pairs for one in detections(same, {0.1: slower})] == [14.0, 14.0]


def test_an_interval_covers_the_change_that_was_injected_and_not_the_one_that_was_seen() -> None:
    same = comparison([verdict("a/1"), verdict("a/2"), verdict("a/gone")])
    injected = {
        by: comparison([verdict("a/1", ratio=0.0501), verdict("a/2", ratio=0.04)])
        for by in (0.05, 0.04)
    }
    family, _ = detections(same, injected)
    # 5.01 ± 0.1 % holds 5 %, and 4 ± 0.1 % holds 4 %.
    assert (family.covered, family.intervals) == (2, 4)
