# SPDX-License-Identifier: Apache-2.0
"""Groups of unequal length are summed up as numpy would one by one."""

from __future__ import annotations

import numpy as np
import pytest

from warpgauge.statistics.samples import Groups


def test_groups_are_summed_up_each_by_itself() -> None:
    source = np.random.default_rng(1)
    times = [source.uniform(1.0, 9.0, size).tolist() for size in (1, 2, 7, 8, 1, 30)]
    groups = Groups.of_logs(times)
    logs = [np.log(one) for one in times]
    assert groups.means == pytest.approx([np.mean(one) for one in logs])
    assert groups.medians == pytest.approx([np.median(one) for one in logs])
    assert groups.squares == pytest.approx([np.var(one) * one.size for one in logs])


@pytest.mark.parametrize("size", [2, 3, 8, 11, 20])
@pytest.mark.parametrize("states", [0.0, 10.0])
def test_a_median_is_known_no_better_than_it_scatters(size: int, states: float) -> None:
    source = np.random.default_rng(size)
    shape = (4000, size)
    logs = 0.01 * (source.normal(size=shape) + states * source.integers(0, 2, shape))
    groups = Groups.of_logs(np.exp(logs).tolist())
    told = np.mean(groups.median_variances)
    assert 0.6 <= told / np.var(groups.medians) <= 1.5


def test_groups_of_unequal_length_know_their_medians_each_by_itself() -> None:
    several = [[1.0, 2.0, 4.0], [3.0], [5.0, 1.0, 2.0, 8.0], [7.0, 9.0]]
    alone = [float(Groups.of_logs([one]).median_variances[0]) for one in several]
    assert Groups.of_logs(several).median_variances == pytest.approx(alone)


def test_no_groups_are_no_values() -> None:
    groups = Groups.of_logs([])
    assert [groups.means.size, groups.medians.size, groups.squares.size] == [0, 0, 0]
    assert groups.median_variances.size == 0
