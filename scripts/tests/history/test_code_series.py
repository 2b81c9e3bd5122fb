# SPDX-License-Identifier: Apache-2.0
"""Alerts of histories whose nights were also measured in pairs with a base."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import date

import numpy as np
import pytest

from nights import of_commit, times
from warpgauge.history import changes
from warpgauge.history.changes import Alert, Cause, Change
from warpgauge.history.lines import Night
from warpgauge.statistics.log_ratios import Array

NIGHTS, NAME = 150, "launch/a"
TIME_SD, RATIO_SD = 0.004, 0.003
BOOTS = np.random.default_rng(7).normal(0.0, 0.05, NIGHTS)  # each night another one


def step(size: float, first: int) -> Array:
    return np.where(np.arange(NIGHTS) >= first, size, 0.0)


def found(
    code: Array,
    machine: Array,
    bases: Sequence[str],
    paired: Array | None = None,
    ratio_sd: float = RATIO_SD,
) -> list[Change]:
    """Of one benchmark, in pairs in these nights; each base's own level is another one."""
    random = np.random.default_rng(3)
    values = code + machine - 9.0 + random.normal(0.0, TIME_SD, NIGHTS)
    levels = np.unique(bases, return_inverse=True)[1] * 0.07
    ratios = code - levels + random.normal(0.0, ratio_sd, NIGHTS)
    ratios[~(np.array(bases) != "") if paired is None else paired == 0] = np.nan
    tables = values, np.full(NIGHTS, TIME_SD), ratios, np.full(NIGHTS, ratio_sd)
    measured = times(nights(bases), [NAME], True, *(table[None] for table in tables))
    return changes.found(measured)


def nights(
    bases: Sequence[str], values: Sequence[str] = ("1",) * NIGHTS, fact: str = "driver_version"
) -> list[Night]:
    """One commit each."""
    facts = [{fact: value} for value in values]
    return [of_commit(f"c{at}", *one) for at, one in enumerate(zip(facts, bases, strict=True))]


def told(seen: Sequence[Change], of: Sequence[Night]) -> list[Alert]:
    none = np.full((1, NIGHTS), np.nan)
    return changes.alerts(seen, times(of, [NAME], True, none, none), None, date(2027, 3, 1))


ONE = ("base",) * NIGHTS
NONE = ("",) * NIGHTS
DRIVERS = ("1",) * 90 + ("2",) * (NIGHTS - 90)


def test_a_step_that_the_machine_hides_is_found_by_the_ratios() -> None:
    assert found(step(0.03, 90), BOOTS, NONE) == []
    (alert,) = told(found(step(0.03, 90), BOOTS, ONE), nights(ONE))
    assert (alert.good, alert.bad) == ("c89", "c90")
    assert alert.changes[0].point.change == pytest.approx(0.03, abs=0.003)


def test_what_the_ratios_show_is_code_though_the_driver_changed_that_night() -> None:
    seen = found(step(0.03, 90), step(0.0, 0), ONE)
    (alert,) = told(seen, nights(ONE, DRIVERS))
    assert alert.is_code
    assert alert.machine == ()
    (alert,) = told(seen, nights(ONE, DRIVERS, "nvcc_version"))
    assert alert.is_code
    assert alert.machine == ("nvcc_version",)


def test_another_machine_state_moves_the_times_and_raises_no_alert_of_code() -> None:
    (alert,) = told(found(step(0.0, 0), step(0.1, 90), ONE), nights(ONE))
    assert (alert.bad, alert.machine) == ("c90", ("machine",))
    assert not alert.is_code
    (alert,) = told(found(step(0.0, 0), step(0.1, 90), ONE), nights(ONE, DRIVERS))
    assert alert.machine == ("driver_version",)
    (alert,) = told(found(step(0.0, 0), step(0.1, 90), NONE), nights(NONE))
    assert alert.is_code  # nothing tells


@pytest.mark.parametrize(("ratio_sd", "cause"), [(RATIO_SD, Cause.MACHINE), (0.1, Cause.UNKNOWN)])
def test_the_first_night_of_another_machine_state_is_told_if_pairs_know_enough(
    ratio_sd: float, cause: Cause
) -> None:
    (change,) = found(step(0.0, 0), step(0.1, NIGHTS - 1), ONE, ratio_sd=ratio_sd)
    assert not change.point.placed
    assert change.cause is cause


def test_code_and_machine_that_change_in_one_night_are_two_alerts() -> None:
    seen = told(found(step(0.03, 90), step(0.1, 90), ONE), nights(ONE))
    assert [(one.bad, one.is_code) for one in seen] == [("c90", True), ("c90", False)]
    sizes = [one.changes[0].point.change for one in seen]
    assert sizes == pytest.approx([0.03, 0.1], abs=0.004)


