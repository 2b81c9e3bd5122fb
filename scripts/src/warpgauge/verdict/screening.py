# SPDX-License-Identifier: Apache-2.0
"""Tests of a candidate against the sessions of a baseline, or against plain files.

A change must exceed three kinds of noise, each tested by itself; the largest p counts, and the
widest bound:

1. The scatter of processes and, unless the boot is the same, of boots or GPUs. The benchmark's own
   data show it. Where they are few, the noisiest tenth of the suite or an assumption completes it,
   and Student's t with few degrees of freedom allows for benchmarks that are noisier than others.
2. States: a benchmark may take one of two times in each process, and chance may show one side only
   the one and the other side only the other. The more processes, the less likely.
3. The suite: changes that reach further than their errors say are noise of the machine.

What is flagged or not bounded is measured again in pairs, so screening against sibling GPUs needs
no power: it only has to send benchmarks there.

The family `host` are controls. They use no GPU: memory copies, clock reads, thread wake-ups. If
these differ between the sides, a neighbour or another machine is the cause, and it affects all host
times alike. The family's file sync waits for storage, which nothing else does, so it says nothing
about the others.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import special

from warpgauge.records.counters import Clock
from warpgauge.records.model import Record, Session, Source
from warpgauge.records.row import Row
from warpgauge.statistics.error_rates import BOUND_CONFIDENCE, CONFIDENCE
from warpgauge.statistics.log_ratios import Array, Estimates, Found, Tests, combined_freedom
from warpgauge.verdict.comparability import Comparability
from warpgauge.verdict.comparison_settings import PROCESS_SCATTER
from warpgauge.verdict.pairing import Pairing

# Standard deviations of the log. No benchmark repeats better than this:
_SMALLEST_SD = 1e-4
# Between processes, if a side has a single one (event-timed kernels move 2 to 3 %):
ASSUMED_PROCESS_SD = 0.03
# Between two states of a benchmark of ours (plain files: `process_scatter`).
_STATES_SD = {Clock.DEVICE: 0.01, Clock.HOST: 0.04}
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
# Degrees of freedom of these assumptions: heavy tails, because boots have them and because
# benchmarks differ.
_HEAVY_TAILS = 4.0
# A benchmark that varies between processes also varies between boots and GPUs, by a third or more.
_MOVES_TOO = 1 / 3

# A side with so many degrees of freedom knows its own scatter. What it lacks comes from the suite,
# if that has enough benchmarks of the clock.
_ENOUGH_FREEDOM = 6.0
_FEWEST_ROWS = 8
_NOISY = 0.9


# Only benchmarks that move memory have this counter. Half of the controls do.
_MEMORY = "bytes_per_second"

_STORAGE = "host/file_sync"

# Factors from a median absolute deviation to the standard deviation of a normal sample, and from
# the error of a mean to that of a median (Rousseeuw and Croux 1993). One bad value moves neither.
_NORMAL, _MEDIAN = 1.4826, 1.2533


@dataclass(frozen=True)
class Movement:
    """How far a control moved between a session and the candidate, as unsigned log ratios.

    `seen` is the difference of its medians, `log_ratio` the largest movement its noise allows.
    """

    name: str
    seen: float
    log_ratio: float


# For each session, the control that moved most against it.
Movements = dict[str, Movement]


@dataclass(frozen=True)
class Controls:
    """The movements of controls that copy memory, and of those that do not."""

    memory: Movements
    calls: Movements

    def of(self, row: Row) -> Movements:
        """Return the movements that apply to a row of host time: of copies or of other calls."""
        return self.memory if _MEMORY in row.counters else self.calls


def controls(pairings: Sequence[Pairing]) -> Controls:
    """Return the movements of all controls measured on both sides, except the storage one."""
    found = Controls({}, {})
    for one in pairings:
        if not one.is_control or one.candidate.name == _STORAGE:
            continue
        largest = found.of(one.candidate)
        for session in one.references:
            moved, known = _movement(one, session.key), largest.get(session.key)
            if known is None or moved.log_ratio > known.log_ratio:
                largest[session.key] = moved
    return found


def _movement(one: Pairing, session: str) -> Movement:
    """Return the difference of the medians, and the same plus two of its standard errors."""
    sides = one.baseline.process_medians[session], one.candidate.process_medians[one.session.key]
    (base, base_variance), (cand, cand_variance) = map(_median, sides)
    seen = abs(cand - base)
    return Movement(one.candidate.name, seen, seen + 2.0 * math.sqrt(base_variance + cand_variance))


def _median(times: Sequence[float]) -> tuple[float, float]:
    """Return the median of the logs, and its variance."""
    logs = [*map(math.log, times)]
    middle = statistics.median(logs)
    deviation = statistics.median(abs(log - middle) for log in logs)
    return middle, (_MEDIAN * _NORMAL * deviation) ** 2 / len(logs)


def screen(
    baseline: Record,
    candidate: Record,
    pairings: Sequence[Pairing],
    process_scatter: float = PROCESS_SCATTER,
) -> Tests:
    """Return the tests of `pairings` in order; `process_scatter` as in `ComparisonSettings`."""
    base = _Sides.of(
        (baseline, one.baseline, one.references, _is_other_gpu(one)) for one in pairings
    )
    ours = _Sides.of((candidate, one.candidate, (one.session,), False) for one in pairings)
    clocks = _Clocks([one.candidate.clock for one in pairings])
    is_plain = [record.source is Source.GOOGLE_BENCHMARK for record in (baseline, candidate)]
    # `process_scatter` is that of a difference.
    assumed = [process_scatter / math.sqrt(2.0) if one else ASSUMED_PROCESS_SD for one in is_plain]
    plain = any(is_plain)

    estimates, tails = _estimates(pairings, clocks, base, ours, assumed)
    estimates = clocks.inflated(estimates)
    step = np.full(len(pairings), process_scatter) if plain else clocks.select(_STATES_SD)
    states = _States.of(base.processes, ours.processes, step)
    # Pairs may follow if the bound is too large. They spend the other half of the error rate.
    chance = (1.0 - BOUND_CONFIDENCE) / (1.0 if plain else 2.0)
    p = replace(estimates, freedom=np.minimum(estimates.freedom, tails)).p
    of_states = np.maximum(states.p(estimates.log_ratio), clocks.rarity(estimates) * plain)
    half, reach = (
        np.maximum(estimates.reach(part), states.reach(part))
        for part in ((1.0 - CONFIDENCE) / 2, chance)
    )
    d = estimates.log_ratio
    found = Found(d, d - half, d + half, d + reach, np.maximum(p, of_states))
    processes = base.processes, ours.processes
    unknown = (of_states > p) | (states.chance == 1.0)
    return Tests(found, base.location, ours.location, *processes, (unknown & plain).astype(float))


def _is_other_gpu(pairing: Pairing) -> bool:
    return pairing.comparability in (Comparability.SIBLING, Comparability.OTHER_MODEL)


def _estimates(
    pairings: Sequence[Pairing],
    clocks: _Clocks,
    base: _Sides,
    ours: _Sides,
    assumed: Sequence[float],
) -> tuple[Estimates, Array]:
    """Return the log ratios, with their errors by processes, boots and GPUs; and their tails.

    The sum of a variance with few degrees of freedom and one with many has the freedom of the few
    far out, where a change must lie.
    """
    theirs, own = clocks.completed(base), clocks.completed(ours)
    theirs, own = _or_assumed(theirs, own, assumed[0]), _or_assumed(own, theirs, assumed[1])
    within = combined_freedom(
        (theirs[0] * base.share, theirs[1]),
        (own[0] * ours.share, own[1]),
    )
    sd = np.array([_APART_SD[one.comparability][one.candidate.clock]
                   if one.comparability in _APART_SD else 0.0 for one in pairings])  # fmt: skip
    prior = sd**2 + _MOVES_TOO**2 * theirs[0]
    freedom = _HEAVY_TAILS + base.draws - 1.0
    # Draws that agree may have met the same state by chance.
    between = np.maximum((_HEAVY_TAILS * prior + base.apart) / freedom, prior)
    between *= 1.0 + 1.0 / base.draws
    between = np.where(sd > 0.0, between, 0.0)
    rounding = _rounding(pairings) + base.of_repetitions + ours.of_repetitions
    exact = rounding, np.full_like(sd, np.inf)
    variance, total = combined_freedom(within, (between, freedom), exact)
    estimates = Estimates(ours.location - base.location, np.sqrt(variance), total)
    return estimates, np.where(sd > 0.0, freedom, np.inf)


# The variances of benchmarks' processes, and their degrees of freedom.
_Variances = tuple[Array, Array]


def _or_assumed(own: _Variances, other: _Variances, sd: float) -> _Variances:
    """Return variances that are at least the assumed and the other side's where nothing shows."""
    known = own[1] > 0.0
    unknown = np.maximum(sd**2, other[0] * (other[1] > 0.0))
    return np.where(known, own[0], unknown), np.where(known, own[1], np.inf)


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
    def of(sides: Iterator[tuple[Record, Row, Sequence[Session], bool]]) -> _Sides:
        columns = np.array([_side(*side) for side in sides], dtype=np.float64)
        return _Sides(*columns.reshape(-1, len(_Sides._fields)).T)


