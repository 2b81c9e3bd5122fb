# SPDX-License-Identifier: Apache-2.0
"""The statistics agree with scipy's own, and stay finite where data degenerates."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats as scipy_stats

from warpgauge.statistics.log_ratios import Estimates, combined_freedom


def estimates(log_ratio: float, error: float, freedom: float) -> Estimates:
    return Estimates(*(np.array([one]) for one in (log_ratio, error, freedom)))


def test_p_and_reach_are_those_of_students_t() -> None:
    found = estimates(0.02, 0.005, 6.0)
    assert found.p[0] == pytest.approx(2 * scipy_stats.t.sf(4.0, 6))
    assert found.reach(0.01)[0] == pytest.approx(0.005 * scipy_stats.t.ppf(0.99, 6))
    assumed = estimates(0.02, 0.01, np.inf)
    assert assumed.p[0] == pytest.approx(2 * scipy_stats.norm.sf(2.0), rel=1e-6)


def test_freedom_of_a_sum_is_welchs() -> None:
    one, other = (np.array([4.0]), np.array([6.0])), (np.array([1.0]), np.array([8.0]))
    variance, freedom = combined_freedom(one, other)
    assert variance[0] == 5.0
    assert freedom[0] == pytest.approx(25 / (16 / 6 + 1 / 8))
    nothing = np.array([0.0]), np.array([1.0])  # which takes no freedom
    assert combined_freedom(one, nothing)[1][0] == pytest.approx(6.0)