def test_a_machine_that_becomes_faster_undoes_no_slowdown_of_the_code() -> None:
    slower, _ = told(found(step(0.05, 60), step(-0.05, 100), ONE), nights(ONE))
    assert slower.is_code
    assert not slower.changes[0].explained


@pytest.mark.parametrize("first", [40, 110])
def test_another_base_is_no_change_and_hides_none(first: int) -> None:
    bases = ("old",) * 75 + ("new",) * (NIGHTS - 75)
    assert found(step(0.0, 0), BOOTS, bases) == []
    (alert,) = told(found(step(0.03, first), BOOTS, bases), nights(bases))
    assert alert.bad == f"c{first}"


def test_a_change_in_the_night_of_another_base_is_known_by_the_times() -> None:
    bases = ("old",) * 75 + ("new",) * (NIGHTS - 75)
    (alert,) = told(found(step(0.03, 75), step(0.0, 0), bases), nights(bases))
    assert (alert.bad, alert.is_code) == ("c75", True)


def test_the_machine_of_a_base_between_nights_of_another_one_is_not_the_code() -> None:
    bases = ("old",) * 50 + ("new",) * 50 + ("old",) * (NIGHTS - 100)
    seen = found(step(0.0, 0), step(0.1, 50) - step(0.1, 100), bases)
    assert [(change.point.index, change.cause) for change in seen] == [
        (50, Cause.UNKNOWN),
        (100, Cause.UNKNOWN),
    ]
    (alert,) = told(found(step(0.03, 120), BOOTS, bases), nights(bases))
    assert (alert.bad, alert.is_code) == ("c120", True)


@pytest.mark.parametrize("first", [91, 94, 99])
def test_among_nights_without_a_ratio_the_times_place_a_change(first: int) -> None:
    paired = np.ones(NIGHTS)
    paired[90:100] = 0
    (alert,) = told(found(step(0.03, first), step(0.0, 0), ONE, paired), nights(ONE))
    assert alert.is_code
    assert alert.changes[0].point.index == first
    assert alert.first <= first <= alert.last


def test_ratios_that_scatter_more_than_the_times_tell_the_cause_where_they_can() -> None:
    for sd, cause in ((0.005, Cause.CODE), (0.05, Cause.UNKNOWN)):
        (with_ratios,) = found(step(0.02, 90), step(0.0, 0), ONE, ratio_sd=sd)
        (without,) = found(step(0.02, 90), step(0.0, 0), NONE)
        assert with_ratios == replace(without, cause=cause)
    (of_machine,) = found(step(0.0, 0), step(0.02, 90), ONE, ratio_sd=0.005)
    assert of_machine.cause is Cause.MACHINE


def test_a_slowdown_that_comes_back_is_not_the_machine_where_only_slow_nights_have_ratios() -> None:
    paired = step(1.0, 60) - step(1.0, 90) + step(1.0, 120)
    paired[10:20] = 1
    seen = found(0.03 * (step(1.0, 60) - step(1.0, 90) + step(1.0, 120)), BOOTS * 0, ONE, paired)
    assert [change.point.index for change in seen] == [60, 90, 120]
    assert Cause.MACHINE not in {change.cause for change in seen}
    assert all(alert.is_code for alert in told(seen, nights(ONE)))


@pytest.mark.parametrize("seed", [6, 9])
def test_nights_whose_times_do_not_show_a_change_tell_no_cause(seed: int) -> None:
    slower = 0.06 * (step(1.0, 30) - step(1.0, 60) + step(1.0, 90))
    boots = np.repeat(np.random.default_rng(seed).normal(0.0, 0.02, 8), 20)[:NIGHTS]
    seen = found(slower, boots, ONE, (np.abs(slower + boots) > 0.03).astype(float))
    causes = {change.cause for change in seen if abs(change.point.index - 90) <= 1}
    assert causes
    assert Cause.MACHINE not in causes


def test_few_nights_in_pairs_change_nothing() -> None:
    paired = np.zeros(NIGHTS)
    paired[:9] = 1
    assert found(step(0.03, 90), step(0.0, 0), ONE, paired) == found(
        step(0.03, 90), step(0.0, 0), NONE
    )


def test_boots_that_last_for_weeks_are_the_machine_if_pairs_know() -> None:
    for seed in range(3):
        boots = np.repeat(np.random.default_rng(seed).normal(0.0, 0.05, 8), 20)[:NIGHTS]
        unknown = {change.cause for change in found(step(0.0, 0), boots, NONE)}
        known = {change.cause for change in found(step(0.0, 0), boots, ONE)}
        assert (unknown, known) == ({Cause.UNKNOWN}, {Cause.MACHINE})
