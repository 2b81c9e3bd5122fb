# SPDX-License-Identifier: Apache-2.0
"""Groups of unequal length are summed up as numpy would one by one."""

from __future__ import annotations

import math

import numpy as np
import pytest

from warpgauge.samples import Groups


def test_groups_are_summed_up_each_by_itself() -> None:
    source = np.random.default_rng(1)
    times = [source.uniform(1.0, 9.0, size).tolist() for size in (1, 2, 7, 8, 1, 30)]
    groups = Groups.of_logs(times)
    logs = [np.log(one) for one in times]
    assert groups.means == pytest.approx([np.mean(one) for one in logs])
    assert groups.medians == pytest.approx([np.median(one) for one in logs])
    assert groups.squares == pytest.approx([np.var(one) * one.size for one in logs])


def test_no_groups_are_no_values() -> None:
    groups = Groups.of_logs([])
    assert [groups.means.size, groups.medians.size, groups.squares.size] == [0, 0, 0]


def test_a_single_time_is_its_own_median() -> None:
    assert Groups.of_logs([[math.e]]).medians == pytest.approx([1.0])
