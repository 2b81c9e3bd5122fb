# SPDX-License-Identifier: Apache-2.0
"""Find what differs in a fleet: groups of many nodes first, then nodes, then GPUs. Pure.

Each step searches what the step before leaves, so that a slow rack is not reported GPU by GPU.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from warpgauge.statistics.error_rates import ALPHA
from warpgauge.statistics.levels import Level, slower_levels, taken_out
from warpgauge.statistics.log_ratios import Array
from warpgauge.statistics.outliers import FEWEST_UNITS, Outliers, medians, outliers

# A healthy fleet shows any finding with probability ALPHA. Half of it goes to GPUs, which are the
# most; nodes, levels of nodes and levels of GPUs get a third of the rest each.
GPU_ALPHA, EACH_ALPHA = ALPHA / 2, ALPHA / 6

# With fewer GPUs a node has no middle to compare their host times with.
_FEWEST_OF_A_NODE = 3
_WINSOR = 4.5  # median absolute deviations, three standard deviations


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
