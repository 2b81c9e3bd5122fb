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

The family `host` are controls. They use no GPU: memory copies, clock reads, thread wake-ups. If
these differ between the sides, a neighbour or another machine is the cause, and it affects all host
times alike. The family's file sync waits for storage, which nothing else does, so it says nothing
about the others.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from statistics import fmean, median
from typing import NamedTuple

import numpy as np
from scipy import special

from warpgauge.records.counters import Clock
from warpgauge.records.model import Record, Session, Source
from warpgauge.records.row import Row
from warpgauge.statistics.error_rates import BOUND_CONFIDENCE, CONFIDENCE
from warpgauge.statistics.log_ratios import (
    Array,
    Estimates,
    Found,
    Index,
    Tests,
    combined_freedom,
)
from warpgauge.verdict.comparability import Comparability
from warpgauge.verdict.comparison_settings import PROCESS_SCATTER
from warpgauge.verdict.pairing import Pairing

# Standard deviations of the log. No benchmark repeats better than this:
_SMALLEST_SD = 1e-4
# Between processes, if a side has a single one (event-timed kernels move 2 to 3 %):
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
_OTHER_GPU = (Comparability.SIBLING, Comparability.OTHER_MODEL)
# Degrees of freedom of these assumptions: heavy tails, because boots have them and because
# benchmarks differ.
_HEAVY_TAILS = 4.0
# A benchmark that varies between processes also varies between boots and GPUs, by a third or more.
_MOVES_TOO = 1 / 3

# A side with so many degrees of freedom knows its own scatter. What it lacks comes from the
# noisiest tenth of the suite, if that has enough benchmarks of the clock.
_ENOUGH_FREEDOM, _NOISY, _FEWEST_ROWS = 6.0, 0.9, 8

# If all processes of a side read the same time, it may be a single tick of the clock.
_UNKNOWN_TICK = math.log(2.0)

# Only benchmarks that move memory have this counter. Half of the controls do.
_MEMORY = "bytes_per_second"

_STORAGE = "host/file_sync"

# Factors from a median absolute deviation to the standard deviation of a normal sample, and from
# the error of a mean to that of a median (Rousseeuw and Croux 1993). One bad value moves neither.
_NORMAL, _MEDIAN = 1.4826, 1.2533


@dataclass(frozen=True)
class Movement:
    """How far a control moved between a session and the candidate, as unsigned log ratios.

    `seen` is the difference of its medians, `log_ratio` that and two of its standard errors.
    `copies` says whether it copies memory.
    """

    name: str
    session: str
    copies: bool
    seen: float
    log_ratio: float

    def concerns(self, row: Row) -> bool:
        """Return whether it applies to a row of host time: of copies, or of other calls."""
        return self.copies == (_MEMORY in row.counters)


def movements(pairings: Sequence[Pairing]) -> list[Movement]:
    """Return the movements of all controls measured on both sides, except the storage one."""
    found = []
    for one in pairings:
        name, copies = one.candidate.name, _MEMORY in one.candidate.counters
        if one.is_control and name != _STORAGE:
            ours, variance = _median(one.candidate.process_medians[one.session.key])
            for session in one.references:
                theirs, other = _median(one.baseline.process_medians[session.key])
                seen, error = abs(ours - theirs), math.sqrt(variance + other)
                found.append(Movement(name, session.key, copies, seen, seen + 2.0 * error))
    return found


def _median(times: Sequence[float]) -> tuple[float, float]:
    """Return the median of the logs, and its variance."""
    logs = [*map(math.log, times)]
    middle = median(logs)
    deviation = median(abs(log - middle) for log in logs)
    return middle, (_MEDIAN * _NORMAL * deviation) ** 2 / len(logs)


