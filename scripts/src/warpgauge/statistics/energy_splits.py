# SPDX-License-Identifier: Apache-2.0
"""Candidate splits of nightly times by E-divisive means, in windows of many series.

Matteson and James 2014, "A nonparametric approach for multiple change point analysis of
multivariate data". As in Fleming et al. 2023, "Hunter: using change point detection to hunt for
performance regressions", windows overlap by half, and a t test replaces permutations.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from scipy import special

from warpgauge.statistics.log_ratios import Array
from warpgauge.statistics.samples import Index

WINDOW = 100  # nights; their mean has a tenth of the scatter of one night
STEP = WINDOW // 2
# Nights on each side of a split. With fewer, ranks cannot pass even against a whole window.
SHORTEST = 5
_WEAK = 1e-3  # p of a candidate; not strict, as neighbours not yet found widen its scatter
_BLOCK = 16  # windows processed at once; a table of their pairs of nights fits in the cache


def candidates(values: Sequence[Array], weights: Sequence[Array]) -> list[list[int]]:
    """Return the splits of each series whose t test has p <= 0.001.

    Windows overlap by half. A window with a split is searched again on both sides of it.
    """
    found: list[list[int]] = [[] for _ in values]
    waiting = [
        (row, start, min(start + WINDOW, len(one)))
        for row, one in enumerate(values)
        for start in range(0, max(len(one) - STEP // 2, 1), STEP)
    ]
    while waiting:
        waiting.sort(key=lambda one: one[2] - one[1])  # windows of a block have similar lengths
        block, waiting = waiting[-_BLOCK:], waiting[:-_BLOCK]
        block = [one for one in block if one[2] - one[1] >= 2 * SHORTEST]
        if not block:
            continue
        splits, p = _furthest(
            _padded([values[row][start:end] for row, start, end in block]),
            _padded([weights[row][start:end] for row, start, end in block]),
        )
        for (row, start, end), split, chance in zip(block, splits, p, strict=True):
            if chance <= _WEAK:
                at = start + int(split)
                found[row].append(at)
                waiting += [(row, start, at), (row, at, end)]
    return found


def _padded(rows: Sequence[Array]) -> Array:
    """Return the rows as one table, padded with zeros."""
    table = np.zeros((len(rows), max(map(len, rows))))
    for line, row in zip(table, rows, strict=True):
        line[: len(row)] = row
    return table


def _furthest(x: Array, w: Array) -> tuple[Index, Array]:
    """Return the split of each window with the largest energy distance, and p of its t test.

    The distance is the largest, over all splits t and ends k, of
    l r / (l + r) × (2 E|X-Y| - E|X-X'| - E|Y-Y'|) for X before t and Y from t to k (Matteson and
    James 2014, formulas 5 and 8, with exponent 1). l and r are the sums of both sides' weights, and
    each pair of nights is weighted by the product of its weights.
    """
    count, size = x.shape
    tiny = 1e-9 * np.min(w, where=w > 0.0, initial=np.inf) ** 2  # below any sum of products
    distances = np.abs(x[:, :, None] - x[:, None, :]) * (w[:, :, None] * w[:, None, :])
    sums = np.zeros((count, size + 1, size + 1))
    np.cumsum(np.cumsum(distances, axis=1), axis=2, out=sums[:, 1:, 1:])
    within = np.diagonal(sums, axis1=1, axis2=2)  # over all nights before, each pair twice
    single, square = (_summed(part) for part in (w, w**2))
    left, own_left = single[:, :, None], np.maximum(single**2 - square, tiny)[:, :, None]
    right = single[:, None, :] - left
    own_right = np.maximum(right**2 - (square[:, None, :] - square[:, :, None]), tiny)
    across = sums - within[:, :, None]
    apart = (within[:, None, :] - within[:, :, None] - 2.0 * across) / own_right  # E|Y-Y'|
    product = np.maximum(left * right, tiny)
    energy = (2.0 * across / product - within[:, :, None] / own_left - apart) * product
    energy /= np.maximum(single[:, None, :], np.sqrt(tiny))
    order = np.arange(size + 1)
    allowed = (order[:, None] >= SHORTEST) & (order[None, :] - order[:, None] >= SHORTEST)
    lengths = np.sum(w > 0.0, axis=1)
    energy[:, ~allowed] = -np.inf
    energy[np.broadcast_to((order > lengths[:, None])[:, None, :], energy.shape)] = -np.inf
    best = np.argmax(energy.reshape(count, -1), axis=1)
    split, end = np.divmod(best, size + 1)
    return split, quick_p(x, w, split, end)


def _summed(w: Array) -> Array:
    return np.concatenate([np.zeros((len(w), 1)), np.cumsum(w, axis=1)], axis=1)


def quick_p(x: Array, w: Array, split: Index, end: Index) -> Array:
    """Return p of Student's t test of the nights before `split` and from it to `end`, by row."""
    row = np.arange(len(x))
    sums = [_summed(part) for part in (w, w * x, w * x**2)]
    left = [part[row, split] for part in sums]
    right = [part[row, end] - one for part, one in zip(sums, left, strict=True)]
    change = right[1] / right[0] - left[1] / left[0]
    squares = sum(three - two**2 / one for one, two, three in (left, right))
    freedom = end - 2.0
    error = np.sqrt(np.maximum(squares / freedom, 0.0) * (1.0 / left[0] + 1.0 / right[0]))
    return np.asarray(2.0 * special.stdtr(freedom, -np.abs(change) / np.maximum(error, 1e-300)))
