# SPDX-License-Identifier: Apache-2.0
"""Which units of a fleet (GPUs, nodes) are slower than the others, and in which rows. Pure.

The healthy units are the yardstick: a row's centre and scale are robust ones over all units. What
healthy units share (a faster memory, a lower clock) moves many rows together; it is estimated from
the fleet and taken out, as in FarmTest (Fan, Ke, Sun, Zhou 2019, "FarmTest: factor-adjusted robust
multiple testing with approximate false discovery control"), so that what remains of a unit's rows
is nearly independent and their evidence can be pooled. A row counts as it is, too: what a sick unit
has in all rows looks like such a factor.

A unit's evidence is Wilkinson's: the k-th smallest p of its rows, for k = 1, 2, 4, 8 (Wilkinson
1951, "A statistical consideration in psychological research"). Both levels are held against the
fleet's own quantiles, for no noise is quite normal (an empirical null: Efron 2004, "Large-scale
simultaneous hypothesis testing"). Units are chosen with family-wise error control (Holm 1979); the
rows of the chosen by Benjamini and Hochberg at q |chosen| / |units|, which keeps the average share
of false rows below q (Benjamini, Bogomolov 2014, "Selective inference on multiple families of
hypotheses"). One false discovery rate over all units x rows would put a false row, and so a false
unit, into every fleet that has twenty true rows.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import special

from warpgauge.statistics.error_rates import ALPHA
from warpgauge.statistics.log_ratios import Array
from warpgauge.statistics.variance import Variances

# Fewer units do not show how far healthy ones differ.
FEWEST_UNITS = 4

# Share of the rows named of outlying units that may be wrong, on average.
FALSE_ROWS = 0.05

# A median absolute deviation knows a normal sample's scale as well as 0.37 times as many values
# would by their standard deviation (Rousseeuw, Croux 1993).
_NORMAL, _EFFICIENCY = 1.4826, 0.37

# Two-sided quantiles that the scale of a row covers, by how many units it takes: noise has tails,
# and rows have units in another state. Fewer units than the rest are taken to be sick.
_SCALE_QUANTILES = {0.95: 200, 0.99: 2000}

# The tail of noise is read off these quantiles, by so many units, and no heavier than this.
_TAIL, _UNITS_OF_A_TAIL, _HEAVIEST = (0.95, 0.999), 200, 2.0

# A unit's own scatter counts where it is beyond what chance makes of the others'.
_OWN_SCATTER = 4.0

# Rows whose values share factors need this many units a row to show them.
_UNITS_A_ROW = 4
_MOST_FACTORS = 5  # one for so many rows: more would explain what is wrong with five rows
_WINSOR, _HUBER, _ITERATIONS = 3.0, 1.5, 8

_ORDERS = (1, 2, 4, 8)
_TINY = 1e-300


@dataclass(frozen=True)
class Outliers:
    """Of units x rows: log ratios to the fleet's median, NaN where nobody measured, and p-values.

    `evidence` is each unit's p, `chosen` the outlying units, `slower` their rows; `scale` says how
    far healthy units lie from each other in a row (standard deviation of the log).
    """

    excess: Array
    p: Array
    evidence: Array
    chosen: NDArray[np.bool_]
    slower: NDArray[np.bool_]
    scale: Array


def outliers(
    logs: Array, own: Array, least: Array, similar: Sequence[Hashable], alpha: float = ALPHA
) -> Outliers:
    """The slower units of `logs` (units x rows, NaN for missing), at least FEWEST_UNITS of them.

    `own` is the variance of each log by the unit's own processes, `least` the log ratio of each row
    below which nobody minds, `similar` a key for rows whose scales are alike. A fleet of healthy
    units shows an outlier with the chance `alpha`.
    """
    excess = logs - medians(logs)
    known = np.sum(~np.isnan(excess), axis=1)
    added = np.maximum(own - _OWN_SCATTER * medians(own), 0.0)
    scale, every = _tested(excess, added, similar, np.ones(logs.shape[1]))
    counts = np.where(excess >= least, every, 1.0)  # what is missing counts nowhere
    evidence = _pooled(counts, every, known, _ORDERS[:1])
    if (common := _common(excess / scale)) is not None:
        rest = excess - common * scale
        _, every = _tested(rest - medians(rest), added, similar, scale)
        own_rows = np.where(rest >= least, every, 1.0)
        alone = _pooled(own_rows, every, known, _ORDERS)
        evidence = np.minimum(2.0 * np.minimum(evidence, alone), 1.0)
        counts = np.minimum(2.0 * np.minimum(counts, own_rows), 1.0)
    chosen = _holm(evidence, alpha)
    share = FALSE_ROWS * np.mean(chosen)
    slower = np.array([_step_up(row, share) for row in counts]) & chosen[:, None]
    # What pooled evidence alone shows: its strongest row.
    nameless = np.flatnonzero(chosen & ~slower.any(axis=1))
    slower[nameless, np.argmin(counts[nameless], axis=1)] = True
    return Outliers(excess, counts, evidence, chosen, slower, scale)


def medians(values: Array) -> Array:
    """Of each row over its units; 0 for a row without any."""
    held = np.where(np.all(np.isnan(values), axis=0), 0.0, values)
    return np.asarray(np.nanmedian(held, axis=0))


def _tested(
    excess: Array, added: Array, similar: Sequence[Hashable], unit: Array
) -> tuple[Array, Array]:
    """The rows' scales, and the chance that a healthy unit is as slow; `unit` scales what differs.

    NaN stays NaN.
    """
    size = np.abs(excess)
    units = np.sum(~np.isnan(excess), axis=0)
    scale = _NORMAL * medians(size)
    for share, fewest in _SCALE_QUANTILES.items():
        if len(excess) >= fewest:
            held = np.where(units == 0, 0.0, size)
            wide = np.nanquantile(held, share, axis=0) / special.ndtri((1.0 + share) / 2.0)
            scale = np.maximum(scale, wide)
    freedom = np.maximum(_EFFICIENCY * (units - 1.0), 1.0)
    known = Variances.of_squares(freedom * (scale / unit) ** 2, freedom).moderated(similar)
    scale = np.sqrt(known.value) * unit
    z = excess / np.sqrt(scale**2 + added)
    freedom = np.minimum(known.freedom, _tail(z[~np.isnan(z)], len(excess)))
    p = np.maximum(special.stdtr(freedom, -z), _TINY)
    return scale, p ** (1.0 / _inflation(p[~np.isnan(p)], 0.99, len(excess)))


def _tail(z: Array, units: int) -> float:
    """Degrees of freedom of the Student's t whose tail these have, as all rows show it together."""
    if units < _UNITS_OF_A_TAIL:
        return np.inf
    near, far = np.quantile(z, _TAIL)
    tried = np.geomspace(_HEAVIEST, 100.0, 60)
    ratios = special.stdtrit(tried, _TAIL[1]) / special.stdtrit(tried, _TAIL[0])
    heavy = np.flatnonzero(ratios >= far / near)  # the heavier, the larger
    return float(tried[heavy[-1]]) if len(heavy) and heavy[-1] < len(tried) - 1 else np.inf