def screen(
    baseline: Record,
    candidate: Record,
    pairings: Sequence[Pairing],
    process_scatter: float = PROCESS_SCATTER,
) -> Tests:
    """Return the tests of `pairings` in order; `process_scatter` as in `ComparisonSettings`."""
    base = _Sides.of([_side(baseline, one.baseline, one.references, one) for one in pairings])
    ours = _Sides.of([_side(candidate, one.candidate, (one.session,), one) for one in pairings])
    clocks = [one.candidate.clock for one in pairings]
    groups = [np.flatnonzero([one is clock for one in clocks]) for clock in set(clocks)]
    plain = Source.GOOGLE_BENCHMARK in (baseline.source, candidate.source)
    # Between two processes, if a side has a single one.
    assumed = process_scatter if plain else math.sqrt(2.0) * ASSUMED_PROCESS_SD

    apart = np.array([_APART_SD.get(one.comparability, {}).get(one.candidate.clock, 0.0)
                      for one in pairings])  # fmt: skip
    estimates, tails = _estimates(base, ours, groups, apart, assumed)
    d = estimates.log_ratio
    ticks = np.array([*map(_tick, pairings)])
    beyond = np.sign(d) * np.maximum(np.abs(d) - ticks, 0.0)
    p = replace(estimates, log_ratio=beyond, freedom=np.minimum(estimates.freedom, tails)).p

    single = np.minimum(base.processes, ours.processes) == 1.0
    separated = np.where(single, 0.0, 2.0 ** (1.0 - base.processes - ours.processes))
    squares = (base.squares + ours.squares) / np.maximum(base.freedom + ours.freedom, 1.0)
    of_states, rarity = np.zeros_like(d), np.zeros_like(d)
    for rows in groups:
        of_states[rows] = separated[rows] * _reached(np.abs(d[rows]), squares[rows], assumed)
        if plain and len(rows) >= _FEWEST_ROWS:
            rarity[rows] = _rarity(d[rows])
    # The two tests share the chance to err.
    either = np.maximum(2.0 * np.maximum(p, of_states), rarity)

    def reach(chance: float) -> Array:
        # In one of the two ways to be separated, the true change lies above.
        of_states = np.where(separated / 2.0 > chance, assumed, 0.0)
        return np.asarray(np.maximum(estimates.reach(chance), of_states) + ticks)

    half = reach((1.0 - CONFIDENCE) / 2)
    # Pairs may follow if the bound is too large. They spend the other half of the error rate.
    bound = d + reach((1.0 - BOUND_CONFIDENCE) / (1.0 if plain else 2.0))
    found = Found(d, d - half, d + half, bound, np.minimum(either, 1.0))
    unknown = plain & (single | (np.maximum(of_states, rarity) > p))
    processes = base.processes, ours.processes
    return Tests(found, base.location, ours.location, *processes, unknown.astype(float))


def _estimates(
    base: _Sides, ours: _Sides, groups: Sequence[Index], apart: Array, assumed: float
) -> tuple[Estimates, Array]:
    """Return the log ratios, with their errors by processes, boots and GPUs; and their tails.

    `apart` is the assumed standard deviation between boots or GPUs, 0 if both sides share the boot.
    Far out, where a change must lie, the tail of a sum is that of its part with the heaviest. The
    candidate's own boot has heavy tails, however many boots the baseline has.
    """
    known = [_completed(side, groups) for side in (base, ours)]
    parts = [(base.of_repetitions + ours.of_repetitions, np.full_like(apart, np.inf))]
    for side, (variance, freedom), (other, _) in zip((base, ours), known, known[::-1], strict=True):
        guess = np.maximum(assumed**2 / 2.0, other)
        shows = freedom > 0.0
        variance = np.where(shows, variance, guess) * side.share
        parts.append((variance, np.where(shows, freedom, np.inf)))

    prior = np.where(apart > 0.0, apart**2 + _MOVES_TOO**2 * known[0][0], 0.0)
    total = _HEAVY_TAILS + base.draws - 1.0
    and_mean = 1.0 + 1.0 / base.draws  # the candidate's draw, and the mean of the baseline's
    variance, freedom = combined_freedom(*parts, (prior * and_mean, total))
    estimates = Estimates(ours.location - base.location, np.sqrt(variance), freedom)
    for rows in groups:
        if len(rows) >= _FEWEST_ROWS:
            estimates.error[rows] *= _inflation(estimates, rows)
    # Draws that agree may have met the same state by chance: their scatter only ever adds.
    seen = np.maximum((_HEAVY_TAILS * prior + base.apart) / total - prior, 0.0) * (prior > 0.0)
    error = np.maximum(estimates.error, np.sqrt(variance + seen * and_mean))
    return replace(estimates, error=error), np.where(prior > 0.0, _HEAVY_TAILS, np.inf)


