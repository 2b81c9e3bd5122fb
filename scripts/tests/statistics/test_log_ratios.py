# SPDX-License-Identifier: Apache-2.0
"""The statistics agree with scipy's own, and stay finite where data degenerates."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats as scipy_stats

from warpgauge.statistics.error_rates import POWER
from warpgauge.statistics.log_ratios import (
    Estimates,
    benjamini_hochberg,
    combined_freedom,
    holm,
)

P_VALUES = st.lists(st.floats(0.0, 1.0), max_size=30).map(np.array)


def estimates(log_ratio: float, error: float, freedom: float) -> Estimates:
    return Estimates(*(np.array([one]) for one in (log_ratio, error, freedom)))


def test_p_and_interval_are_those_of_students_t() -> None:
    found = estimates(0.02, 0.005, 6.0)
    assert found.p[0] == pytest.approx(2 * scipy_stats.t.sf(4.0, 6))
    assert found.half_width[0] == pytest.approx(0.005 * scipy_stats.t.ppf(0.975, 6))
    assumed = estimates(0.02, 0.01, np.inf)
    assert assumed.p[0] == pytest.approx(2 * scipy_stats.norm.sf(2.0), rel=1e-6)


def test_freedom_of_a_sum_is_welchs() -> None:
    one, other = (np.array([4.0]), np.array([6.0])), (np.array([1.0]), np.array([8.0]))
    variance, freedom = combined_freedom(one, other)
    assert variance[0] == 5.0
    assert freedom[0] == pytest.approx(25 / (16 / 6 + 1 / 8))
    nothing = np.array([0.0]), np.array([1.0])  # which takes no freedom
    assert combined_freedom(one, nothing)[1][0] == pytest.approx(6.0)


@pytest.mark.parametrize("freedom", [4.0, 12.0, np.inf])
def test_the_detectable_change_is_found_as_often_as_it_says(freedom: float) -> None:
    alpha, error = 1e-4, 0.01
    detectable = estimates(0.0, error, freedom).detectable(alpha, np.zeros(1))[0]
    nct = scipy_stats.nct if np.isfinite(freedom) else None
    critical = scipy_stats.t.isf(alpha / 2, min(freedom, 1e9))
    shift = detectable / error
    power = nct.sf(critical, freedom, shift) if nct else scipy_stats.norm.sf(critical - shift)
    assert power == pytest.approx(POWER, abs=0.04)


def test_a_change_must_measure_the_minimum_to_be_found() -> None:
    quiet = estimates(0.0, 1e-5, 20.0).detectable(0.01, np.array([0.005]))
    assert quiet[0] == pytest.approx(0.005 + 1e-5 * scipy_stats.norm.ppf(POWER))


@given(P_VALUES)
def test_benjamini_and_hochberg_are_scipys(p: np.ndarray) -> None:
    wanted = scipy_stats.false_discovery_control(p) if p.size else p
    assert benjamini_hochberg(p) == pytest.approx(wanted)


@given(P_VALUES)
def test_holm_lies_between_the_bare_values_and_bonferronis(p: np.ndarray) -> None:
    found = holm(p)
    assert np.all(found >= p)
    assert np.all(found <= np.minimum(p * p.size, 1.0) + 1e-12)
    assert np.all(np.diff(found[np.argsort(p)]) >= 0)


def test_holm_is_as_in_the_textbook() -> None:
    assert holm(np.array([0.01, 0.04, 0.03, 0.005])) == pytest.approx([0.03, 0.06, 0.06, 0.02])
