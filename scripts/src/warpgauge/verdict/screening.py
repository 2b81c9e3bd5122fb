# SPDX-License-Identifier: Apache-2.0
"""Tests of a candidate against the sessions of a baseline, or of plain files against each other.

Rows scatter by unequal amounts, a process may take one of two times, and boots and GPUs have heavy
tails. So a change must pass two tests. The larger p counts, and the wider bound:

1. *Scatter* of processes and, unless both sides share the boot, of boots or GPUs: Student's t. Its
   errors are widened if half of the suite moved further than they say.
2. *States*: chance may show one side only the one state and the other side only the other. The
   more processes, the less likely. How far apart states lie is known from the rest of the suite.

Plain files do not name their boot. There a change must also stand out among those of the suite.

What is flagged or not bounded is measured again in pairs. Screening against sibling GPUs therefore
needs no power: it only has to send benchmarks there.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise
from statistics import fmean, median
from typing import NamedTuple

import numpy as np

from warpgauge.records.counters import Clock
from warpgauge.records.model import Record, Session
from warpgauge.records.row import Row
from warpgauge.statistics.error_rates import BOUND_CONFIDENCE, CONFIDENCE
from warpgauge.statistics.log_ratios import (
    HEAVY_TAILS,
    SMALLEST_SD,
    UNKNOWN_TICK,
    Array,
    Estimates,
    Found,
    Index,
    Tested,
    combined_freedom,
    each,
    inflation,
    rarity,
    reached,
)
from warpgauge.verdict.comparability import Comparability
from warpgauge.verdict.comparison_settings import PROCESS_SCATTER
from warpgauge.verdict.pairing import Pairing

# Standard deviations of the log between processes, if a side has a single one (event-timed kernels
# move 2 to 3 %):
ASSUMED_PROCESS_SD = 0.03
# Between boots of a GPU (device times repeat to 0.3 %; a boot moves pageable copies by up to 16 %),
# and between GPUs of a model: each benchmark by its own amount, 0.1 to 4.5 % of device time.
_BOOT_SD = {Clock.DEVICE: 0.001, Clock.HOST: 0.05}
_GPU_SD = {Clock.DEVICE: 0.005, Clock.HOST: 0.05}
_APART_SD = {
    Comparability.SAME_GPU: _BOOT_SD,
    Comparability.OTHER_SYSTEM: _BOOT_SD,
    Comparability.SIBLING: _GPU_SD,
    Comparability.OTHER_MODEL: _GPU_SD,
}
# A benchmark that varies between processes also varies between boots and GPUs, by a third or more.
_MOVES_TOO = 1 / 3

# Plain files, in seconds: a clock's coarsest tick, and what old versions round a time to.
_COARSE, _ROUNDED = 1e-6, 1e-9

# A side with so many degrees of freedom knows its own scatter. What it lacks comes from the
# noisiest tenth of the suite, if that has enough benchmarks of the clock.
_ENOUGH_FREEDOM, _NOISY, _FEWEST_ROWS = 6.0, 0.9, 8


def screen(
    baseline: Record,
    candidate: Record,
    pairings: Sequence[Pairing],
    process_scatter: float = PROCESS_SCATTER,
) -> list[Tested]:
    """Return the tests of `pairings` in order; `process_scatter` as in `ComparisonSettings`."""
    base = _Sides.of([_side(baseline, one.baseline, one.references, one) for one in pairings])
    ours = _Sides.of([_side(candidate, one.candidate, (one.session,), one) for one in pairings])
    clocks = [one.candidate.clock for one in pairings]
    groups = [np.flatnonzero([one is clock for one in clocks]) for clock in set(clocks)]
    plain = baseline.source.is_plain or candidate.source.is_plain
    # Between two processes, if a side has a single one.
    assumed = process_scatter if plain else math.sqrt(2.0) * ASSUMED_PROCESS_SD

    apart = np.array([_APART_SD.get(one.comparability, {}).get(one.candidate.clock, 0.0)
                      for one in pairings])  # fmt: skip
    estimates, tails = _estimates(base, ours, groups, apart, assumed)
    d = estimates.log_ratio
    ticks = np.array([_tick(pairing, plain) for pairing in pairings])
    beyond = np.sign(d) * np.maximum(np.abs(d) - ticks, 0.0)
    p = replace(estimates, log_ratio=beyond, freedom=np.minimum(estimates.freedom, tails)).p

    single = np.minimum(base.processes, ours.processes) == 1.0
    separated = np.where(single, 0.0, 2.0 ** (1.0 - base.processes - ours.processes))
    squares = (base.squares + ours.squares) / np.maximum(base.freedom + ours.freedom, 1.0)
    of_states, rare = np.zeros_like(d), np.zeros_like(d)
    for rows in groups:
        of_states[rows] = separated[rows] * reached(np.abs(d[rows]), squares[rows], assumed)
        if plain and len(rows) >= _FEWEST_ROWS:
            rare[rows] = rarity(d[rows])
    # The two tests share the chance to err.
    either = np.maximum(2.0 * np.maximum(p, of_states), rare)

    def reach(chance: float) -> Array:
        # In one of the two ways to be separated, the true change lies above.
        by_states = np.where(separated / 2.0 > chance, assumed, 0.0)
        return np.asarray(np.maximum(estimates.reach(chance), by_states) + ticks)

    half = reach((1.0 - CONFIDENCE) / 2)
    # Pairs may follow if the bound is too large. They spend the other half of the error rate.
    bound = d + reach((1.0 - BOUND_CONFIDENCE) / (1.0 if plain else 2.0))
    found = Found(d, d - half, d + half, bound, np.minimum(either, 1.0))
    unknown = plain & (single | (np.maximum(of_states, rare) > p))
    processes = base.processes.astype(int), ours.processes.astype(int)
    return each(found, base.location, ours.location, *processes, unknown)


def _estimates(
    base: _Sides, ours: _Sides, groups: Sequence[Index], apart: Array, assumed: float
) -> tuple[Estimates, Array]:
    """Return the log ratios, with their errors by processes, boots and GPUs; and their tails.

    `apart` is the assumed standard deviation between boots or GPUs, 0 if both sides share the boot.
    Far out, where a change must lie, the tail of a sum is that of its part with the heaviest. The
    candidate's own boot has heavy tails, however many boots the baseline has.
    """
    known = [_completed(side, groups) for side in (base, ours)]
    parts = []
    for side, (variance, freedom), (other, _) in zip((base, ours), known, known[::-1], strict=True):
        # A single process may scatter as the other side does.
        guess = np.maximum(assumed**2 / 2.0, other) + side.of_repetitions
        shows = freedom > 0.0
        of_mean = np.where(shows, variance, guess) * side.share
        parts.append((of_mean, np.where(shows, freedom, np.inf)))

    prior = np.where(apart > 0.0, apart**2 + _MOVES_TOO**2 * known[0][0], 0.0)
    total = HEAVY_TAILS + base.draws - 1.0
    and_mean = 1.0 + 1.0 / base.draws  # the candidate's draw, and the mean of the baseline's
    variance, freedom = combined_freedom(*parts, (prior * and_mean, total))
    estimates = Estimates(ours.location - base.location, np.sqrt(variance), freedom)
    for rows in groups:
        if len(rows) >= _FEWEST_ROWS:
            estimates.error[rows] *= inflation(estimates, rows)
    # Draws that agree may have met the same state by chance: their scatter only ever adds.
    seen = np.maximum((HEAVY_TAILS * prior + base.apart) / total - prior, 0.0) * (prior > 0.0)
    error = np.maximum(estimates.error, np.sqrt(variance + seen * and_mean))
    return replace(estimates, error=error), np.where(prior > 0.0, HEAVY_TAILS, np.inf)


def _completed(side: _Sides, groups: Sequence[Index]) -> tuple[Array, Array]:
    """Return the variances of processes and their degrees of freedom, completed if these are few.

    Both are 0 if the side has a single process.
    """
    freedom = side.freedom.copy()
    value = np.maximum(side.squares / np.maximum(freedom, 1.0), SMALLEST_SD**2) * (freedom > 0.0)
    for rows in groups:
        at = rows[freedom[rows] > 0.0]
        if len(at) >= _FEWEST_ROWS:
            lacking = np.maximum(_ENOUGH_FREEDOM - freedom[at], 0.0)
            lent = lacking * np.quantile(value[at], _NOISY)
            value[at] = (freedom[at] * value[at] + lent) / (freedom[at] + lacking)
            freedom[at] += lacking
    return value, freedom


class _Sides(NamedTuple):
    """One side of all benchmarks.

    `location` is the mean log of the draws: the sessions, or the GPUs if the candidate's is
    another. `apart` is the sum of their squared deviations. `squares` and `freedom` are those of
    the processes about their session's mean, `share` is the variance of the location by that of a
    process, and `of_repetitions` its variance by the repetitions of a single process.
    """

    location: Array
    apart: Array
    draws: Array
    squares: Array
    freedom: Array
    processes: Array
    share: Array
    of_repetitions: Array

    @staticmethod
    def of(sides: Sequence[tuple[float, ...]]) -> _Sides:
        columns = np.array(sides, dtype=np.float64)
        return _Sides(*columns.reshape(-1, len(_Sides._fields)).T)


def _side(
    record: Record, row: Row, sessions: Sequence[Session], pairing: Pairing
) -> tuple[float, ...]:
    logs = {one.key: [*map(math.log, row.process_medians[one.key])] for one in sessions}
    of_repetitions = 0.0
    if record.single_process:
        ((key, times),) = ((key, sorted(of)) for key, of in logs.items())
        # The error of their median is half of the interval that holds it.
        low = round((len(times) - 1 - math.sqrt(len(times))) / 2)
        of_repetitions = (times[-1 - low] - times[low]) ** 2 / 4
        logs = {key: [median(times)]}
    by_gpu = pairing.comparability in (Comparability.SIBLING, Comparability.OTHER_MODEL)
    draws: dict[str, list[list[float]]] = {}
    for one in sessions:
        draws.setdefault(one.gpu_uuid or "" if by_gpu else one.key, []).append(logs[one.key])
    means = [fmean([fmean(of) for of in draw]) for draw in draws.values()]
    location = fmean(means)
    return (
        location,
        sum((mean - location) ** 2 for mean in means),
        len(means),
        sum(sum((log - fmean(of)) ** 2 for log in of) for of in logs.values()),
        sum(len(of) - 1 for of in logs.values()),
        sum(map(len, logs.values())),
        sum(1 / len(of) / len(draw) ** 2 for draw in draws.values() for of in draw)
        / len(draws) ** 2,
        of_repetitions,
    )


def _tick(pairing: Pairing, plain: bool) -> float:
    """Return the tick of the clock as a log ratio, or 0 if no two processes of a session agree."""
    sides = [pairing.baseline.process_medians[session.key] for session in pairing.references]
    sides.append(pairing.candidate.process_medians[pairing.session.key])
    gaps = [math.log(b / a) for times in sides for a, b in pairwise(sorted(times))]
    if 0.0 not in gaps:
        return 0.0
    unknown = _largest_tick(pairing) if plain else UNKNOWN_TICK
    return min(filter(None, gaps), default=unknown)


def _largest_tick(pairing: Pairing) -> float:
    """Return the largest tick of plain rows: a time is the mean of iterations, and may be rounded.

    Even a benchmark of nanoseconds thus has a small one.
    """
    ticks = []
    for row in (pairing.baseline, pairing.candidate):
        step = max(_ROUNDED, _COARSE / max(1.0, row.iterations / len(row.times)))
        ticks.append(math.log1p(step / min(row.times)))
    return min(UNKNOWN_TICK, max(ticks))


def within(pairing: Pairing) -> tuple[float, float] | None:
    """Return the log ratio of the repetitions of two processes, and p of no change between these.

    It says nothing about other processes. None without repetitions.
    """
    sides = [
        np.log(pairing.baseline.process_medians[pairing.references[-1].key]),
        np.log(pairing.candidate.process_medians[pairing.session.key]),
    ]
    if min(map(len, sides)) < 2:
        return None
    variance, freedom = combined_freedom(
        *(
            (np.maximum(np.var(x, ddof=1), SMALLEST_SD**2) / len(x), np.array(len(x) - 1.0))
            for x in sides
        )
    )
    log_ratio = np.mean(sides[1]) - np.mean(sides[0])
    return float(log_ratio), float(Estimates(log_ratio, np.sqrt(variance), freedom).p)
