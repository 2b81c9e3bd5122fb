# SPDX-License-Identifier: Apache-2.0
"""The extra work that is drawn for each benchmark, and what was found of it, by device."""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import replace
from io import StringIO
from pathlib import Path
from typing import cast

import pytest
from rich.console import Console

from comparisons import comparison, record, verdict
from warpgauge.measure import self_check
from warpgauge.measure.discovery import Binary
from warpgauge.measure.self_check import (
    CHANGES,
    Case,
    SelfCheck,
    detections,
    extra_work,
    injections,
)
from warpgauge.records import benchmark_filter
from warpgauge.records.counters import EXTRA_WORK, Clock
from warpgauge.system.errors import ExitStatus
from warpgauge.verdict.comparison import Outcome

NAMES = [f"gemm/n:{number}" for number in range(3000)]


def case(
    name: str,
    outcome: Outcome = Outcome.PASS,
    extra: float = 0.0,
    *,
    achieved: float | None = None,
    ratio: float | None = None,
    bound: float | None = None,
) -> Case:
    """By default, what is asked for is achieved and found; names with an h are of host time."""
    clock = Clock.HOST if name[0] == "h" else Clock.DEVICE
    seen = extra if ratio is None else ratio
    measured = {EXTRA_WORK: extra if achieved is None else achieved} if extra else {}
    found = verdict(name, outcome, seen, clock=clock, bound=bound)
    return Case(replace(found, counters=measured), extra)


def checked(*cases: Case) -> SelfCheck:
    found = comparison([one.verdict for one in cases], base=record(measured_seconds="90"))
    return SelfCheck(found, {one.verdict.name: one.extra for one in cases})


def shown(check: SelfCheck) -> str:
    console = Console(width=200, file=StringIO())
    self_check.render(check, console)
    return " ".join(cast(StringIO, console.file).getvalue().split())


def counts(found: self_check.Detection) -> dict[str, tuple[int, int]]:
    """Of the sizes that were injected."""
    return {size: share for size, share in found.found_of.items() if share.of}


def bounded(found: self_check.Detection) -> tuple[int, int]:
    return found.within_tolerance, found.no_extra_work


def test_a_third_does_no_extra_work_and_all_sizes_are_equally_likely() -> None:
    drawn = Counter(extra_work("1", name) for name in NAMES)
    assert drawn.keys() == {0.0, *CHANGES}
    assert drawn[0.0] / len(NAMES) == pytest.approx(1 / 3, abs=0.03)
    for change in CHANGES:
        assert drawn[change] / len(NAMES) == pytest.approx(2 / 15, abs=0.03)


def test_the_draw_depends_on_the_seed_and_the_name_alone() -> None:
    drawn = [extra_work("1", name) for name in NAMES]
    assert [extra_work("1", name) for name in reversed(NAMES)] == drawn[::-1]
    alike = sum(map(float.__eq__, drawn, [extra_work("2", name) for name in NAMES]))
    assert alike / len(NAMES) == pytest.approx(1 / 9 + 5 * (2 / 15) ** 2, abs=0.03)


def test_the_hosts_controls_do_no_extra_work() -> None:
    assert {extra_work(str(seed), "host/copy") for seed in range(100)} == {0.0}


def test_what_is_injected_gives_every_benchmark_what_was_drawn_for_it() -> None:
    binaries = [Binary(Path("a"), tuple(NAMES[:40])), Binary(Path("b"), tuple(NAMES[40:80]))]
    given = [one.rpartition("=") for one in injections("7", binaries)]
    for name in NAMES[:80]:
        factors = [
            float(factor)
            for regex, _, factor in given
            if benchmark_filter.found("--inject", regex, name)
        ]
        extra = extra_work("7", name)
        assert factors == ([pytest.approx(1 + extra)] if extra else [])


def test_each_clock_has_a_row_without_controls() -> None:
    check = checked(
        case("b/1"),
        case("b/2", Outcome.REGRESSION, 0.05),
        case("a/1", Outcome.IMPROVED),
        case("a/2", Outcome.INCONCLUSIVE, 0.01),
        case("hx/1", Outcome.REGRESSION, 0.1),
        case("host/1"),
    )
    device, host = detections(check.cases)
    assert (device.clock, device.benchmarks, host.clock, host.benchmarks) == (
        "device",
        4,
        "host",
        1,
    )
    assert (device.false_alarms, bounded(device), device.undecided) == (1, (1, 2), 1)
    assert counts(device) == {"0.01": (0, 1), "0.05": (1, 1)}
    assert (host.false_alarms, counts(host)) == (0, {"0.1": (1, 1)})
    table = shown(check)
    assert "no extra work: within tolerance 1/2 -" in table
    assert "+5 % found 1/1 -" in table
    assert "False alarms: 'a/1'." in table
    assert "measured in 1:30." in table