def _side(record: Record, row: Row, sessions: Sequence[Session], by_gpu: bool) -> tuple[float, ...]:
    logs = {one.key: [*map(math.log, row.process_medians[one.key])] for one in sessions}
    if record.single_process:
        return _of_repetitions([*logs.values()])
    draws: dict[str, list[list[float]]] = {}
    for one in sessions:
        draws.setdefault(one.gpu_uuid or "" if by_gpu else one.key, []).append(logs[one.key])
    means = [_mean([_mean(of) for of in draw]) for draw in draws.values()]
    location = _mean(means)
    return (
        location,
        sum((mean - location) ** 2 for mean in means),
        len(means),
        sum(sum((log - _mean(of)) ** 2 for log in of) for of in logs.values()),
        sum(len(of) - 1 for of in logs.values()),
        sum(map(len, logs.values())),
        sum(1 / len(of) / len(draw) ** 2 for draw in draws.values() for of in draw)
        / len(draws) ** 2,
        0.0,
    )


def _of_repetitions(sessions: Sequence[Sequence[float]]) -> tuple[float, ...]:
    """Summarise single processes; the error of a median is half of the interval that holds it."""
    medians, variances = [], []
    for logs in map(sorted, sessions):
        low = round((len(logs) - 1 - math.sqrt(len(logs))) / 2)
        medians.append(statistics.median(logs))
        variances.append((logs[-1 - low] - logs[low]) ** 2 / 4)
    count = len(medians)
    return (_mean(medians), 0.0, count, 0.0, 0.0, count, 1 / count, sum(variances) / count**2)


