# SPDX-License-Identifier: Apache-2.0
"""Which units of a fleet (GPUs, nodes) are slower than the others, and in which rows. Pure.

The healthy units are the yardstick: a row's centre and scale are robust ones over all units. What
healthy units share (a faster memory, a lower clock) moves many rows together; it is estimated from
the fleet and taken out, as in FarmTest (Fan, Ke, Sun, Zhou 2019, "FarmTest: factor-adjusted robust
multiple testing with approximate false discovery control"), so that what remains of a unit's rows
is nearly independent and their evidence can be pooled. A row counts as it is, too: what a sick unit
has in all rows looks like such a factor.

A row's p comes from Student's t: the row shows its scale, all rows of its clock the tail beyond (an
empirical null: Efron 2004, "Large-scale simultaneous hypothesis testing"). A unit's evidence is the
likelihood ratio of a mixture: in each row it is slow with a small chance, and p is then as Sellke,
Bayarri, Berger 2001 ("Calibration of p values for testing precise null hypotheses") have it. The
distribution of the sum over rows is known, so that this is a p again. Units are chosen with
family-wise error control (Holm 1979); the rows of the chosen by Benjamini and Hochberg at
q |chosen| / |units|, which keeps the average share of false rows below q (Benjamini, Bogomolov
2014, "Selective inference on multiple families of hypotheses"). One false discovery rate over all
units x rows would put a false row, and so a false unit, into every fleet that has twenty true rows.
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

# So many units show the scale of a row on each side (share of the side's units): noise is skewed,
# rows have units in another state. The others are taken to be sick. Of fewer units the median shows
# it, as well as 0.37 times as many normal values would by their standard deviation (Rousseeuw,
# Croux 1993).
_MANY, _NEAR, _EFFICIENCY = 200, 0.95, 0.37

# The tail of noise is the ratio of a far quantile, which so many values exceed, to a nearer one.
# Faster units show it, and many slower ones as far as few of them are sick.
_FASTER, _SLOWER, _BEYOND = (_NEAR, 0.9995), (0.9, 0.97), 20
_TAILS = np.append(np.geomspace(2.0, 100.0, 60), np.inf)  # degrees of freedom of Student's t

# A unit's own scatter counts where it is beyond what chance makes of the others'.
_OWN_SCATTER = 4.0

# Rows whose values share factors need this many units a row to show them.
_UNITS_A_ROW = 4
_MOST_FACTORS = 5  # one for so many rows: more would explain what is wrong with five rows
_WINSOR, _HUBER, _ITERATIONS = 3.0, 2.5, 4
_COMMON = 0.1  # of the chance of an error is for rows with what they share
_NORMAL = 1.4826  # standard deviations in a median absolute deviation of normal values

# A sick unit is slow in a row with this chance; p then has the density kappa p^(kappa - 1).
_SLOW, _KAPPA = 1.0 / 30.0, 0.1

# The grid of a sum of log likelihood ratios; beyond 1e-10 its chance falls at least as exp(-sum).
_STEP, _CELLS, _KNOWN = 0.001, 2**16, 1e-10
_TINY = 1e-300


@dataclass(frozen=True)
class Outliers:
    """Of units x rows: log ratios to the fleet's median, NaN where nobody measured, and p-values.

    `evidence` is each unit's p, `chosen` the outlying units, `slower` their rows.
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
    """The slower units of `logs` (units x rows, NaN for missing), at least FEWEST_UNITS of them.

    `own` is the variance of each log by the unit's own processes, `least` the log ratio of each row
    below which nobody minds. Rows of the `host`'s clock, and the others, have alike tails, those
    with the same key in `similar` alike scales. A fleet of healthy units shows an outlier with the
    chance `alpha`.
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
        # What is left of a row has the row's tail, and shows it better.
        counts = _p(excess, scale, np.minimum(freedom, own_freedom), added, least)
        own_rows = _p(rest, own_scale, own_freedom, added, least)
        alone = _pooled(own_rows, _p(rest, own_scale, own_freedom, added, -np.inf))
        evidence = _either(logs.shape[1] * np.min(counts, axis=1), alone)
        counts = _either(counts, own_rows)
    chosen = _holm(evidence, alpha)
    share = FALSE_ROWS * np.mean(chosen)
    slower = np.array([_step_up(row, share) for row in counts]) & chosen[:, None]
    # What pooled evidence alone shows: its strongest row.
    nameless = np.flatnonzero(chosen & ~slower.any(axis=1))
    slower[nameless, np.argmin(counts[nameless], axis=1)] = True
    return Outliers(excess, counts, evidence, chosen, slower)


def medians(values: Array) -> Array:
    """Of each row over its units (the axis before the last); NaN for a row without any."""
    known = np.sum(~np.isnan(values), axis=-2, keepdims=True)
    middles = np.concatenate([np.maximum(known - 1, 0) // 2, known // 2], axis=-2)
    return np.asarray(np.take_along_axis(np.sort(values, axis=-2), middles, -2).mean(axis=-2))


def _noise(
    excess: Array, host: NDArray[np.bool_], similar: Sequence[Hashable], unit: Array
) -> tuple[Array, Array]:
    """The rows' scales and Student's degrees of freedom; `unit` scales what differs."""
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
    known = Variances.of_squares(freedom * (scale / unit) ** 2, freedom).moderated(similar)
    return np.sqrt(known.value) * unit, np.minimum(known.freedom, tails)


def _p(excess: Array, scale: Array, freedom: Array, added: Array, least: Array | float) -> Array:
    """The chance that a healthy unit is as slow; 1 for what nobody minds or measured."""
    p = special.stdtr(freedom, -excess / np.sqrt(scale**2 + added))
    return np.asarray(np.where(excess >= least, np.maximum(p, _TINY), 1.0))


def _either(with_common: Array, without: Array) -> Array:
    """The p of two that are looked at."""
    least = np.minimum(with_common / _COMMON, without / (1.0 - _COMMON))
    return np.asarray(np.minimum(least, 1.0))


def _tail(z: Array, near: float, far: float) -> float:
    """Degrees of freedom of the Student's t whose tail is that of the values above 0."""
    above = z[z > 0.0]
    far = min(far, 1.0 - _BEYOND / max(len(above), 1))
    if 1.0 - far > (1.0 - near) / 2.0:  # too few
        return np.inf
    ratio = np.divide(*np.quantile(above, [far, near]))
    ratios = np.divide(*special.stdtrit(_TAILS, [[(1.0 + far) / 2.0], [(1.0 + near) / 2.0]]))
    return float(_TAILS[max(np.sum(ratios >= ratio) - 1, 0)])


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
    edge = (1.0 + np.sqrt(rows / units)) ** 2
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