def _completed(side: _Sides, groups: Sequence[Index]) -> tuple[Array, Array]:
    """Return the variances of processes and their degrees of freedom, completed if these are few.

    Both are 0 if the side has a single process.
    """
    freedom = side.freedom.copy()
    value = np.maximum(side.squares / np.maximum(freedom, 1.0), _SMALLEST_SD**2) * (freedom > 0.0)
    for rows in groups:
        at = rows[freedom[rows] > 0.0]
        if len(at) >= _FEWEST_ROWS:
            lacking = np.maximum(_ENOUGH_FREEDOM - freedom[at], 0.0)
            lent = lacking * np.quantile(value[at], _NOISY)
            value[at] = (freedom[at] * value[at] + lent) / (freedom[at] + lacking)
            freedom[at] += lacking
    return value, freedom


def _inflation(estimates: Estimates, rows: Index) -> float:
    """Return how many times further than their errors say the changes of these rows reach, from 1.

    So many if half of the changes, about their median, lie within so many times the quartile of
    Student's t: Devlin and Roeder 1999, "Genomic control for association studies". A minority of
    real changes hardly moves a median.
    """
    apart = np.abs(estimates.log_ratio[rows] - np.median(estimates.log_ratio[rows]))
    return max(1.0, float(np.median(apart / estimates.reach(0.25)[rows])))


def _rarity(changes: Array) -> Array:
    """Return p of each change among those of its clock, if these have heavy tails."""
    spread = np.median(np.abs(changes - np.median(changes))) / special.ndtri(0.75)
    scaled = np.abs(changes) / max(float(spread), _SMALLEST_SD)
    return np.asarray(2.0 * special.stdtr(_HEAVY_TAILS, -scaled))


def _reached(distances: Array, variances: Array, assumed: float) -> Array:
    """Return the share of the suite's rows whose states lie so far apart.

    Two states that are x apart scatter with a standard deviation of x / 2. A row's states may also
    lie further apart than it shows, with heavy tails. Of one more row nothing is known but what is
    assumed between processes.
    """
    powers = np.sort(np.append((4.0 * variances) ** 2, assumed**4))
    reach = np.maximum(distances, _SMALLEST_SD) ** 4
    below = np.searchsorted(powers, reach)
    total = np.append(0.0, np.cumsum(powers))[below]
    return np.asarray((len(powers) - below + total / reach) / len(distances))


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
    if record.single_process:
        (repetitions,) = logs.values()
        variance = _of_median(sorted(repetitions))
        return median(repetitions), 0.0, 1.0, 0.0, 0.0, 1.0, 1.0, variance
    by_gpu = pairing.comparability in _OTHER_GPU
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
        0.0,
    )


def _of_median(values: Sequence[float]) -> float:
    """Return the variance of the median of sorted values: half of the interval that holds it."""
    low = round((len(values) - 1 - math.sqrt(len(values))) / 2)
    return (values[-1 - low] - values[low]) ** 2 / 4


def _tick(pairing: Pairing) -> float:
    """Return the tick of the clock as a log ratio, or 0 if no two processes of a session agree."""
    sides = [pairing.baseline.process_medians[session.key] for session in pairing.references]
    sides.append(pairing.candidate.process_medians[pairing.session.key])
    gaps = [math.log(b / a) for times in sides for a, b in pairwise(sorted(times))]
    return min(filter(None, gaps), default=_UNKNOWN_TICK) if 0.0 in gaps else 0.0
