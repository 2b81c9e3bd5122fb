# SPDX-License-Identifier: Apache-2.0
"""Find the units of a fleet (GPUs, nodes) that are slower than the others, and their rows. Pure.

The healthy units are the reference: a row's centre and scale are robust estimates over all units.
What healthy units share (a faster memory, a lower clock) moves many rows together. It is estimated
from the fleet and removed, as in FarmTest (Fan, Ke, Sun, Zhou 2019, "FarmTest: factor-adjusted
robust multiple testing with approximate false discovery control"). The rest of a unit's rows is
then nearly independent, so that their evidence can be pooled. Each row is also tested unadjusted,
because a fault in all rows of a unit looks like such a factor.

A row's p comes from Student's t. Its scale comes from the row, its tail from all rows of the same
clock (an empirical null: Efron 2004, "Large-scale simultaneous hypothesis testing"). A unit's
evidence is the likelihood ratio of a mixture: each row is slow with a small probability, and p then
has the density of Sellke, Bayarri, Berger 2001 ("Calibration of p values for testing precise null
hypotheses"). The distribution of the sum over rows is known, so this is a p again. Units are chosen
with family-wise error control (Holm 1979), the rows of the chosen by Benjamini and Hochberg at
q |chosen| / |units|, which keeps the mean share of false rows below q (Benjamini, Bogomolov 2014,
"Selective inference on multiple families of hypotheses"). A single false discovery rate over all
units x rows would put a false row, and so a false unit, into every fleet with twenty true rows.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import special

from warpgauge.statistics.error_rates import ALPHA
from warpgauge.statistics.log_ratios import Array

# Fewer units do not show how much healthy ones differ.
FEWEST_UNITS = 4

# Mean share of wrong rows among those named for outlying units.
FALSE_ROWS = 0.05

# With _MANY units, the share _NEAR of them on each side gives a row's scale, because noise is
# skewed and some units are in another state. The rest are taken to be sick. With fewer units the
# median gives it, as precisely as the standard deviation of _EFFICIENCY times as many normal values
# (Rousseeuw, Croux 1993).
_MANY, _NEAR, _EFFICIENCY = 200, 0.95, 0.37

# The tail of the noise is the ratio of a far quantile, exceeded by _BEYOND values, to a nearer one.
# It comes from faster units and, if there are many, also from slower ones short of the few sick.
_FASTER, _SLOWER, _BEYOND = (_NEAR, 0.9995), (0.9, 0.97), 20
_TAILS = np.append(np.geomspace(2.0, 100.0, 60), np.inf)  # degrees of freedom of Student's t

# No row repeats better than this (standard deviation of the log). Similar rows count at most so
# many times as much as a row's own data, because they ran on the same units. Fewer do not show how
# well they agree.
_SMALLEST_SD, _MOST_WORTH, _FEWEST_SIMILAR = 1e-4, 2.0, 4

# A unit's own variance counts beyond this multiple of the median one, which chance explains.
_OWN_SCATTER = 4.0

# Factors that rows share need this many units per row to show.
_UNITS_A_ROW = 4
_MOST_FACTORS = 5  # rows per factor; more factors would absorb a fault in five rows
_WINSOR, _HUBER, _ITERATIONS = 3.0, 2.5, 4
_COMMON = 0.1  # share of the error rate for rows that keep their common factors
_NORMAL = 1.4826  # standard deviations per median absolute deviation of normal values

# A sick unit is slow in a row with probability _SLOW; p then has the density kappa p^(kappa - 1).
_SLOW, _KAPPA = 1.0 / 30.0, 0.1

# The grid of a sum of log likelihood ratios. Below 1e-10 its tail falls at least like exp(-sum).
_STEP, _CELLS, _KNOWN = 0.001, 2**16, 1e-10
_TINY = 1e-300


@dataclass(frozen=True)
class Outliers:
    """For units x rows: log ratios to the fleet's median (NaN if not measured), and p-values.

    `evidence` is each unit's p, `chosen` the outlying units, `slower` their slower rows.
    """

    excess: Array
    p: Array
    evidence: Array
    chosen: NDArray[np.bool_]
    slower: NDArray[np.bool_]


def outliers(
    logs: Array, own: Array, least: Array, host: NDArray[np.bool_], similar: Sequence[Hashable],
    alpha: float = ALPHA,
) -> Outliers:  # fmt: skip
    """Return the slower units of `logs` (units x rows, NaN for missing); needs FEWEST_UNITS.

    `own` are the logs' variances by the units' own processes. An excess below a row's `least` (log
    ratio) does not matter. Rows of the `host`'s clock share one tail, the other rows another. Rows
    with equal keys in `similar` have similar scales. A fleet of healthy units shows an outlier with
    probability `alpha`.
    """
    excess = logs - medians(logs)
    added = np.maximum(own - _OWN_SCATTER * medians(own), 0.0)
    scale, freedom = _noise(excess, host, similar, np.ones(logs.shape[1]))
    common = _common(excess / scale)
    if common is None:
        counts = _p(excess, scale, freedom, added, least)
        evidence = np.minimum(logs.shape[1] * np.min(counts, axis=1), 1.0)
    else:
        rest = excess - common * scale
        rest -= medians(rest)
        own_scale, own_freedom = _noise(rest, host, similar, scale)
        # The rest of a row has the row's tail, and shows it better.
        counts = _p(excess, scale, np.minimum(freedom, own_freedom), added, least)
        own_rows = _p(rest, own_scale, own_freedom, added, least)
        alone = _pooled(own_rows, _p(rest, own_scale, own_freedom, added, -np.inf))
        evidence = _either(logs.shape[1] * np.min(counts, axis=1), alone)
        counts = _either(counts, own_rows)
    chosen = _holm(evidence, alpha)
    share = FALSE_ROWS * np.mean(chosen)
    slower = np.array([_step_up(row, share) for row in counts]) & chosen[:, None]
    # If only the pooled evidence is significant, name the unit's strongest row.
    nameless = np.flatnonzero(chosen & ~slower.any(axis=1))
    slower[nameless, np.argmin(counts[nameless], axis=1)] = True
    return Outliers(excess, counts, evidence, chosen, slower)


def medians(values: Array) -> Array:
    """Return each row's median over its units (the axis before the last); NaN if it has none."""
    known = np.sum(~np.isnan(values), axis=-2, keepdims=True)
    middles = np.concatenate([np.maximum(known - 1, 0) // 2, known // 2], axis=-2)
    return np.asarray(np.take_along_axis(np.sort(values, axis=-2), middles, -2).mean(axis=-2))


def _noise(
    excess: Array, host: NDArray[np.bool_], similar: Sequence[Hashable], unit: Array
) -> tuple[Array, Array]:
    """Return the rows' scales and Student's degrees of freedom; `unit` scales each row."""
    units = np.sum(~np.isnan(excess), axis=0)
    held = np.where(units == 0, 0.0, excess)
    if many := len(excess) >= _MANY:
        share = _NEAR
        both = np.nanquantile(held, [(1.0 - share) / 2.0, (1.0 + share) / 2.0], axis=0)
        wide = np.max(np.abs(both), axis=0)
    else:
        share, wide = 0.5, medians(np.abs(held))
    z, tails = excess / np.maximum(wide, _TINY), np.full(len(host), np.inf)
    for kind in (host, ~host):
        slower = _tail(z[:, kind], *_SLOWER) if many else np.inf
        tails[kind] = min(_tail(-z[:, kind], *_FASTER), slower)
    scale = wide / special.stdtrit(tails, (1.0 + share) / 2.0)
    freedom = np.maximum(_EFFICIENCY * (units - 1.0), 1.0)
    variance, freedom = _moderated((scale / unit) ** 2, freedom, similar)
    return np.sqrt(variance) * unit, np.minimum(freedom, tails)


def _moderated(value: Array, freedom: Array, similar: Sequence[Hashable]) -> tuple[Array, Array]:
    """Return variances and their freedom, moderated by those with the same key in `similar`.

    Few units hardly know a row's variance; similar rows know it better, the more their variances
    agree (Smyth 2004, "Linear models and empirical Bayes methods for assessing differential
    expression in microarray experiments", 6.2). A variance never falls below a row's own.
    """
    value = np.maximum(value, _SMALLEST_SD**2)
    moderated, total = value.copy(), freedom.copy()
    keys = np.array([[*dict.fromkeys(similar)].index(key) for key in similar])
    for at in (np.flatnonzero(keys == key) for key in np.unique(keys)):
        if len(at) < _FEWEST_SIMILAR:
            continue
        lent, agreement = _prior(value[at], freedom[at])
        worth = np.minimum(agreement, _MOST_WORTH * freedom[at])
        own, other = freedom[at] * value[at], worth * lent
        moderated[at] = np.maximum((own + other) / (freedom[at] + worth), value[at])
        # That of a sum of two variances (Satterthwaite 1946): less if they contradict each other.
        together = (own + other) ** 2 / (own * value[at] + other * lent)
        total[at] = np.maximum(together, freedom[at])
    return moderated, total


def _prior(value: Array, freedom: Array) -> tuple[float, float]:
    """Return the variance s0² and the freedom d0 of the population of these."""
    half = freedom / 2.0
    logs = np.log(value) - special.digamma(half) + np.log(half)
    excess = float(np.var(logs, ddof=1) - np.mean(special.zeta(2.0, half)))
    if excess <= 0.0:
        return float(np.exp(np.mean(logs))), np.inf
    d0_half = _trigamma_inverse(excess)
    offset = special.digamma(d0_half) - np.log(d0_half)
    return float(np.exp(np.mean(logs) + offset)), 2.0 * d0_half


def _trigamma_inverse(target: float) -> float:
    """Solve trigamma(x) = target > 0 by Newton's method on 1/trigamma (Smyth 2004, appendix)."""
    x = 0.5 + 1.0 / target
    for _ in range(50):
        trigamma = float(special.zeta(2.0, x))
        step = trigamma * (1.0 - trigamma / target) / float(-2.0 * special.zeta(3.0, x))
        x += step
        if abs(step) < 1e-9 * x:
            break
    return x


def _p(excess: Array, scale: Array, freedom: Array, added: Array, least: Array | float) -> Array:
    """Return p of a healthy unit being as slow; 1 if the excess is below `least` or missing."""
    p = special.stdtr(freedom, -excess / np.sqrt(scale**2 + added))
    return np.asarray(np.where(excess >= least, np.maximum(p, _TINY), 1.0))


def _either(with_common: Array, without: Array) -> Array:
    """Return one p from two, with and without common factors."""
    least = np.minimum(with_common / _COMMON, without / (1.0 - _COMMON))
    return np.asarray(np.minimum(least, 1.0))


def _tail(z: Array, near: float, far: float) -> float:
    """Return the degrees of freedom of the Student's t that fits the tail of the values above 0."""
    above = z[z > 0.0]
    far = min(far, 1.0 - _BEYOND / max(len(above), 1))
    if 1.0 - far > (1.0 - near) / 2.0:  # too few
        return np.inf
    ratio = np.divide(*np.quantile(above, [far, near]))
    ratios = np.divide(*special.stdtrit(_TAILS, [[(1.0 + far) / 2.0], [(1.0 + near) / 2.0]]))
    return float(_TAILS[max(np.sum(ratios >= ratio) - 1, 0)])


def _common(z: Array) -> Array | None:
    """Return what a unit's rows share, from standardised values; None if there are too few."""
    units, rows = z.shape
    if rows < _MOST_FACTORS or units < _UNITS_A_ROW * rows:
        return None
    known = ~np.isnan(z)
    values = np.where(known, z, 0.0)
    tame = np.clip(values, -_WINSOR, _WINSOR)
    roots, vectors = np.linalg.eigh(tame.T @ tame / units)
    # Factors exceed what rows without any factor show (Marchenko, Pastur 1967).
    edge = (1.0 + np.sqrt(rows / units)) ** 2
    many = min(int(np.sum(roots > edge)), rows // _MOST_FACTORS)
    if not many:
        return np.zeros_like(values)
    loads = vectors[:, -many:] * np.sqrt(roots[-many:])
    squares = (loads[:, :, None] * loads[:, None, :]).reshape(rows, -1)
    weights = known.astype(float)
    for _ in range(_ITERATIONS):  # Huber's regression on the loadings; odd rows do not move it
        normal = (weights @ squares).reshape(units, many, many) + np.eye(many)
        score = np.linalg.solve(normal, ((weights * values) @ loads)[:, :, None])[:, :, 0]
        common = score @ loads.T
        rest = np.abs(values - common)
        typical = _NORMAL * np.median(rest, axis=0) + 1e-6
        weights = known * np.minimum(1.0, _HUBER * typical / np.maximum(rest, 1e-12))
    return np.asarray(common)


def _pooled(p: Array, every: Array) -> Array:
    """Return each unit's p from its rows' p.

    `every` holds the rows' p with no least excess. If healthy units show more evidence than
    independent rows would, all evidence is reduced by as much. Quantiles farther out may be sick.
    """
    shares = np.array([0.5, 0.75, 0.9])
    usual = np.log(np.quantile(_chance(every), 1.0 - shares)) / np.log(1.0 - shares)
    return np.asarray(_chance(p) ** (1.0 / np.max(usual, initial=1.0)))


def _chance(p: Array) -> Array:
    """Return the probability that a healthy unit's independent rows show as much as these."""
    rows = p.shape[1]
    score = np.sum(_log_ratio(p), axis=1)
    least = float(_log_ratio(np.array(1.0)))
    ratio = np.exp(least + _STEP * np.arange(_CELLS))
    above = ((ratio - 1.0 + _SLOW) / (_SLOW * _KAPPA)) ** (1.0 / (_KAPPA - 1.0))
    one = np.append(0.0, -np.diff(above))  # probability of a row's ratio, by its upper end
    sums = np.fft.irfft(np.fft.rfft(one) ** rows, _CELLS)
    tail = np.cumsum(sums[::-1])[::-1]
    last = int(np.argmax(tail < _KNOWN))
    at = (score - rows * least) / _STEP
    beyond = np.exp(-_STEP * np.maximum(at - last, 0.0))
    return np.asarray(np.clip(tail[np.minimum(at, last).astype(int)] * beyond, _TINY, 1.0))


def _log_ratio(p: Array) -> Array:
    return np.asarray(np.log(1.0 - _SLOW + _SLOW * _KAPPA * p ** (_KAPPA - 1.0)))


def _holm(p: Array, alpha: float) -> NDArray[np.bool_]:
    order = np.argsort(p)
    passed = np.cumprod(p[order] * np.arange(len(p), 0, -1) <= alpha).astype(bool)
    chosen = np.zeros(len(p), dtype=bool)
    chosen[order] = passed
    return chosen


def _step_up(p: Array, share: float) -> NDArray[np.bool_]:
    """Return the choice of Benjamini and Hochberg."""
    ordered = np.sort(p)
    below = np.flatnonzero(ordered <= share * np.arange(1, len(p) + 1) / len(p))
    return p <= ordered[below[-1]] if len(below) else np.zeros(len(p), dtype=bool)