@pytest.mark.parametrize(
    ("outcome", "extra", "is_false"),
    [
        (Outcome.REGRESSION, 0.0, True),
        (Outcome.IMPROVED, 0.0, True),
        (Outcome.IMPROVED, 0.1, True),
        (Outcome.REGRESSION, 0.1, False),
        (Outcome.INCONCLUSIVE, 0.0, False),
        (Outcome.PASS, 0.1, False),  # a miss
    ],
)
def test_a_false_alarm_is_a_change_without_extra_work_or_against_it(
    outcome: Outcome, extra: float, *, is_false: bool
) -> None:
    assert case("a/1", outcome, extra).is_false_alarm is is_false


def test_what_a_policy_tolerates_is_left_out() -> None:
    wide = case("a/2", extra=0.05, bound=0.05)
    wide = replace(wide, verdict=replace(wide.verdict, tolerance=0.1))
    check = checked(case("a/1", Outcome.REGRESSION, 0.05), wide, case("a/4", extra=0.02))
    (device,) = detections(check.cases)
    assert device.benchmarks == 2
    document = json.loads(self_check.text(check))
    missed = document["missed_by_extra_work"]
    assert {by: names for by, names in missed.items() if names} == {"0.02": ["a/4"]}


def test_the_pairs_that_a_benchmark_needed_are_the_mean_of_what_was_measured() -> None:
    cases = [case("a/1"), case("a/2", Outcome.REGRESSION, 0.1), case("a/3", Outcome.ERROR)]
    many = replace(cases[1], verdict=replace(cases[1].verdict, processes=(24, 25)))
    assert [one.mean_pairs for one in detections([cases[0], many, cases[2]])] == [16.0]


def test_an_interval_is_held_to_the_extra_work_that_was_achieved() -> None:
    unknown = case("a/unknown", extra=0.05)
    unknown = replace(unknown, verdict=replace(unknown.verdict, counters={}))
    cases = [
        case("a/short", extra=0.05, achieved=0.048, ratio=0.0481),  # ± 0.1 %
        case("a/missed", extra=0.05, achieved=0.048, ratio=0.05),
        unknown,
        case("a/3", ratio=0.0005),
        case("a/4", ratio=0.002),
        case("a/5", ratio=0.0),
        case("a/6", Outcome.ERROR),
    ]
    (device,) = detections(cases)
    assert (device.extra_work_inside_of, device.no_extra_work_inside_of) == ((1, 2), (2, 3))
    assert device.achieved == {"0.05": 0.048}
    assert "Extra work not measured: 'a/unknown'." in shown(checked(*cases))


def test_what_has_no_result_is_not_counted() -> None:
    check = checked(
        case("a/1", Outcome.REGRESSION, 0.01),
        case("a/2", Outcome.ERROR, 0.01),
        case("a/3", Outcome.INVALID),
        case("a/4"),
    )
    (device,) = detections(check.cases)
    assert counts(device) == {"0.01": (1, 1)}
    assert bounded(device) == (1, 1)
    assert "No result: 2 benchmarks ('a/2', 'a/3')." in shown(check)
    assert check.status is ExitStatus.NOT_MEASURED


@pytest.mark.parametrize(
    ("cases", "status"),
    [
        ((case("a/1"), case("a/2", extra=0.01)), ExitStatus.OK),
        ((case("a/1"), case("a/2", Outcome.INCONCLUSIVE, 0.01)), ExitStatus.OK),
        ((case("a/1", Outcome.INCONCLUSIVE),), ExitStatus.NOT_MEASURED),
        ((case("host/1"),), ExitStatus.NOT_MEASURED),
        ((case("a/1", Outcome.IMPROVED), case("a/2", Outcome.ERROR)), ExitStatus.REGRESSION),
    ],
)
def test_the_status_is_that_of_the_worst(cases: tuple[Case, ...], status: ExitStatus) -> None:
    assert checked(*cases).status is status
