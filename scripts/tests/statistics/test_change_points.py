# SPDX-License-Identifier: Apache-2.0
"""Change points of simulated series whose levels are known."""

from __future__ import annotations

import numpy as np
import pytest

from devtools.simulations import histories
from devtools.simulations.table import Size
from simulation import size
from warpgauge.statistics.change_points import ChangePoint, find_all, slow_curves
from warpgauge.statistics.log_ratios import Array

NIGHTS, SD = 200, 0.002


def noise(seed: int, nights: int = NIGHTS, sd: float = SD) -> Array:
    return np.random.default_rng(seed).normal(-9.0, sd, nights)


def errors(values: Array, error: float = SD / 2) -> Array:
    return np.full(values.shape, error)


def find(values: Array, errors: Array) -> list[ChangePoint]:
    (points,) = find_all(values[None], errors[None])
    return points


def found(values: Array) -> list[ChangePoint]:
    return find(values, errors(values))


def test_a_step_is_placed_with_its_size_and_where_it_may_be() -> None:
    values = noise(1)
    values[120:] += 0.01
    (point,) = found(values)
    assert point.placed
    assert abs(point.index - 120) <= 1
    assert point.first <= 120 <= point.last
    assert point.low < 0.01 < point.high


def test_a_change_and_its_revert_are_two() -> None:
    values = noise(2)
    values[100:108] += 0.02
    there, back = found(values)
    assert (there.index, back.index) == (100, 108)
    assert there.change > 0.0 > back.change


def test_a_staircase_is_found_step_by_step() -> None:
    values = noise(3)
    for night in (40, 80, 120, 160):
        values[night:] += 0.015
    assert [point.index for point in found(values)] == [40, 80, 120, 160]


@pytest.mark.parametrize("nights", [1, 2])
def test_bad_nights_amid_good_ones_change_nothing(nights: int) -> None:
    values = noise(4)
    values[100 : 100 + nights] += 0.3
    assert found(values) == []


def test_the_newest_night_alarms_and_is_placed_when_others_agree() -> None:
    values = noise(5)
    values[150:] += 0.02
    (alarm,) = found(values[:151])
    assert (alarm.index, alarm.placed) == (150, False)
    (point,) = found(values[:160])
    assert (point.index, point.placed) == (150, True)
    one_bad_night = np.concatenate([values[:151], values[100:110]])
    assert found(one_bad_night) == []


@pytest.mark.parametrize(("newest", "alarms"), [(1, False), (4, True)])
def test_where_outliers_are_usual_one_more_is_no_alarm(newest: int, alarms: bool) -> None:
    values = noise(5)
    values[[20, 70, 110]] += 0.02
    values[-newest:] += 0.02
    assert [point.index for point in found(values)] == [NIGHTS - newest] * alarms


def test_two_steps_in_a_short_history_are_two_alarms() -> None:
    values = np.stack([noise(seed, 20) for seed in range(20)])
    values[:, 7:] += 0.5
    values[:, 14:] += 0.4
    points = find_all(values, errors(values))
    assert [[point.index for point in row] for row in points] == [[7, 14]] * 20


def test_a_night_that_is_known_badly_counts_less() -> None:
    values, error = noise(6), np.full(NIGHTS, SD / 2)
    values[-1] += 0.02
    assert find(values, error)
    error[-1] = 0.02
    assert find(values, error) == []


def test_nights_without_a_time_may_hide_where_it_changed() -> None:
    values = noise(7)
    values[100:] += 0.02
    values[95:103] = np.nan
    (point,) = found(values)
    assert (point.first, point.index, point.last) == (95, 103, 103)


def test_errors_need_not_be_known() -> None:
    values = noise(8)
    values[100:] += 0.02
    (point,) = find(values, np.full(NIGHTS, np.nan))
    assert point.index == 100


@pytest.mark.parametrize("nights", [0, 1, 2, 5, 8, 12, 20, 40])
def test_short_unchanged_histories_tell_nothing(nights: int) -> None:
    values = np.stack([noise(seed, nights) for seed in range(100)])
    assert not any(find_all(values, errors(values)))


@pytest.mark.parametrize(
    ("step", "first", "nights"),
    [(0.5, 17, 20), (0.5, 5, 12), (0.5, 11, 12), (0.1, 12, 16), (0.1, 19, 20), (-0.3, 8, 16)],
)
def test_a_large_step_in_a_short_history_alarms(step: float, first: int, nights: int) -> None:
    values = np.stack([noise(seed, nights) for seed in range(100)])
    values[:, first:] += np.log1p(step)
    points = find_all(values, errors(values))
    assert sum([point.index for point in row] == [first] for row in points) >= 90


