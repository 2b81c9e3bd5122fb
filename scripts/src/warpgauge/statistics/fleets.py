# SPDX-License-Identifier: Apache-2.0
"""Find what differs in a fleet: groups of many nodes first, then nodes, then GPUs. Pure.

Each step searches what the step before leaves, so that a slow rack is not reported GPU by GPU.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import special, stats

from warpgauge.statistics.error_rates import ALPHA
from warpgauge.statistics.log_ratios import Array
from warpgauge.statistics.outliers import FEWEST_UNITS, Outliers, medians, outliers

# A healthy fleet shows any finding with probability ALPHA. Half of it goes to GPUs, which are the
# most; nodes, levels of nodes and levels of GPUs get a third of the rest each.
GPU_ALPHA, EACH_ALPHA = ALPHA / 2, ALPHA / 6

# With fewer GPUs a node has no middle to compare their host times with.
_FEWEST_OF_A_NODE = 3
_WINSOR = 4.5  # median absolute deviations, three standard deviations
# With fewer units that have a level, or lack it, ranks show nothing.
FEWEST_OF_A_LEVEL = 5
_MOST_LEVELS = 20

# Each unit's level by factor; "" if unknown.
Levels = Mapping[str, Sequence[str]]


@dataclass(frozen=True)
class Fleet:
    """The data of a fleet: median logs of GPUs x rows, NaN for missing, and their variances.

    `own` are variances by the GPUs' processes. `node` numbers each GPU's node from 0, without gaps.
    `host` marks rows of the host's clock. Excesses below a row's `least` (log ratio) do not matter.
    Rows with equal keys in `similar` have similar scales. `factors` are those of the GPUs.
    """

    logs: Array
    own: Array
    node: NDArray[np.intp]
    host: NDArray[np.bool_]
    least: Array
    similar: Sequence[Hashable]
    factors: Levels


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


@dataclass(frozen=True)
class Judged:
    """The findings. `levels` have a member for each node, `gpu_levels` for each GPU.

    `nodes` and `gpus` are None if there are too few. A GPU's `excess` excludes what levels and
    outlying nodes add. In rows of the host's clock it is relative to the other GPUs of its node.
    """

    levels: list[Level]
    gpu_levels: list[Level]
    nodes: Outliers | None
    gpus: Outliers | None


def judged(fleet: Fleet) -> Judged:
    """Return the findings for a fleet of one GPU model."""
    logs, node = fleet.logs, fleet.node
    of_node, of_gpu = _by_unit(fleet)
    levels = slower_levels(_of_nodes(logs, node), of_node, fleet.least, EACH_ALPHA)
    logs = logs - sum((taken_out(one) for one in levels), np.zeros((node.max() + 1, 1)))[node]
    gpu_levels = slower_levels(_within(logs, fleet), of_gpu, fleet.least, EACH_ALPHA)
    logs = logs - sum((taken_out(one) for one in gpu_levels), np.zeros((len(node), 1)))
    each = _of_nodes(logs, node)
    nodes = None
    if len(each) >= FEWEST_UNITS:
        own = _of_nodes(fleet.own, node)
        nodes = outliers(each, own, fleet.least, fleet.host, fleet.similar, EACH_ALPHA)
        added = np.where(nodes.chosen[:, None], np.nan_to_num(nodes.excess), 0.0)
        logs = logs - added[node]
    gpus = None
    if len(logs) >= FEWEST_UNITS:
        within = _within(logs, fleet)
        gpus = outliers(within, fleet.own, fleet.least, fleet.host, fleet.similar, GPU_ALPHA)
    return Judged(levels, gpu_levels, nodes, gpus)


def _by_unit(fleet: Fleet) -> tuple[dict[str, list[str]], dict[str, list[str]]]:
    """Return the factors shared by all GPUs of each node, by node, and the others, by GPU."""
    of_node: dict[str, list[str]] = {}
    of_gpu: dict[str, list[str]] = {}
    first = np.unique(fleet.node, return_index=True)[1]
    for name, levels in fleet.factors.items():
        shared = [levels[at] for at in first]
        alike = all(shared[at] == level for at, level in zip(fleet.node, levels, strict=True))
        (of_node if alike else of_gpu)[name] = shared if alike else [*levels]
    return of_node, of_gpu


def _of_nodes(
    values: Array, node: NDArray[np.intp], middle: Callable[[Array], Array] = medians
) -> Array:
    """Return the middle of each node's GPUs: nodes x rows."""
    order, counts = np.argsort(node, kind="stable"), np.bincount(node)
    first = np.cumsum(counts) - counts
    found = np.empty((len(counts), values.shape[1]))
    for count in np.unique(counts):
        at = np.flatnonzero(counts == count)
        found[at] = middle(values[order[first[at, None] + np.arange(count)]])
    return found


def _within(logs: Array, fleet: Fleet) -> Array:
    """Return `logs` with rows of the host's clock relative to their node, which has one host.

    The middle is a mean of clipped values, which is more precise than the median.
    """
    few = np.bincount(fleet.node)[fleet.node] < _FEWEST_OF_A_NODE
    within = logs - _of_nodes(logs, fleet.node)[fleet.node]
    within[few] = np.nan
    bound = _WINSOR * medians(np.abs(within))
    tame = np.clip(within, -bound, bound)
    within -= _of_nodes(tame, fleet.node, _means)[fleet.node]
    return np.where(fleet.host, within, logs)


def _means(values: Array) -> Array:
    """Return each row's mean over its units; 0 for a row without any."""
    return np.asarray(np.nansum(values, axis=-2) / np.maximum(np.sum(~np.isnan(values), -2), 1))


def slower_levels(logs: Array, factors: Levels, least: Array, alpha: float = ALPHA) -> list[Level]:
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
        # From 1; equal times share a mean rank, NaN stays.
        ranks = np.asarray(stats.rankdata(logs, axis=0, nan_policy="omit"))
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