def _pooled(p: Array, every: Array) -> Array:
    """Each unit's p from those of its rows.

    `every` are the same before what nobody minds was left out: where healthy units show more than
    independent rows would, all count that much less. Farther out a quantile belongs to the sick.
    """
    shares = np.array([0.5, 0.75, 0.9])
    usual = np.log(np.quantile(_chance(every), 1.0 - shares)) / np.log(1.0 - shares)
    return np.asarray(_chance(p) ** (1.0 / np.max(usual, initial=1.0)))


def _chance(p: Array) -> Array:
    """That a unit's independent rows show as much as these."""
    rows = p.shape[1]
    score = np.sum(_log_ratio(p), axis=1)
    least = float(_log_ratio(np.array(1.0)))
    ratio = np.exp(least + _STEP * np.arange(_CELLS))
    above = ((ratio - 1.0 + _SLOW) / (_SLOW * _KAPPA)) ** (1.0 / (_KAPPA - 1.0))
    one = np.append(0.0, -np.diff(above))  # chance of a row's ratio, by its upper end
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
    """Benjamini and Hochberg's choice."""
    ordered = np.sort(p)
    below = np.flatnonzero(ordered <= share * np.arange(1, len(p) + 1) / len(p))
    return p <= ordered[below[-1]] if len(below) else np.zeros(len(p), dtype=bool)
