# SPDX-License-Identifier: Apache-2.0
"""Test whether something shared by many units (firmware, rack) goes with longer times. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import special, stats

from warpgauge.statistics.error_rates import ALPHA
from warpgauge.statistics.log_ratios import Array
from warpgauge.statistics.outliers import medians

# With fewer units that have a level, or lack it, ranks show nothing.
FEWEST_OF_A_LEVEL = 5
_MOST_LEVELS = 20


@dataclass(frozen=True)
class Level:
    """A level whose units are slower than the others in the rows `slower`, by `excess` (logs).

    `names` are (factor, level) pairs. There are several if the same units share them, because the
    data cannot tell them apart. `p` is adjusted for all rows and levels.
    """

    names: tuple[tuple[str, str], ...]
    members: NDArray[np.bool_]
    excess: Array
    slower: NDArray[np.bool_]
    p: float


def slower_levels(
    logs: Array, factors: Mapping[str, Sequence[str]], least: Array, alpha: float = ALPHA
) -> list[Level]:
    """Return the slower levels of `logs` (units x rows, NaN for missing), strongest first.

    The level "" is ignored. Each row's ranks are compared (Mann, Whitney 1947), with Bonferroni's
    correction over rows and levels. A level's excess is removed before the next search.
    """
    members: dict[bytes, list[tuple[str, str]]] = {}
    for factor, levels in factors.items():
        held = np.asarray(levels)
        for level in sorted({*levels} - {""}):
            has, others = held == level, (held != level) & (held != "")
            if min(has.sum(), others.sum()) >= FEWEST_OF_A_LEVEL:
                members.setdefault(has.tobytes(), []).append((factor, level))
    found: list[Level] = []
    while members and len(found) < _MOST_LEVELS:
        ranks = _ranks(logs)
        tested = (_tested(key, tuple(names), logs, ranks, least) for key, names in members.items())
        p, slower, best = min(tested, key=lambda one: float(one[0].min()))
        p = np.minimum(p * len(members) * logs.shape[1], 1.0)
        if p.min() > alpha:
            break
        best = Level(best.names, best.members, best.excess, slower & (p <= alpha), float(p.min()))
        found.append(best)
        logs = logs - taken_out(best)
        members.pop(best.members.tobytes())
    return found


def taken_out(level: Level) -> Array:
    """Return the excess that the level adds to each unit (units x rows)."""
    return np.asarray(np.where(level.members[:, None] & level.slower, level.excess, 0.0))


def _ranks(logs: Array) -> Array:
    """Return the ranks of each row's units from 1; equal times share a mean rank, NaN stays."""
    return np.asarray(stats.rankdata(logs, axis=0, nan_policy="omit"))


def _tested(
    key: bytes, names: tuple[tuple[str, str], ...], logs: Array, ranks: Array, least: Array
) -> tuple[Array, NDArray[np.bool_], Level]:
    has = np.frombuffer(key, dtype=bool)
    known = ~np.isnan(ranks)
    ones, others = known[has].sum(axis=0), known[~has].sum(axis=0)
    total = ones + others + 1.0
    above = np.nansum(ranks[has], axis=0) - ones * total / 2.0
    z = above / np.sqrt(np.maximum(ones * others * total / 12.0, 1.0))
    excess = medians(logs[has]) - medians(logs[~has])
    slower = (excess >= least) & (np.minimum(ones, others) >= FEWEST_OF_A_LEVEL)
    p = np.where(slower, special.ndtr(-z), 1.0)
    return p, slower, Level(names, has, excess, slower, 1.0)
