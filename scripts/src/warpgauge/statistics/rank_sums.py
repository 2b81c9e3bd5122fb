# SPDX-License-Identifier: Apache-2.0
"""The exact distribution of Mann and Whitney's U."""

from __future__ import annotations

from functools import cache

import numpy as np

from warpgauge.statistics.log_ratios import Array


@cache
def mann_whitney(one: int, other: int) -> Array:
    """Return the probabilities that U is at most 0, 1, 2 … if the two samples do not differ.

    U counts the pairs in which the first sample's value is larger. The number of arrangements with
    U = u is the coefficient of q^u in the Gaussian binomial coefficient, the product of
    (1 - q^(other + i)) / (1 - q^i) over i = 1 … one. Mann and Whitney 1947, "On a test of whether
    one of two random variables is stochastically larger than the other".
    """
    few, many = sorted((one, other))
    half = few * many // 2 + 1  # the other half mirrors it; computing it would lose digits
    counts = np.zeros(half)
    counts[0] = 1.0
    for i in range(1, few + 1):
        if many + i < half:
            counts[many + i :] -= counts[: half - many - i].copy()
        for start in range(min(i, half)):
            counts[start::i] = np.cumsum(counts[start::i])
    size = one * other + 1
    total = np.cumsum(np.concatenate([counts, counts[: size - half][::-1]]))
    return np.asarray(total / total[-1])
