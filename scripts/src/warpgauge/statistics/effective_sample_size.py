# SPDX-License-Identifier: Apache-2.0
"""How many independent witnesses a group of benchmarks is, of how far sessions or GPUs differ.

A GPU that runs at another temperature, or a boot that places memory elsewhere, moves many
benchmarks by the same amount. Thirty of them that moved together tell of one draw, and not of
thirty; what they show of the scatter is worth as much as one of them shows.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence

import numpy as np

from warpgauge.statistics.log_ratios import Array
from warpgauge.statistics.samples import Index, sums_by


def independent(similar: Sequence[Hashable], row: Index, column: Index, deviations: Array) -> Array:
    """For each benchmark how many independent ones those with its key in `similar` are.

    `deviations` are those of sessions or GPUs (`column`) from the middle of a benchmark (`row`).
    Of m benchmarks whose deviations correlate by r the variances correlate by r², and their mean is
    known as well as that of m / (1 + (m - 1) r²) independent ones (Kish 1965, "Survey sampling",
    5.4, the design effect). r is the mean over all pairs of them.
    """
    size = len(similar)
    numbers: dict[Hashable, int] = {}
    group = np.array([numbers.setdefault(key, len(numbers)) for key in similar], dtype=np.intp)
    lengths = np.sqrt(sums_by(row, deviations**2, size))
    moving = lengths > 0.0
    shares = deviations / np.where(moving, lengths, 1.0)[row]
    columns = int(column.max(initial=-1)) + 1
    cell = group[row] * columns + column
    together = sums_by(cell, shares, len(numbers) * columns).reshape(len(numbers), columns)
    members = sums_by(group, moving.astype(float), len(numbers))
    pairs = np.maximum(members * (members - 1.0), 1.0)
    r = np.clip((np.sum(together**2, axis=1) - members) / pairs, 0.0, 1.0)
    effective = np.maximum(members, 1.0) / (1.0 + np.maximum(members - 1.0, 0.0) * r**2)
    return np.asarray(effective[group])