def _inflation(p: Array, most: float, units: int | None = None) -> float:
    """How much larger -log(p) is than it should be, at quantiles up to `most`; at least 1.

    Farther out a quantile belongs to the sick ones. One that fewer than twenty of the `units` reach
    is not known.
    """
    units = len(p) if units is None else units
    if not len(p):
        return 1.0
    shares = [share for share in (0.5, 0.75, 0.9, 0.95, 0.99) if share <= most]
    shares = [share for share in shares if (1.0 - share) * units >= 20.0]
    found = [float(-np.log(np.quantile(p, 1.0 - one))) / -np.log(1.0 - one) for one in shares]
    return max(1.0, *found) if found else 1.0


def _common(z: Array) -> Array | None:
    """What a unit's rows share with each other, of standardised values; None where nobody knows."""
    units, rows = z.shape
    if rows < _MOST_FACTORS or units < _UNITS_A_ROW * rows:
        return None
    known = ~np.isnan(z)
    values = np.where(known, z, 0.0)
    tame = np.clip(values, -_WINSOR, _WINSOR)
    roots, vectors = np.linalg.eigh(tame.T @ tame / units)
    # Beyond what rows without any factor show (Marchenko, Pastur 1967).
    edge = np.mean(np.minimum(roots, 1.0)) * (1.0 + np.sqrt(rows / units)) ** 2
    many = min(int(np.sum(roots > edge)), rows // _MOST_FACTORS)
    if not many:
        return np.zeros_like(values)
    loads = vectors[:, -many:] * np.sqrt(roots[-many:])
    squares = (loads[:, :, None] * loads[:, None, :]).reshape(rows, -1)
    weights = known.astype(float)
    for _ in range(_ITERATIONS):  # Huber's regression on the loadings: odd rows do not move it
        normal = (weights @ squares).reshape(units, many, many) + np.eye(many)
        score = np.linalg.solve(normal, ((weights * values) @ loads)[:, :, None])[:, :, 0]
        common = score @ loads.T
        rest = np.abs(values - common)
        typical = _NORMAL * np.median(rest, axis=0) + 1e-6
        weights = known * np.minimum(1.0, _HUBER * typical / np.maximum(rest, 1e-12))
    return np.asarray(common)


def _pooled(p: Array, every: Array, known: NDArray[np.intp], orders: Sequence[int]) -> Array:
    """Each unit's p from those of its `known` rows, where others than these are 1.

    `every` are the same before what nobody minds was left out: they show how healthy units lie.
    """
    usual = _inflation(_smallest(np.where(np.isnan(every), 1.0, every), known, orders), 0.9)
    return np.asarray(_smallest(p, known, orders) ** (1.0 / usual))


def _smallest(p: Array, known: NDArray[np.intp], orders: Sequence[int]) -> Array:
    """Wilkinson's p, the smallest over the `orders`, for which it pays."""
    ordered = np.sort(p, axis=1)
    held = [k for k in orders if k <= p.shape[1]]
    each = [
        np.where(
            known >= k, special.betainc(k, np.maximum(known - k, 0) + 1.0, ordered[:, k - 1]), 1
        )
        for k in held
    ]
    return np.asarray(np.clip(len(held) * np.min(each, axis=0), _TINY, 1.0))


def _holm(p: Array, alpha: float) -> NDArray[np.bool_]:
    order = np.argsort(p)
    passed = np.cumprod(p[order] * np.arange(len(p), 0, -1) <= alpha).astype(bool)
    chosen = np.zeros(len(p), dtype=bool)
    chosen[order] = passed
    return chosen


def _step_up(p: Array, share: float) -> NDArray[np.bool_]:
    """Benjamini and Hochberg's choice."""
    ordered = np.sort(p)
    below = np.flatnonzero(ordered <= share * np.arange(1, len(p) + 1) / len(p))
    return p <= ordered[below[-1]] if len(below) else np.zeros(len(p), dtype=bool)