def _mean(values: Sequence[float]) -> float:
    return math.fsum(values) / len(values)


@dataclass(frozen=True)
class _States:
    """Two states of a benchmark that chance separates: one on each side.

    `chance` is the probability if each process draws one of them, 1 if a side has one process. They
    lie apart by a normal value of the standard deviation `sd`.
    """

    chance: Array
    sd: Array

    @staticmethod
    def of(base: Array, candidate: Array, sd: Array) -> _States:
        separated = 2.0 ** (1.0 - base - candidate)
        return _States(np.where(np.minimum(base, candidate) == 1.0, 1.0, separated), sd)

    def p(self, log_ratio: Array) -> Array:
        return np.asarray(2.0 * self.chance * special.ndtr(-np.abs(log_ratio) / self.sd))

    def reach(self, chance: float) -> Array:
        """Return how far the other state lies above with the probability `chance`."""
        return np.asarray(-self.sd * special.ndtri(np.minimum(chance / self.chance, 0.5)))


class _Clocks:
    """The benchmarks of each clock: those whose noise may be compared."""

    def __init__(self, clocks: Sequence[Clock]) -> None:
        self._clocks = clocks
        groups = (np.array([one is clock for one in clocks], dtype=bool) for clock in Clock)
        self._groups: list[NDArray[np.bool_]] = [*groups]

    def select(self, values: dict[Clock, float]) -> Array:
        return np.array([values[clock] for clock in self._clocks])

    def completed(self, side: _Sides) -> _Variances:
        """Return the variances of processes, completed where they have few degrees of freedom."""
        freedom = side.freedom.copy()
        value = np.maximum(side.squares / np.maximum(freedom, 1.0), _SMALLEST_SD**2)
        for group in self._groups:
            at = np.flatnonzero(group & (side.freedom > 0.0))
            if len(at) >= _FEWEST_ROWS:
                lacking = np.maximum(_ENOUGH_FREEDOM - freedom[at], 0.0)
                lent = lacking * np.quantile(value[at], _NOISY)
                value[at] = (freedom[at] * value[at] + lent) / (freedom[at] + lacking)
                freedom[at] += lacking
        return value, freedom

    def inflated(self, estimates: Estimates) -> Estimates:
        """Enlarge the errors of a clock if its changes reach further than they say.

        If half of the changes, about their median, lie within c > 1 times the quartile of Student's
        t, errors are multiplied by c: Devlin and Roeder 1999, "Genomic control for association
        studies". A minority of real changes hardly moves a median.
        """
        error = estimates.error.copy()
        for at in filter(self._is_large, self._groups):
            apart = np.abs(estimates.log_ratio[at] - np.median(estimates.log_ratio[at]))
            error[at] *= max(1.0, float(np.median(apart / estimates.reach(0.25)[at])))
        return replace(estimates, error=error)

    def rarity(self, estimates: Estimates) -> Array:
        """Return p of each change among those of its clock, if these have heavy tails."""
        p = np.zeros_like(estimates.error)
        for at in filter(self._is_large, self._groups):
            changes = estimates.log_ratio[at]
            spread = np.median(np.abs(changes - np.median(changes))) / special.ndtri(0.75)
            p[at] = 2.0 * special.stdtr(
                _HEAVY_TAILS, -np.abs(changes) / max(float(spread), _SMALLEST_SD)
            )
        return p

    @staticmethod
    def _is_large(group: NDArray[np.bool_]) -> bool:
        return int(np.sum(group)) >= _FEWEST_ROWS


