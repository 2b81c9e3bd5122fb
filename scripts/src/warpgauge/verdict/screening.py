# SPDX-License-Identifier: Apache-2.0
"""Tests of a candidate against the sessions of a baseline.

Times vary on three levels: between processes, between sessions of one GPU, and between GPUs of one
model. The levels that the candidate shares with its references cancel. On a level that it does not
share, the candidate is one more draw, within Student's prediction interval. The baseline itself
gives the levels' variances (`variance_components`), moderated by similar benchmarks (`variance`).
Where it cannot, they come from measurements made elsewhere.
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import replace

import numpy as np

from warpgauge.records.model import Clock, Record, Source
from warpgauge.statistics import suite_scatter
from warpgauge.statistics.error_rates import BOUND_CONFIDENCE
from warpgauge.statistics.log_ratios import Array, Estimates, Tests, combined_freedom
from warpgauge.statistics.samples import Groups
from warpgauge.statistics.variance import SESSIONS_ALIKE, Variances
from warpgauge.verdict.comparability import Comparability
from warpgauge.verdict.comparison_settings import FEWEST_PROCESSES, PROCESS_SCATTER
from warpgauge.verdict.pairing import Pairing
from warpgauge.verdict.variance_components import Sessions, Side, side_of

# Standard deviations of the log, assumed where data are too few. Between processes, if there are
# hardly two (event-timed kernels move 2 to 3 %); larger if the whole suite shows more
# (`suite_scatter`):
ASSUMED_PROCESS_SD = 0.03
# Between sessions of a GPU (device times repeat over boots to 0.3 %; a boot moves pageable copies
# by up to 16 %), and between GPUs of a model: each benchmark by its own amount, 0.1 to 4.5 % of
# device time among eight H200s.
_SESSION_SD = {Clock.DEVICE: 0.001, Clock.HOST: 0.05}
_GPU_SD = {Clock.DEVICE: 0.005, Clock.HOST: 0.05}
# Degrees of freedom of these assumptions: 95 % of true variances lie between a third and six times
# the assumed one. If each H200 is judged by a single other one, 99 % bounds then hold for 99.0 % of
# device times.
_ASSUMED_WORTH = 5.0
# A benchmark that varies between processes also varies between sessions and GPUs. On four H200s,
# the means of benchmarks with 0.7 to 5 % between processes scatter by a third of that or more,
# beyond what their processes explain. A share of the processes' standard deviation.
_MOVES_TOO = 1 / 3


# The variance of each benchmark, and its degrees of freedom.
_Part = tuple[Array, Array]


def screen(
    baseline: Record,
    candidate: Record,
    pairings: Sequence[Pairing],
    process_scatter: float = PROCESS_SCATTER,
) -> Tests:
    """Return the tests of `pairings` in order; `process_scatter` as in `ComparisonSettings`."""
    estimates, sessions, ours, unknown = estimated(baseline, candidate, pairings, process_scatter)
    location, processes = sessions.location(), (sessions.processes(), ours.processes)
    # Pairs may follow if the bound is too large. They spend the other half of the error rate.
    plain = Source.GOOGLE_BENCHMARK in (baseline.source, candidate.source)
    found = estimates.found((1.0 - BOUND_CONFIDENCE) / (1.0 if plain else 2.0))
    return Tests(found, location, ours.log_seconds, *processes, unknown)


def estimated(
    baseline: Record,
    candidate: Record,
    pairings: Sequence[Pairing],
    process_scatter: float = PROCESS_SCATTER,
) -> tuple[Estimates, Sessions, Side, Array]:
    """Return the log ratios, both sides' data, and 1 where the scatter is assumed, else 0."""
    plain = [record.source is Source.GOOGLE_BENCHMARK for record in (baseline, candidate)]
    assumed = [
        process_scatter / math.sqrt(2.0) if is_plain else ASSUMED_PROCESS_SD for is_plain in plain
    ]
    sessions = Sessions.of(baseline, pairings)
    times = [one.candidate.process_medians[one.session.key] for one in pairings]
    ours = side_of(candidate, times)
    similar = [(one.candidate.family, one.candidate.clock) for one in pairings]
    scatter = Variances.of_squares(ours.squares, ours.freedom)
    own, within, unknown = _within(sessions, scatter, ours.processes, similar, assumed, plain)
    processes = sessions.between_processes().moderated(similar)
    processes = processes.or_assumed(np.full(len(pairings), assumed[0]))
    per_session = processes.value / sessions.processes_a_session()

    clocks = [one.candidate.clock for one in pairings]

    def between(found: Variances, sd: Mapping[Clock, float]) -> Variances:
        """Return the variance of sessions' or GPUs' means, at least that by their processes."""
        alone = np.array([sd[clock] for clock in clocks])
        assumed = np.sqrt(alone**2 + _MOVES_TOO**2 * processes.value + per_session)
        known = found.with_assumed(assumed, _ASSUMED_WORTH)
        return Variances.of(np.maximum(known.value, per_session), known.freedom)

    by_session = between(sessions.between_sessions(similar), _SESSION_SD)
    by_gpu = between(sessions.between_gpus(similar), _GPU_SD)
    # If the candidate's processes scatter more than the baseline's, the excess adds to each level.
    beyond = np.maximum(own[0] - per_session, 0.0), own[1]
    across_sessions = combined_freedom(_one_more(by_session, sessions.references()), beyond)
    # Means over several sessions of a GPU vary less by session than the candidate's single session.
    single = by_session.value * (1.0 - 1.0 / sessions.sessions_a_gpu()), by_session.freedom
    across_gpus = combined_freedom(_one_more(by_gpu, sessions.reference_gpus()), single, beyond)
    # Other systems and models count as other sessions and GPUs: their scatter is not measured.
    masks = [
        np.array([one.comparability in found for one in pairings], dtype=bool)
        for found in (
            (Comparability.SAME_GPU, Comparability.OTHER_SYSTEM),
            (Comparability.SIBLING, Comparability.OTHER_MODEL),
        )
    ]
    levels = zip(across_sessions, across_gpus, within, strict=True)
    chosen, its_freedom = (np.select(masks, [*part[:2]], part[2]) for part in levels)
    location = sessions.location()
    variance, freedom = combined_freedom(
        (chosen, its_freedom),
        sessions.repetitions(),
        (ours.repetition_variance, ours.repetition_freedom),
        (_rounding(pairings, location), np.full_like(location, np.inf)),
    )
    estimates = Estimates(ours.log_seconds - location, np.sqrt(variance), freedom)
    widened = suite_scatter.inflated(estimates, clocks)
    widened = suite_scatter.widened(widened, unknown, clocks)
    return widened, sessions, ours, unknown * any(plain)


