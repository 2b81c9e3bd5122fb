# SPDX-License-Identifier: Apache-2.0
"""Tests of a candidate against the sessions of a baseline.

Times vary on three levels: from process to process, from session to session of one GPU, and from
one GPU of a model to the next. What the candidate and its references share cancels out; the level
that they do not share decides how far apart they may lie: the candidate is one more draw from that
level, and lies within Student's prediction interval. The levels' variances come from the baseline
itself (`levels`), steadied by similar benchmarks (`variance`), and from what was measured elsewhere
where it cannot tell.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from warpgauge.kinship import Kin, level
from warpgauge.levels import Sessions, side_of
from warpgauge.model import Clock, Record
from warpgauge.pairing import Pairing
from warpgauge.sides import Side
from warpgauge.stats import Array, Estimates, Tests, combined_freedom
from warpgauge.variance import Variances

# Standard deviations of the log that are assumed where nothing can tell. One process from the next
# (event-timed kernels move 2 to 3 %):
ASSUMED_PROCESS_SD = 0.03
# One session of a GPU from its next (device times repeat over boots to 0.3 %; a boot moves pageable
# copies by up to 16 %), and one GPU of a model from another (each benchmark by its own amount; the
# minimum effect bounds the few that differ by more):
_ASSUMED_SESSION_SD = {Clock.DEVICE: 0.001, Clock.HOST: 0.05}
_ASSUMED_GPU_SD = {Clock.DEVICE: 0.005, Clock.HOST: 0.05}

# A variance of each benchmark, and the degrees of freedom behind it.
_Part = tuple[Array, Array]


def screen(baseline: Record, candidate: Record, pairings: Sequence[Pairing]) -> Tests:
    """The tests of all pairings, in their order."""
    sessions = Sessions.of(baseline, pairings)
    times = [one.candidate.process_medians[one.session.key] for one in pairings]
    ours = side_of(candidate, times)
    similar = [(one.candidate.family, one.candidate.clock) for one in pairings]
    processes = sessions.between_processes().moderated(similar)
    own = _own(ours, processes)
    processes = processes.or_assumed(np.full(len(pairings), ASSUMED_PROCESS_SD))
    per_session = processes.value / sessions.processes_a_session()

    within = combined_freedom(own, (processes.value / sessions.processes(), processes.freedom))
    gpus = sessions.between_gpus()
    between = (
        # Where no GPU has several sessions, those of all GPUs stand in: they lie further apart.
        _between(
            sessions.between_sessions().or_else(gpus), _ASSUMED_SESSION_SD, similar, per_session
        ),
        _between(gpus, _ASSUMED_GPU_SD, similar, per_session),
    )
    # What the candidate's processes scatter beyond the baseline's comes on top of the next levels.
    beyond = np.maximum(own[0] - per_session, 0.0), own[1]
    across_sessions = combined_freedom(_one_more(between[0], sessions.references()), beyond)
    # A GPU's mean over several sessions scatters less by sessions than the candidate's only one.
    single = between[0].value * (1.0 - 1.0 / sessions.sessions_a_gpu()), between[0].freedom
    across_gpus = combined_freedom(_one_more(between[1], sessions.reference_gpus()), single, beyond)
    kins = [level(one.kin) for one in pairings]
    variance, freedom = combined_freedom(
        _chosen(kins, {Kin.SAME_GPU: across_sessions, Kin.SIBLING: across_gpus}, within),
        sessions.repetitions(),
        (ours.repetition_variance, ours.repetition_freedom),
    )
    location = sessions.location()
    estimates = Estimates(ours.log_seconds - location, np.sqrt(variance), freedom)
    return Tests(estimates, location, ours.log_seconds, sessions.processes(), ours.processes)


def _own(side: Side, baseline: Variances) -> _Part:
    """Of the candidate's typical log, by the scatter of its own processes."""
    variances = Variances.of_squares(side.squares, side.freedom).steadied_by(baseline)
    # One process may be the odd one out, whatever others did.
    known = Variances(variances.value, np.where(side.processes < 2.0, 0.0, variances.freedom))
    found = known.or_assumed(np.full_like(side.processes, ASSUMED_PROCESS_SD))
    return found.value / side.processes, found.freedom


def _between(
    found: Variances,
    assumed_sd: Mapping[Clock, float],
    similar: Sequence[tuple[str, Clock]],
    per_session: Array,
) -> Variances:
    """Variance of sessions' or GPUs' means, which never scatter less than their processes."""
    sd = np.array([assumed_sd[clock] for _, clock in similar])
    known = found.moderated(similar).or_assumed(np.sqrt(sd**2 + per_session))
    return Variances(np.maximum(known.value, per_session), known.freedom)


def _one_more(level: Variances, count: Array) -> _Part:
    """Of the difference of one more draw from a level to the mean of `count` draws."""
    return level.value * (1.0 + 1.0 / count), level.freedom


def _chosen(kins: Sequence[Kin], by_kin: Mapping[Kin, _Part], otherwise: _Part) -> _Part:
    """For each benchmark the part that belongs to its kinship."""
    masks = [np.array([kin is wanted for kin in kins], dtype=bool) for wanted in by_kin]
    variance, freedom = (
        np.select(masks, [part[index] for part in by_kin.values()], otherwise[index])
        for index in (0, 1)
    )
    return variance, freedom