def test_a_large_early_step_is_told_until_a_change_point_stands() -> None:
    values = np.stack([noise(seed, 100) for seed in range(20)])
    values[:, 5:] += np.log(1.5)
    for nights in (20, 40, 60, 100):
        told = find_all(values[:, :nights], errors(values[:, :nights]))
        assert [[point.index for point in points] for points in told] == [[5]] * 20
        placed = sum(points[0].placed for points in told)
        assert placed == 0 if nights <= 40 else placed > 0


def test_times_that_never_differ_have_no_change() -> None:
    assert found(np.full(NIGHTS, -9.0)) == []


@pytest.mark.parametrize("error", [SD / 2, float("nan")])
def test_a_step_between_times_that_are_equal_is_found(error: float) -> None:
    values = np.full(60, -13.8155)
    values[30:] += 0.1
    (point,) = find(values, errors(values, error))
    assert (point.index, point.placed) == (30, True)


NIGHT = np.arange(NIGHTS)
SLOW = {
    "drift": 0.016 * NIGHT / NIGHTS,
    "season": 0.01 * np.sin(2.0 * np.pi * NIGHT / 60.0 + 1.0),
    "growing season": 0.01 * NIGHT / NIGHTS * np.sin(2.0 * np.pi * NIGHT / 45.0),
}


@pytest.mark.parametrize("slow", list(SLOW))
def test_a_slow_curve_makes_no_step_and_hides_none(slow: str) -> None:
    values = np.stack([noise(seed) for seed in range(20)]) + SLOW[slow]
    assert not any(find_all(values, errors(values)))
    values[:, 90:] += 0.02
    points = find_all(values, errors(values))
    assert [[round(point.index, -1) for point in row] for row in points] == [[90]] * 20


@pytest.mark.parametrize("outlier", [20, 89, 92, 130])
def test_an_outlier_night_neither_hides_nor_makes_a_step(outlier: int) -> None:
    values = noise(9)
    values[outlier] += 0.4
    assert found(values) == []
    values[90:] += 0.02
    (point,) = found(values)
    assert abs(point.index - 90) <= 1


def test_outliers_beside_a_step_do_not_hide_it() -> None:
    values = np.stack([noise(seed) for seed in range(20)])
    values[:, 90:] -= 0.05
    values[:, 93] += 0.11
    values[:, 95] += 0.32
    points = find_all(values, errors(values))
    assert all(any(point.placed and point.change < 0.0 for point in row) for row in points)


@pytest.mark.parametrize("after", [7, 12, 30])
@pytest.mark.parametrize("later", [-0.05, -0.005, 0.05])
def test_a_step_stays_whatever_follows_it(after: int, later: float) -> None:
    values = noise(10)
    values[90:] += 0.03
    values[90 + after :] += later
    assert 90 in [point.index for point in found(values) if point.placed]


@pytest.mark.parametrize("disturbance", ["drift of 3 % a year", "season of ±1 %"])
def test_simulated_steps_are_placed(disturbance: str) -> None:
    smallest, small, large = histories.placed(Size(False, 7), disturbance=disturbance)
    assert smallest >= 90
    assert small >= 95
    assert large >= 99


def test_slow_curves_are_what_moves_apart_from_noise() -> None:
    curves = np.stack([np.zeros(NIGHTS), *SLOW.values()])
    values = np.stack([noise(seed) for seed in range(len(curves))])
    fitted = slow_curves(values + curves, errors(values))
    wrong = fitted - curves
    assert np.ptp(wrong, axis=1) == pytest.approx(0.0, abs=0.003)


def kinds(source: np.random.Generator, rows: int) -> dict[str, Array]:
    normal = source.normal(size=(rows, NIGHTS))
    alike = normal.copy()
    for night in range(1, NIGHTS):
        alike[:, night] = 0.6 * alike[:, night - 1] + 0.8 * normal[:, night]
    states = source.random((rows, NIGHTS))
    return {
        "normal": normal,
        "each night like the one before": alike,
        "outliers": normal + 50.0 * (states < 0.01),
        "two states": 0.1 * normal + 5.0 * (states < 0.2),
        "heavy tails": source.standard_t(2.5, (rows, NIGHTS)),
        "noise that differs": normal * np.exp(source.normal(size=(rows, NIGHTS))),
    }


@pytest.mark.parametrize("kind", list(kinds(np.random.default_rng(0), 1)))
def test_unchanged_nights_show_no_change_point(kind: str) -> None:
    values = SD * kinds(np.random.default_rng(11), size(480))[kind]
    points = [point for row in find_all(values, errors(values)) for point in row if point.placed]
    assert points == []
