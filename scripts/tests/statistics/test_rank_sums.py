# SPDX-License-Identifier: Apache-2.0
"""The distribution of U."""

from __future__ import annotations

import math
from itertools import combinations

import numpy as np
import pytest

from warpgauge.statistics.rank_sums import mann_whitney


@pytest.mark.parametrize(("ones", "others"), [(1, 1), (1, 4), (2, 3), (4, 4), (5, 3)])
def test_the_distribution_of_u_is_that_of_every_order_of_two_samples(
    ones: int, others: int
) -> None:
    count = np.zeros(ones * others + 1)
    for ranks in combinations(range(ones + others), ones):
        count[sum(ranks) - ones * (ones - 1) // 2] += 1
    chances = mann_whitney(ones, others)
    assert chances == pytest.approx(np.cumsum(count) / count.sum())


def test_the_smallest_chances_of_large_samples_keep_their_digits() -> None:
    assert mann_whitney(100, 100)[0] == pytest.approx(1.0 / math.comb(200, 100), rel=1e-12)
