# SPDX-License-Identifier: Apache-2.0
"""What differs in a fleet: first what many nodes share, then a node, then a GPU. Pure.

Each is looked for in what the one before leaves, so that a slow rack is not told GPU by GPU.
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

# A healthy fleet shows anything with the chance ALPHA: GPUs, of which there are most, with half of
# it; nodes, levels of nodes and levels of GPUs with a third of the rest each.
GPU_ALPHA, EACH_ALPHA = ALPHA / 2, ALPHA / 6

# A node's middle is its own where it has so many GPUs.
_FEWEST_OF_A_NODE = 3
_WINSOR = 4.5  # median absolute deviations, three standard deviations


# Each unit's level by factor; "" where nobody knows.
Levels = Mapping[str, Sequence[str]]


@dataclass(frozen=True)
class Fleet:
    """Of GPUs x rows: median logs, NaN for missing, and their variances by the GPU's processes.

    `node` numbers each GPU's node from 0, without a gap. `host` are rows of the host's clock. Less
    than a row's `least` (log ratio) nobody minds. `similar` is a key for rows whose scales are
    alike. `factors` are those of the GPUs.
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
    """`levels` of nodes have a member for each node, `gpu_levels` for each GPU.

    None where there are too few nodes or GPUs. A GPU's `excess` is without what levels and outlying
    nodes add; in rows of the host's clock it is against the other GPUs of its node.
    """

    levels: list[Level]
    gpu_levels: list[Level]
    nodes: Outliers | None
    gpus: Outliers | None


def judged(fleet: Fleet) -> Judged:
    """Of a fleet of one GPU model."""
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
    """The factors that all GPUs of a node share, by node, and the others, by GPU."""
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
    """The middle of each node's GPUs: nodes x rows."""
    order, counts = np.argsort(node, kind="stable"), np.bincount(node)
    first = np.cumsum(counts) - counts
    found = np.empty((len(counts), values.shape[1]))
    for count in np.unique(counts):
        at = np.flatnonzero(counts == count)
        found[at] = middle(values[order[first[at, None] + np.arange(count)]])
    return found


def _within(logs: Array, fleet: Fleet) -> Array:
    """Rows of the host's clock against the node's middle: its GPUs have them of one host.

    A mean without what is far out knows it better than the median.
    """
    few = np.bincount(fleet.node)[fleet.node] < _FEWEST_OF_A_NODE
    within = logs - _of_nodes(logs, fleet.node)[fleet.node]
    within[few] = np.nan
    bound = _WINSOR * medians(np.abs(within))
    tame = np.clip(within, -bound, bound)
    within -= _of_nodes(tame, fleet.node, _means)[fleet.node]
    return np.where(fleet.host, within, logs)


def _means(values: Array) -> Array:
    """Of each row over its units; 0 for a row without any."""
    return np.asarray(np.nansum(values, axis=-2) / np.maximum(np.sum(~np.isnan(values), -2), 1))
