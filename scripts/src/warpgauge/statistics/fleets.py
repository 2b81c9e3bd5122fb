# SPDX-License-Identifier: Apache-2.0
"""Find what is slower in a fleet: levels of factors, then nodes, then GPUs, then groups. Pure.

Each step searches what the steps before leave, so that a slow rack is not reported GPU by GPU.

The test of units (nodes, GPUs) assumes no distribution of the noise. In a fleet of healthy units
each row's values could as well belong to the units in any other order, and rows are independent
once what all rows of a unit share is removed. A unit that is far from the others in one row may be
noise; one that is far in several rows is not, because noise rarely chooses the same unit twice.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray
from scipy import special, stats

from warpgauge.statistics.error_rates import ALPHA
from warpgauge.statistics.log_ratios import Array

# A healthy fleet shows any finding with probability ALPHA. Half of it goes to GPUs, which are the
# most; nodes, groups, levels of nodes and levels of GPUs share the rest.
GPU_ALPHA, EACH_ALPHA = ALPHA / 2, ALPHA / 8

# With fewer units, those that are far from the others by chance are too often the same.
FEWEST_UNITS = 8

# With fewer GPUs a node has no middle to compare their host times with.
_FEWEST_OF_A_NODE = 3
# A node is slow in a row if more than this share of its GPUs have half its excess or more.
_AGREE = 0.75
# With fewer units that have a level, or lack it, ranks show nothing.
FEWEST_OF_A_LEVEL = 5
_MOST_FINDINGS = 20  # levels, or groups

_NORMAL = 1.4826  # standard deviations per median absolute deviation of normal values
_SMALLEST_SD = 1e-4  # no row repeats better than this (standard deviation of the log)
# A unit's own variance counts beyond this multiple of the median one, which chance explains.
_OWN_SCATTER = 4.0
# A unit's row scores if its distance exceeds a start (standard deviations): 1, and the log of how
# many times it does, in steps. Nearer rows would count although they depend on each other.
_STARTS = (4.25, 6.0, 8.5, 12.0)
_STEP, _HIGHEST_LOG, _CELLS = 0.2, 4.0, 4096
_TINY = 1e-14  # rounding of the convolution
# The slower units' quantile that is as far from the median as one standard deviation or less.
_SLOWER_SIDE = 0.8
# One row, and what rows share, may be so many times as far away as Student's t with so many degrees
# of freedom explains: that covers lognormal noise (sigma 1), too.
_HEAVIEST, _HEAVIER = 3.0, 2.0
# The scale of a few units is unsure: what their rows share counts only beyond so many scales.
_LEAST_TAIL, _SURE_UNITS = 50.0, 32.0
# The scale of what rows share is at most so many times the distance of its quantiles 5 and 25 %:
# as large as that of exponential values.
_ONE_SIDED = 3.0
_TURNS = 3
# Rows of one host, and rows in which many units are slow, depend on each other beyond what is
# removed: they show as much as half as many independent ones.
_WORTH = 0.5

# A row has two groups if their medians are at least so many times as far apart as the sum of their
# median absolute deviations. Two halves of one normal or exponential population reach 2.
_SEPARATIONS = (3.5, 7.0, 14.0, 28.0)
_LARGEST_GROUP = 0.9  # of all units; a few that are faster make no group of the others
_SAME = 2.0 / 3.0  # share of a group's units, and of a row's slower ones, that have to agree
_FEWEST_ROWS_OF_A_GROUP = 2
_FEWEST_TO_SPLIT = 16  # fewer units that lie in two groups may do so by chance

# Each unit's level by factor; "" if unknown.
Levels = Mapping[str, Sequence[str]]
Mask = NDArray[np.bool_]


@dataclass(frozen=True)
class Fleet:
    """The data of a fleet: median logs of GPUs x rows, NaN for missing, and their variances.

    `own` are variances by the GPUs' processes. `node` numbers each GPU's node from 0, without gaps.
    `host` marks rows of the host's clock. Excesses below a row's `least` (log ratio) do not matter.
    `factors` are those of the GPUs.
    """

    logs: Array
    own: Array
    node: NDArray[np.intp]
    host: Mask
    least: Array
    factors: Levels


@dataclass(frozen=True)
class Level:
    """Units that are slower than the others in the rows `slower`, by `excess` (logs).

    `names` are (factor, level) pairs. There are several if the same units share them, because the
    data cannot tell them apart; none for a group that no factor explains. `p` is adjusted for all
    rows, and levels or groups.
    """

    names: tuple[tuple[str, str], ...]
    members: Mask
    excess: Array
    slower: Mask
    p: float


@dataclass(frozen=True)
class Units:
    """For units x rows: `excess` over the fleet's median (logs), NaN if not measured.

    `p` is each unit's, `chosen` the slower units, `slower` their slower rows.
    """

    excess: Array
    p: Array
    chosen: Mask
    slower: Mask


@dataclass(frozen=True)
class Judged:
    """The findings. `levels` have a member for each node, `gpu_levels` and `groups` for each GPU.

    `nodes` is None if there are too few. A GPU's `excess` excludes what levels and slower nodes
    add. In rows of the host's clock it is relative to the other GPUs of its node.
    """

    levels: list[Level]
    gpu_levels: list[Level]
    nodes: Units | None
    gpus: Units
    groups: list[Level]


def judged(fleet: Fleet) -> Judged:
    """Return the findings for a fleet of one GPU model, of FEWEST_UNITS GPUs or more."""
    logs, node = fleet.logs, fleet.node
    of_node, of_gpu = _by_unit(fleet)
    levels = slower_levels(_of_nodes(logs, node), of_node, fleet.least, EACH_ALPHA)
    logs = logs - sum((_added(level) for level in levels), np.zeros((node.max() + 1, 1)))[node]
    gpu_levels = slower_levels(_within(logs, fleet), of_gpu, fleet.least, EACH_ALPHA)
    logs = logs - sum((_added(level) for level in gpu_levels), np.zeros((len(node), 1)))
    nodes = None
    if node.max() + 1 >= FEWEST_UNITS:
        each, own, agree = _of_nodes(logs, node), _of_nodes(fleet.own, node), _agree(logs, fleet)
        nodes = slower_units(each, own, fleet, EACH_ALPHA, agree, _WORTH)
        logs = logs - np.where(nodes.slower, nodes.excess, 0.0)[node]
    within = _within(logs, fleet)
    gpus = slower_units(within, fleet.own, fleet, GPU_ALPHA, ~np.isnan(within))
    excess = within - medians(within)
    scale = np.maximum(_NORMAL * medians(np.abs(excess)), _SMALLEST_SD)
    # Half a fleet may be slow in a row: only its faster GPUs say how much healthy ones differ.
    near, far = np.nanquantile(np.where(np.isnan(scale), 0.0, excess), [0.25, 0.05], axis=0)
    shared = np.minimum(near - far, scale) * _shared(excess / scale, fleet.host, half=True)
    rest = np.where(gpus.slower, np.nan, within)
    groups = slower_groups(rest, shared, fleet.least, EACH_ALPHA)
    return Judged(levels, gpu_levels, nodes, gpus, groups)


def medians(values: Array) -> Array:
    """Return each row's median over its units (the axis before the last); NaN if it has none."""
    known = np.sum(~np.isnan(values), axis=-2, keepdims=True)
    middles = np.concatenate([np.maximum(known - 1, 0) // 2, known // 2], axis=-2)
    return np.asarray(np.take_along_axis(np.sort(values, axis=-2), middles, -2).mean(axis=-2))


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


def _of_nodes(values: Array, node: NDArray[np.intp]) -> Array:
    """Return the median of each node's GPUs: nodes x rows."""
    order, counts = np.argsort(node, kind="stable"), np.bincount(node)
    first = np.cumsum(counts) - counts
    found = np.empty((len(counts), values.shape[1]))
    for count in np.unique(counts):
        at = np.flatnonzero(counts == count)
        found[at] = medians(values[order[first[at, None] + np.arange(count)]])
    return found


def _agree(logs: Array, fleet: Fleet) -> Mask:
    """Return in which rows a node's GPUs agree on its excess: nodes x rows.

    In rows of the GPU's clock one GPU alone says nothing about its node.
    """
    excess, node = logs - medians(logs), fleet.node
    has_half = ~(excess < _of_nodes(excess, node)[node] / 2.0)  # also if it was not measured
    gpus = np.bincount(node)[:, None]
    for_it = np.zeros((len(gpus), logs.shape[1]))
    np.add.at(for_it, node, has_half)
    return np.asarray((for_it > _AGREE * gpus) & (fleet.host | (gpus > 1)))


def _within(logs: Array, fleet: Fleet) -> Array:
    """Return `logs` with rows of the host's clock relative to their node, which has one host."""
    few = np.bincount(fleet.node)[fleet.node] < _FEWEST_OF_A_NODE
    within = logs - _of_nodes(logs, fleet.node)[fleet.node]
    within[few] = np.nan
    return np.where(fleet.host, within, logs)


def slower_units(
    logs: Array, own: Array, fleet: Fleet, alpha: float, may: Mask, worth: float = 1.0
) -> Units:
    """Return the slower units of `logs` (units x rows, NaN for missing).

    `own` are the logs' variances by the units' own processes. Units count only in rows where they
    `may`. A fleet of healthy units shows a slower one with probability `alpha` (Holm 1979). The
    slower ones are removed, and the search is repeated without them. Rows show as much as `worth`
    times as many independent ones.
    """
    excess = logs - medians(logs)
    found = Units(excess, np.ones(len(logs)), np.zeros(len(logs), bool), np.zeros(logs.shape, bool))
    left = np.arange(len(logs))
    while len(left) >= FEWEST_UNITS:
        some = logs[left] - medians(logs[left])
        counts = may[left] & (some >= fleet.least)
        distance = np.where(counts, _distance(some, own[left], fleet.host), 0.0)
        p, start = _evidence(distance, fleet.host, worth)
        new = p * len(left) <= alpha
        found.p[left], found.excess[left], found.chosen[left] = p, some, new
        found.slower[left] = new[:, None] & _named(distance, start, new)
        left = left[~new]
        if not new.any():
            break
    return found


def _named(distance: Array, start: Array, new: Mask) -> Mask:
    """Return each unit's slow rows: far from the others, and slower than 99 % of the others."""
    far: Mask = distance > start[:, None]
    if new.all():
        return far
    slowest = far & (distance > np.quantile(distance[~new], 0.99, axis=0, method="higher"))
    return np.where(slowest.any(axis=1, keepdims=True), slowest, far)


def _distance(excess: Array, own: Array, host: Mask) -> Array:
    """Return how far units are from the others in each row, in standard deviations.

    Of skewed noise the slower side counts, if it is the wider one.
    """
    scale = np.maximum(_NORMAL * medians(np.abs(excess)), _SMALLEST_SD)
    known = np.sum(~np.isnan(excess), axis=0)
    at = (_SLOWER_SIDE * np.maximum(known - 1, 0)).astype(int)
    slower = np.take_along_axis(np.sort(excess, axis=0), at[None], 0)[0]
    scale = np.maximum(scale, slower / special.ndtri(_SLOWER_SIDE))
    added = np.maximum(own - _OWN_SCATTER * medians(own), 0.0)
    distance = excess / np.sqrt(scale**2 + added)
    return np.asarray(distance - _shared(distance, host))


def _shared(distance: Array, host: Mask, *, half: bool = False) -> Array:
    """Return what all rows of a unit share, by clock, as far as healthy units explain it.

    It is one factor times each row's load: the rank-one matrix with the least sum of absolute
    errors, by medians in turn (Ke and Kanade 2005). If `half` of the units may be slow in the same
    rows, these would be the factor: all rows have the same load, and the faster units its scale.
    """
    shared = np.zeros(distance.shape)
    units = len(distance)
    for kind in (host, ~host):
        rows = int(np.sum(kind))
        if rows < 2:
            continue
        some = distance[:, kind]
        load = np.ones(rows)
        factor = _centred(some, load)
        for _ in range(0 if half else _TURNS):
            load = np.maximum(_slopes(some.T, factor), 0.0)
            factor = _centred(some, load)
        middle, scale = 0.0, _NORMAL * np.median(np.abs(factor))
        if half:
            middle, far = np.quantile(factor, [0.25, 0.05])
            scale = min(scale, _ONE_SIDED * (middle - far))
        # Independent rows share nothing, but their median has a variance; many units show it.
        unsure = min(_SURE_UNITS / units, 1.0)
        explained = (1.0 - unsure) * min(math.pi / 2.0 / max(np.sum(load**2), _TINY), scale**2)
        tail = _HEAVIER * stats.t.isf(GPU_ALPHA / units, _HEAVIEST)
        tail = max(tail, _LEAST_TAIL, 2.0 * _LEAST_TAIL * FEWEST_UNITS / units)
        most = middle + tail * math.sqrt(scale**2 - explained)
        shared[:, kind] = np.minimum(factor, most)[:, None] * load
    return shared


def _centred(values: Array, load: Array) -> Array:
    factor = _slopes(values, load)
    return np.asarray(factor - np.median(factor))


def _slopes(values: Array, along: Array) -> Array:
    """Return each line's slope through the origin with the least sum of absolute errors."""
    weight = np.where(np.isnan(values), 0.0, np.abs(along))
    with np.errstate(divide="ignore", invalid="ignore"):
        slope = np.where(weight > 0.0, values / along, 0.0)
    order = np.argsort(slope, axis=1)
    total = np.cumsum(np.take_along_axis(weight, order, 1), axis=1)
    at = np.argmax(2.0 * total >= total[:, -1:], axis=1)
    return np.take_along_axis(slope, np.take_along_axis(order, at[:, None], 1), 1)[:, 0]


def _evidence(distance: Array, host: Mask, worth: float) -> tuple[Array, Array]:
    """Return the probability that a healthy unit is so far away, and where its slow rows start.

    The rows of each clock are tested alone, because the host's have heavier tails. The harmonic
    mean of probabilities holds although they depend on each other (Wilson 2019).
    """
    starts = [(clock, start) for clock in (host, ~host) for start in _STARTS]
    several = [_chance(distance[:, clock], start) ** worth for clock, start in starts]
    farthest = np.max(distance, axis=1, initial=0.0)
    single = distance.shape[1] * stats.t.sf(farthest / _HEAVIER, _HEAVIEST)
    every = np.maximum([*several, single], _TINY)
    start = np.array([*_STARTS, *_STARTS, _STARTS[-1]])[np.argmin(every, axis=0)]
    return np.minimum(len(every) / np.sum(1.0 / every, axis=0), 1.0), start


def _chance(distance: Array, start: float) -> Array:
    """Return the probability that a healthy unit's scores have at least the sum of each unit's.

    A healthy unit's score in a row is drawn from the scores of all units in this row, so that the
    distribution of its sum is the convolution of the rows' distributions.
    """
    units, rows = distance.shape
    unit, row = np.nonzero(distance > start)
    score = 1.0 + np.minimum(np.log(distance[unit, row] / start), _HIGHEST_LOG)
    cell = (score / _STEP).astype(int)
    shares = np.bincount(row * _CELLS + cell, minlength=rows * _CELLS).reshape(rows, _CELLS) / units
    shares[:, 0] = 1.0 - shares.sum(axis=1)
    sums = np.fft.irfft(np.prod(np.fft.rfft(shares, axis=1), axis=0), _CELLS)
    tail = np.clip(np.cumsum(sums[::-1])[::-1], _TINY, 1.0)
    total = np.bincount(unit, cell, units).astype(int)
    return np.asarray(tail[np.minimum(total, _CELLS - 1)])


def slower_groups(logs: Array, shared: Array, least: Array, alpha: float) -> list[Level]:
    """Return groups of units, each slower than the others in the same rows beyond what is `shared`.

    Such units are too many for `slower_units`: they change what is usual in these rows. A row with
    two groups (`_split`) shows nothing alone, because healthy units may have two states. Slower
    units that are the same ones in several rows do. A healthy fleet shows one with probability
    `alpha`.
    """
    found: list[Level] = []
    while len(found) < _MOST_FINDINGS:
        split, separation = _split(logs - shared, least)
        tested = [_group(logs, split & (separation >= least)) for least in _SEPARATIONS]
        groups = [one for one in tested if one is not None and one.p * len(tested) <= alpha]
        if not groups:
            break
        best = max(groups, key=lambda one: int(one.members.sum()) * int(one.slower.sum()))
        found.append(replace(best, p=best.p * len(tested)))
        logs = np.where(best.members[:, None] & best.slower, np.nan, logs)
    return found


def _split(logs: Array, least: Array) -> tuple[Mask, Array]:
    """Return the slower of two groups in each row (units x rows), and how far apart the two are.

    Two medians in turn with the middle between them (k-medians, Jain and Dubes 1988).
    """
    known = ~np.isnan(logs)
    count = known.sum(axis=0)
    ordered = np.sort(logs, axis=0)

    def value(rank: Array) -> Array:
        at = np.clip(rank.astype(int), 0, np.maximum(count - 1, 0))
        return np.asarray(np.take_along_axis(ordered, at[None], 0)[0])

    low, high = value(0.05 * count), value(count - np.maximum(2, np.ceil(0.015 * count)))
    for _ in range(20):
        below = np.sum(ordered <= (low + high) / 2.0, axis=0)
        low, high = value((below - 1) / 2.0), value(below + (count - below - 1) / 2.0)
    slower = known & (logs > (low + high) / 2.0)
    spread = sum(
        medians(np.where(side, np.abs(logs - middle), np.nan))
        for side, middle in ((slower, high), (known & ~slower, low))
    )
    separation = (high - low) / np.maximum(spread, _SMALLEST_SD)
    size = slower.sum(axis=0)
    usable = (high - low >= least) & (size >= 2) & (size <= _LARGEST_GROUP * count)
    usable &= count >= _FEWEST_TO_SPLIT
    return slower & usable, np.where(usable, separation, 0.0)


def _group(logs: Array, split: Mask) -> Level | None:
    """Return the units that are among the slower ones of rows more often than chance explains."""
    units = len(split)
    # Of the number of rows in which a unit is among the slower ones, if each row drew them anew.
    chance = np.ones(1)
    for share in np.mean(split, axis=0)[split.any(axis=0)]:
        chance = np.append(chance * (1.0 - share), 0.0) + np.append(0.0, chance * share)
    tail = np.cumsum(chance[::-1])[::-1]
    counts = split.sum(axis=1)
    numbers = np.arange(_FEWEST_ROWS_OF_A_GROUP, counts.max() + 1)
    if not len(numbers):
        return None
    reached = np.sum(counts[:, None] >= numbers, axis=0)
    p = len(chance) * special.bdtrc(reached - 1, units, np.minimum(tail[numbers], 1.0) ** _WORTH)
    best = int(np.argmin(p))
    members = counts >= numbers[best]
    both = split & members[:, None]
    slower = both.sum(axis=0) >= _SAME * members.sum()
    slower &= both.sum(axis=0) >= _SAME * split.sum(axis=0)
    members = 2 * split[:, slower].sum(axis=1) > slower.sum()
    if slower.sum() < _FEWEST_ROWS_OF_A_GROUP or members.mean() > _LARGEST_GROUP:
        return None
    excess = medians(logs[members]) - medians(logs[~members])
    return Level((), members, excess, slower, float(p[best]))


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
    while members and len(found) < _MOST_FINDINGS:
        # From 1; equal times share a mean rank, NaN stays.
        ranks = np.asarray(stats.rankdata(logs, axis=0, nan_policy="omit"))
        tested = (_tested(key, tuple(names), logs, ranks, least) for key, names in members.items())
        p, slower, best = min(tested, key=lambda one: float(one[0].min()))
        p = np.minimum(p * len(members) * logs.shape[1], 1.0)
        if p.min() > alpha:
            break
        best = replace(best, slower=slower & (p <= alpha), p=float(p.min()))
        found.append(best)
        logs = logs - _added(best)
        members.pop(best.members.tobytes())
    return found


def _added(level: Level) -> Array:
    """Return the excess that the level adds to each unit (units x rows)."""
    return np.asarray(np.where(level.members[:, None] & level.slower, level.excess, 0.0))


def _tested(
    key: bytes, names: tuple[tuple[str, str], ...], logs: Array, ranks: Array, least: Array
) -> tuple[Array, Mask, Level]:
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
