# SPDX-License-Identifier: Apache-2.0
"""What pairs tell: exact where theory is, whatever the order, the ticks, or a disturbance."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats as scipy_stats

from warpgauge.statistics import pairs
from warpgauge.statistics.log_ratios import Array, Found, centre
from warpgauge.statistics.pairs import Order

CHANCE = 0.01
SEED = 1


def order(count: int) -> Order:
    """Base first, candidate first, base first …"""
    return tuple(number % 2 == 0 for number in range(count))


def found(rows: Array, step: float = 0.0, chance: float = CHANCE) -> Found:
    """Of rows with as many pairs each."""
    orders = [order(rows.shape[1])] * len(rows)
    return pairs.found(rows.tolist(), orders, *np.full((2, len(rows)), [[step], [chance]]))


def one(row: Sequence[float], step: float = 0.0, chance: float = CHANCE) -> dict[str, float]:
    result = found(np.array([row]), step, chance)
    return {name: float(values[0]) for name, values in vars(result).items()}


def noise(count: int, sd: float = 0.01, rows: int = 1) -> Array:
    return np.random.default_rng(SEED).normal(0.0, sd, (rows, count))


def test_of_many_pairs_with_heavy_tails_the_interval_is_that_of_hodges_and_lehmann() -> None:
    row = np.random.default_rng(SEED).standard_cauchy(40)
    even, odd = row[0::2], row[1::2]
    effect = (centre(even) - centre(odd)) / 2.0
    row[0::2], row[1::2] = even - effect, odd + effect
    means = np.sort(np.add.outer(row, row)[np.triu_indices(40)]) / 2.0
    # As many of the outermost as W may have at a quarter of what 95 % leave, tested by scipy.
    left_out = max(
        at for at in range(400)
        if scipy_stats.wilcoxon(_with_w(at), alternative="less", method="exact").pvalue <= 0.0125
    )  # fmt: skip
    result = one(row.tolist())
    assert result["log_ratio"] == pytest.approx(np.median(means))
    assert (result["low"], result["high"]) == pytest.approx((means[left_out], means[-1 - left_out]))


def _with_w(w: int) -> Array:
    """A sample of 40 whose positive values have the sum of ranks `w`."""
    values = -np.arange(1.0, 41.0)
    for rank in range(40, 0, -1):
        if w >= rank:
            values[rank - 1], w = rank, w - rank
    return values


@pytest.mark.parametrize("count", [2, 8, 12, 14])
def test_of_few_undisturbed_pairs_p_is_that_of_the_paired_t_test(count: int) -> None:
    row = noise(count)[0] + 0.01
    wanted = float(scipy_stats.ttest_1samp(row, 0.0).pvalue)
    resembles_none = row - row.mean()
    assert np.sum(resembles_none[1:] * resembles_none[:-1]) < 0.0  # which would widen it
    result = one(row.tolist())
    # Half of the chance may be that of the ranks, which tell less of so few.
    assert wanted * (1.0 - 1e-9) <= result["p"] <= 2.0 * wanted * (1.0 + 1e-9)
    assert result["log_ratio"] == pytest.approx(row.mean(), abs=2.0 * row.std() / math.sqrt(count))


@pytest.mark.parametrize("count", [2, 8, 10])
def test_with_too_few_pairs_for_ranks_student_has_the_whole_chance_to_err(count: int) -> None:
    chance = 0.001
    row = noise(count)[0] + 0.01
    result, t = one(row.tolist(), chance=chance), scipy_stats.t(count - 1)
    error = row.std(ddof=1) / math.sqrt(count)
    assert result["p"] == pytest.approx(2.0 * t.sf(abs(row.mean()) / error))
    assert result["high"] == pytest.approx(row.mean() + t.ppf(0.975) * error)
    assert result["bound"] == pytest.approx(row.mean() + t.ppf(1.0 - chance) * error)


@pytest.mark.parametrize("count", [2, 12, 16, 28, 40])
def test_an_effect_of_the_order_is_no_change(count: int) -> None:
    effect = 0.05 * np.where(np.array(order(count)), 1.0, -1.0)
    plain, ordered = (one((noise(count)[0] * 0.01 + extra).tolist()) for extra in (0.0, effect))
    assert ordered["log_ratio"] == pytest.approx(plain["log_ratio"], abs=2e-4)
    assert ordered["p"] > 0.01
    if count >= 16:  # and it does not hide one either
        assert ordered["high"] - ordered["low"] < 0.001


@pytest.mark.parametrize("count", [2, 3, 4, 7, 12, 40])
@pytest.mark.parametrize("ticks", [0.0, 0.004])
def test_the_mirror_of_a_row_has_the_mirror_of_its_interval(count: int, ticks: float) -> None:
    row = noise(count)[0] + 0.005
    result, mirrored = (one((sign * row).tolist(), ticks) for sign in (1.0, -1.0))
    assert mirrored["low"] == pytest.approx(-result["high"])
    assert mirrored["log_ratio"] == pytest.approx(-result["log_ratio"])
    assert mirrored["p"] == pytest.approx(result["p"])
    assert result["low"] < result["log_ratio"] < result["high"]
    assert result["bound"] > result["log_ratio"]


@pytest.mark.parametrize("count", [8, 40])
def test_a_step_of_the_clock_is_part_of_the_interval(count: int) -> None:
    row, step = (noise(count, 0.001)[0] + 0.03).tolist(), 0.02
    exact, stepped = one(row), one(row, step)
    assert stepped["log_ratio"] == exact["log_ratio"]
    for end, sign in (("low", -1), ("high", 1), ("bound", 1)):
        assert stepped[end] == pytest.approx(exact[end] + sign * step)
    assert one(row, 0.04)["p"] == 1.0  # it may all be within a tick
    assert exact["p"] < stepped["p"] < 0.01


def test_neighbours_that_resemble_each_other_tell_less() -> None:
    source, rows, count = np.random.default_rng(SEED), 40, 28
    fresh = source.normal(0.0, 0.01, (rows, count))
    alike = fresh.copy()
    for pair in range(1, count):
        alike[:, pair] = 0.6 * alike[:, pair - 1] + 0.8 * fresh[:, pair]
    widths = []
    for table in (fresh, alike):
        result = found(table)
        widths.append(float(np.median(result.high - result.low)))
    # The standard error of such a mean is nearly twice as large.
    assert 1.5 < widths[1] / widths[0] < 2.3


@given(st.integers(0, 23), st.floats(0.1, 3.0))
def test_one_disturbed_pair_does_not_hide_a_change(which: int, by: float) -> None:
    for sign in (1.0, -1.0):
        row = noise(24)[0] + 0.05
        row[which] += sign * by
        result = one(row.tolist())
        assert result["p"] < 0.001
        assert 0.04 < result["low"] < result["high"] < 0.06


def test_a_change_that_72_of_84_pairs_show_is_found_and_no_pass() -> None:
    source = np.random.default_rng(SEED)
    rows = 0.05 + source.normal(0.0, 0.01, (40, 84))
    rows[:, :12] -= 0.1 + np.abs(source.normal(0.0, 0.4, (40, 12)))  # the base was disturbed
    rows = source.permuted(rows, axis=1)
    assert np.mean(rows) < 0.0
    result = found(rows)
    assert np.all(result.bound > 0.03)
    assert np.all(result.p < 0.01)


def test_two_and_three_pairs_bound_hardly_anything_and_never_claim_certainty() -> None:
    for row in ([0.10, 0.1001], [0.10, 0.101], [0.1, 0.1001, 0.1]):
        result = one(row)
        assert result["p"] > 0.0
        assert 0.10 < result["bound"] < math.inf
    assert one([0.10, 0.12])["p"] > 0.05
    assert one([0.10, 0.11, 0.12])["p"] > 0.0025
    assert one([0.10, 0.11, 0.12])["bound"] > 0.15
    assert one([0.0, 0.0])["p"] == 1.0


@pytest.mark.parametrize("count", [2, 8, 40])
def test_pairs_that_are_all_equal_show_a_clock_too_coarse_to_bound_anything(count: int) -> None:
    result = one([0.02] * count)
    assert result["p"] == 1.0
    assert result["low"] < -0.5
    assert result["bound"] >= result["high"] > 0.5
    assert one([0.02] * (count - 1) + [0.021])["bound"] < (0.5 if count == 2 else 0.03)


def test_where_the_base_always_began_no_effect_of_the_order_is_taken_out() -> None:
    row = (noise(20)[0] + 0.01).tolist()
    for first in (True, False):
        result = pairs.found([row], [(first,) * 20], np.zeros(1), np.full(1, CHANCE))
        assert result.log_ratio[0] == pytest.approx(np.mean(row), abs=1e-3)
        wanted = float(scipy_stats.ttest_1samp(row, 0.0).pvalue)
        assert wanted <= result.p[0] <= 10.0 * wanted
        assert all(math.isfinite(values[0]) for values in vars(result).values())


def test_rows_with_different_rounds_are_judged_beside_each_other_as_if_alone() -> None:
    counts = (2, 5, 8, 28, 28)
    rows = [(noise(count)[0] + 0.01 * number).tolist() for number, count in enumerate(counts)]
    none = np.zeros(len(counts))
    together = pairs.found(rows, [*map(order, counts)], none, none + CHANCE)
    for number, row in enumerate(rows):
        alone = one(row)
        assert together.log_ratio[number] == pytest.approx(alone["log_ratio"])


def test_without_a_row_nothing_is_found() -> None:
    nothing = pairs.found([], [], np.zeros(0), np.zeros(0))
    assert all(values.shape == (0,) for values in vars(nothing).values())


@pytest.mark.parametrize("count", [2, 3, 8, 40])
def test_a_rarer_error_needs_a_larger_bound(count: int) -> None:
    row = noise(count)[0].tolist()
    bounds = [one(row, chance=chance)["bound"] for chance in (0.05, 0.01, 0.001, 1e-6)]
    assert bounds == sorted(bounds)
    assert bounds[0] < bounds[-1]