def _within(
    sessions: Sessions,
    ours: Variances,
    processes: Array,
    similar: Sequence[Hashable],
    assumed: Sequence[float],
    plain: Sequence[bool],
) -> tuple[_Part, _Part, Array]:
    """Return variances by processes alone: of the candidate's mean log, and of the difference.

    The third item is 1 where a side does not show how far its processes scatter, else 0.

    Each side uses its own scatter, because one side may have been disturbed. It is moderated by
    similar benchmarks beside it and by the same benchmark in all other sessions. Data that both
    sides borrow count once: the freedom never exceeds that of both sides' data and the others'.
    """
    elsewhere = sessions.between_processes(1.0 - sessions.used)
    own = ours.moderated(similar)
    base = sessions.between_processes(sessions.used).moderated(similar)
    most = own.freedom + base.freedom + np.minimum(elsewhere.freedom, SESSIONS_ALIKE)
    # The candidate moderates them too. Its times may be equal by chance, so its freedom is dropped.
    pooled_freedom = base.steadied_by(elsewhere).pooled_freedom
    base = replace(base.steadied_by(elsewhere.together_with(ours)), pooled_freedom=pooled_freedom)
    of_base = _of_mean(base, sessions.processes_of_location(), assumed[0], plain[0])
    own = own.steadied_by(sessions.between_processes())
    of_own = _of_mean(own, processes, assumed[1], plain[1])
    variance, freedom = combined_freedom(of_own, of_base)
    unknown = np.isinf(of_own[1]) | np.isinf(of_base[1])
    known = variance, np.where(unknown, freedom, np.minimum(freedom, most))
    return of_own, known, unknown.astype(float)


def _of_mean(known: Variances, processes: Array, sd: float, plain: bool) -> _Part:
    """Return the variance of the mean log of `processes`, which scatter by `sd` if unknown.

    For `plain` files it is so wide that two, which may agree by chance, prove nothing against it.
    """
    own = np.maximum(processes - 1.0, 0.0) * (not plain)
    pooled_freedom = np.where(processes < FEWEST_PROCESSES, own, known.pooled_freedom)
    found = replace(known, pooled_freedom=pooled_freedom).or_assumed(np.full_like(processes, sd))
    return found.value / processes, found.freedom


def _rounding(pairings: Sequence[Pairing], location: Array) -> Array:
    """Return the variance of a log ratio due to rounding by a coarse clock.

    More processes do not reveal the rounding if all fall on the same step. A clock is coarse if
    processes of a session agree to the last digit; the step is then the smallest other distance.
    If all agree, the step is the median one of the benchmarks timed by this clock.
    """
    sides = [
        (row, side.process_medians[session.key])
        for row, one in enumerate(pairings)
        for sessions, side in ((one.known, one.baseline), ((one.session,), one.candidate))
        for session in sessions
    ]
    rows = np.array([row for row, _ in sides], dtype=np.intp)
    closest, steps = np.full((2, len(pairings)), np.inf)
    groups = Groups.of_logs([times for _, times in sides])
    np.minimum.at(closest, rows, groups.gaps)
    np.minimum.at(steps, rows, groups.steps)
    seconds = np.exp(location)
    coarse = closest == 0.0
    clocks = np.array([one.candidate.clock.value for one in pairings])
    for clock in np.unique(clocks):
        of_clock = coarse & (clocks == clock)
        seen = of_clock & np.isfinite(steps)
        usual = float(np.median((steps * seconds)[seen])) if seen.any() else 0.0
        steps = np.where(of_clock & ~seen, usual / seconds, steps)
    return np.where(coarse, steps, 0.0) ** 2 / 6.0  # twice the variance of a uniform distribution


def _one_more(level: Variances, count: Array) -> _Part:
    """Return the variance of one more draw from a level minus the mean of `count` draws."""
    return level.value * (1.0 + 1.0 / count), level.freedom
