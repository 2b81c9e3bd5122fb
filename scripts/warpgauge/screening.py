# SPDX-License-Identifier: Apache-2.0
"""Tests of a candidate against the sessions of a baseline.

Times vary on three levels: from process to process, from session to session of one GPU, and from
one GPU of a model to the next. What the candidate and its references share cancels out; the level
that they do not share decides how far apart they may lie (a t test of a new draw from that level:
Student's prediction interval). The levels' variances come from the baseline itself, steadied by
similar benchmarks (`variance`), and from what was measured elsewhere where it cannot tell.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from warpgauge.kinship import Kin
from warpgauge.model import Clock, Record, Source
from warpgauge.pairing import Pairing
from warpgauge.samples import Index, sums_by
from warpgauge.sides import Side, of_processes, of_repetitions
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


def screen(baseline: Record, candidate: Record, pairings: Sequence[Pairing]) -> Tests:
    """The tests of all pairings, in their order."""
    sessions = _Sessions.of(baseline, pairings)
    cand = _side(candidate, [one.candidate.process_medians[one.session.key] for one in pairings])
    similar = [(one.candidate.family, one.candidate.clock) for one in pairings]
    within = sessions.within().moderated(similar)
    assumed = np.full(len(pairings), ASSUMED_PROCESS_SD)
    ours = Variances.of_squares(cand.squares, cand.freedom).steadied_by(within)
    alone = cand.processes < 2.0  # one process may be the odd one out, whatever others did
    ours = Variances(ours.value, np.where(alone, 0.0, ours.freedom)).or_assumed(assumed)
    within = within.or_assumed(assumed)
    own = ours.value / cand.processes, ours.freedom
    location, references = sessions.location(), sessions.reference_processes()
    theirs = within.value / references, within.freedom
    shared_variance, shared_freedom = combined_freedom(own, theirs)
    apart_variance, apart_freedom = sessions.apart(pairings, similar, within, own)
    levels = np.array([_LEVEL[one.kin] for one in pairings], dtype=np.intp)
    shared = levels == _PROCESS
    variance, freedom = combined_freedom(
        (
            np.where(shared, shared_variance, apart_variance),
            np.where(shared, shared_freedom, apart_freedom),
        ),
        (cand.repetition_variance, cand.repetition_freedom),
        (sessions.repetition_variance(), sessions.repetition_freedom()),
    )
    estimates = Estimates(cand.log_seconds - location, np.sqrt(variance), freedom)
    return Tests(estimates, location, cand.log_seconds, references, cand.processes)


# The level of variation that the two sides do not share.
_PROCESS, _SESSION, _GPU = range(3)
_LEVEL = {
    Kin.SAME_BOOT: _PROCESS,
    Kin.SAME_GPU: _SESSION,
    Kin.SIBLING: _GPU,
    Kin.UNKNOWN: _PROCESS,
}


def _side(record: Record, times: Sequence[Sequence[float]]) -> Side:
    plain = record.source is Source.GOOGLE_BENCHMARK
    return of_repetitions(times) if plain else of_processes(times)


@dataclass(frozen=True)
class _Sessions:
    """The sessions of all pairings' baseline rows, one after the other.

    `row` is the pairing of each, `gpu` numbers its GPU within the whole, `used` is 1 where the
    session is a reference.
    """

    side: Side
    row: Index
    gpu: Index
    gpu_row: Index
    used: Array
    size: int

    @staticmethod
    def of(baseline: Record, pairings: Sequence[Pairing]) -> _Sessions:
        times: list[Sequence[float]] = []
        row: list[int] = []
        gpu: list[int] = []
        gpu_row: list[int] = []
        used: list[float] = []
        for index, one in enumerate(pairings):
            near = {session.key for session in one.references}
            numbers: dict[str | None, int] = {}
            for session in one.known:
                if session.gpu_uuid not in numbers:
                    numbers[session.gpu_uuid] = len(gpu_row)
                    gpu_row.append(index)
                times.append(one.baseline.process_medians[session.key])
                row.append(index)
                gpu.append(numbers[session.gpu_uuid])
                used.append(float(session.key in near))
        side = _side(baseline, times)
        rows, gpus, rows_of_gpus = (np.array(one, dtype=np.intp) for one in (row, gpu, gpu_row))
        return _Sessions(side, rows, gpus, rows_of_gpus, np.array(used), len(pairings))

    def within(self) -> Variances:
        """From process to process, over all sessions of a row."""
        return Variances.of_squares(
            sums_by(self.row, self.side.squares, self.size),
            sums_by(self.row, self.side.freedom, self.size),
        )

    def location(self) -> Array:
        """The typical log of the references: each GPU counts once, and each session on it."""
        weights = self.used / np.maximum(self._of_gpu(self.used)[self.gpu], 1.0)
        total = sums_by(self.row, weights, self.size)
        return sums_by(self.row, weights * self.side.log_seconds, self.size) / total

    def reference_processes(self) -> Array:
        return sums_by(self.row, self.used * self.side.processes, self.size)

    def repetition_variance(self) -> Array:
        """Of the references' location, where a session is a single process."""
        count = sums_by(self.row, self.used, self.size)
        parts = self.used * self.side.repetition_variance
        return sums_by(self.row, parts, self.size) / count**2

    def repetition_freedom(self) -> Array:
        return np.maximum(sums_by(self.row, self.used * self.side.repetition_freedom, self.size), 1)

    def apart(
        self,
        pairings: Sequence[Pairing],
        similar: Sequence[tuple[str, Clock]],
        within: Variances,
        own: tuple[Array, Array],
    ) -> tuple[Array, Array]:
        """Variance and freedom of a difference across sessions, or across GPUs.

        The candidate's session is one more draw from the population that the references are from,
        whose means scatter by all levels at once: variance (1 + 1/k) over k of them. What its own
        processes scatter beyond those of the baseline comes on top.
        """
        across_gpus = np.array([one.kin is Kin.SIBLING for one in pairings])
        per_session = within.value / self._mean_processes()
        of_gpus, of_sessions = (
            found.moderated(similar) for found in (self._between_gpus(), self._within_gpus())
        )
        scale = [
            np.array([assumed[one.candidate.clock] for one in pairings])
            for assumed in (_ASSUMED_GPU_SD, _ASSUMED_SESSION_SD)
        ]
        between = [
            found.or_assumed(np.sqrt(sd**2 + per_session))
            for found, sd in zip((of_gpus, of_sessions), scale, strict=True)
        ]
        value = np.where(across_gpus, between[0].value, between[1].value)
        freedom = np.where(across_gpus, between[0].freedom, between[1].freedom)
        value = np.maximum(value, per_session)
        sessions = sums_by(self.row, self.used, self.size)
        gpus = sums_by(self.gpu_row, (self._of_gpu(self.used) > 0).astype(float), self.size)
        count = np.where(across_gpus, gpus, sessions)
        beyond = np.maximum(own[0] - per_session, 0.0)
        return combined_freedom((value * (1.0 + 1.0 / count), freedom), (beyond, own[1]))

    def _mean_processes(self) -> Array:
        count = sums_by(self.row, np.ones_like(self.used), self.size)
        return sums_by(self.row, self.side.processes, self.size) / count

    def _between_gpus(self) -> Variances:
        """Variance of the GPUs' means, over all GPUs that a row knows."""
        means = self._of_gpu(self.side.log_seconds) / self._sessions_of_gpu()
        gpus = sums_by(self.gpu_row, np.ones_like(means), self.size)
        middle = sums_by(self.gpu_row, means, self.size) / gpus
        squares = sums_by(self.gpu_row, (means - middle[self.gpu_row]) ** 2, self.size)
        return Variances.of_squares(squares, gpus - 1.0)

    def _within_gpus(self) -> Variances:
        """Variance of the sessions' means around their GPU's, over all GPUs with several."""
        count = self._sessions_of_gpu()
        means = self._of_gpu(self.side.log_seconds) / count
        off = (self.side.log_seconds - means[self.gpu]) ** 2
        squares = sums_by(self.row, off, self.size)
        return Variances.of_squares(squares, sums_by(self.gpu_row, count - 1.0, self.size))

    def _sessions_of_gpu(self) -> Array:
        return self._of_gpu(np.ones_like(self.used))

    def _of_gpu(self, values: Array) -> Array:
        return sums_by(self.gpu, values, len(self.gpu_row))
