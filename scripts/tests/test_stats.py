# SPDX-License-Identifier: Apache-2.0
"""The statistics agree with scipy's own, and stay finite where data degenerates."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats as scipy_stats

from builders import noisy
from warpgauge.stats import (
    ALPHA,
    ASSUMED_PROCESS_SD,
    POWER,
    SMALLEST_SD,
    center_of_one_process,
    center_of_processes,
    welch,
)

TIMES = st.lists(st.floats(1e-9, 1e3), min_size=1, max_size=9)


def test_p_and_interval_are_those_of_scipys_welch_test() -> None:
    base, cand = noisy(1, 0.01, processes=5), noisy(2, 0.03, 1.02, processes=9)
    found = welch([center_of_processes(base)], [center_of_processes(cand)])
    wanted = scipy_stats.ttest_ind(np.log(cand), np.log(base), equal_var=False)
    assert found.p[0] == pytest.approx(wanted.pvalue)
    error = found.log_ratio[0] / wanted.statistic
    variances = [np.var(np.log(side), ddof=1) / len(side) for side in (base, cand)]
    assert error**2 == pytest.approx(sum(variances))
    freedom = error**4 / (variances[0] ** 2 / 4 + variances[1] ** 2 / 8)
    half = error * scipy_stats.t.ppf(0.975, freedom)
    assert found.low[0] == pytest.approx(found.log_ratio[0] - half)
    assert found.high[0] == pytest.approx(found.log_ratio[0] + half)


def test_one_value_a_side_is_judged_by_the_assumed_spread() -> None:
    found = welch([center_of_one_process([1.0])], [center_of_one_process([1.1])])
    z = math.log(1.1) / (ASSUMED_PROCESS_SD * math.sqrt(2))
    assert found.p[0] == pytest.approx(2 * scipy_stats.norm.sf(z), rel=1e-6)


def test_repetitions_are_summed_up_by_their_median() -> None:
    assert center_of_one_process([1.0, 1.0, 50.0]).log_seconds == 0.0


def test_wild_repetitions_widen_what_one_process_says() -> None:
    calm = center_of_one_process([1.0, 1.001, 0.999])
    wild = center_of_one_process([1.0, 2.0, 0.5])
    assert calm.variance == pytest.approx(ASSUMED_PROCESS_SD**2, rel=0.01)
    assert wild.variance > 50 * calm.variance
    assert wild.freedom < 3


def test_a_run_of_one_process_is_no_more_certain_than_a_plain_file() -> None:
    assert center_of_processes([1.5]) == center_of_one_process([1.5])


def test_processes_that_agree_to_the_last_digit_are_not_believed_entirely() -> None:
    center = center_of_processes([2.0, 2.0, 2.0])
    assert center.variance == pytest.approx(SMALLEST_SD**2 / 3)
    found = welch([center], [center])
    assert found.p[0] == pytest.approx(1.0)
    assert found.low[0] < 0.0 < found.high[0]


def test_the_detectable_change_is_found_as_often_as_it_says() -> None:
    sd, trials, processes = 0.01, 4000, 7
    source = np.random.default_rng(5)
    # Both sides' spread is what it is: the promise holds on average over what is estimated of it.
    logs = source.normal(0.0, sd, (2, trials, processes))
    flat = [center_of_processes(np.exp(times).tolist()) for times in logs.reshape(-1, processes)]
    base, cand = flat[:trials], flat[trials:]
    detectable = float(np.median(welch(base, cand).detectable))
    shifted = [center_of_processes((np.exp(times + detectable)).tolist()) for times in logs[1]]
    found = float(np.mean(welch(base, shifted).p < ALPHA))
    assert POWER - 0.05 < found < 1.0


def test_no_pairs_give_no_differences() -> None:
    assert welch([], []).p.shape == (0,)


@given(TIMES, TIMES)
def test_any_times_give_finite_statistics_that_mirror(one: list[float], other: list[float]) -> None:
    a, b = center_of_processes(one), center_of_processes(other)
    there, back = welch([a], [b]), welch([b], [a])
    assert 0.0 <= there.p[0] <= 1.0
    assert there.p[0] == pytest.approx(back.p[0])
    assert there.low[0] == pytest.approx(-back.high[0])
    assert there.low[0] <= there.log_ratio[0] <= there.high[0]
    assert math.isfinite(there.detectable[0])
    assert there.detectable[0] > 0.0


@given(TIMES, st.floats(1e-3, 1e3))
def test_the_unit_of_time_does_not_matter(times: list[float], unit: float) -> None:
    one = center_of_processes(times)
    other = center_of_processes([unit * time for time in times])
    assert other.variance == pytest.approx(one.variance, rel=1e-4)
    assert other.log_seconds - one.log_seconds == pytest.approx(math.log(unit), abs=1e-9)