def _rounding(pairings: Sequence[Pairing]) -> Array:
    """Return the variance of a log ratio due to rounding by a coarse clock.

    More processes do not reveal the rounding if all fall on the same step. A clock is coarse if
    processes of a session agree to the last digit; the step is then the smallest other distance.
    If all agree, the step is the median one of the benchmarks timed by this clock.
    """
    steps = np.zeros(len(pairings))
    seconds, is_stuck = np.ones_like(steps), np.zeros_like(steps, dtype=bool)
    for row, one in enumerate(pairings):
        sides = [one.baseline.process_medians[session.key] for session in one.references]
        sides.append(one.candidate.process_medians[one.session.key])
        seconds[row] = min(sides[-1])
        gaps = [b - a for times in sides for a, b in pairwise(sorted(times))]
        if 0.0 in gaps:
            steps[row] = min(filter(None, gaps), default=0.0)
            is_stuck[row] = steps[row] == 0.0
    for clock in Clock:
        of_clock = np.array([one.candidate.clock is clock for one in pairings], dtype=bool)
        seen = steps[of_clock & (steps > 0.0)]
        steps[of_clock & is_stuck] = np.median(seen) if seen.size else 0.0
    # Twice the variance of a uniform distribution.
    return np.asarray((steps / seconds) ** 2 / 6.0)
