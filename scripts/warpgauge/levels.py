# SPDX-License-Identifier: Apache-2.0
"""The levels on which a baseline varies: processes, sessions of a GPU, GPUs of a model."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from warpgauge.model import Record, Source
from warpgauge.pairing import Pairing
from warpgauge.samples import Index, sums_by
from warpgauge.sides import Side, of_processes, of_repetitions
from warpgauge.stats import Array
from warpgauge.variance import Variances


def side_of(record: Record, times: Sequence[Sequence[float]]) -> Side:
    """Sessions' times of a record, be they processes or the repetitions of one."""
    plain = record.source is Source.GOOGLE_BENCHMARK
    return of_repetitions(times) if plain else of_processes(times)


@dataclass(frozen=True)
class Sessions:
    """The sessions that the pairings' baseline rows know, one after the other.

    `row` numbers the pairing of each and `gpu` its GPU (a GPU counts anew in each row: `gpu_row`);
    `used` is 1 where the session is a reference; `size` counts the rows.
    """

    side: Side
    row: Index
    gpu: Index
    gpu_row: Index
    used: Array
    size: int

    @staticmethod
    def of(baseline: Record, pairings: Sequence[Pairing]) -> Sessions:
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
        side = side_of(baseline, times)
        rows, gpus, rows_of_gpus = (np.array(one, dtype=np.intp) for one in (row, gpu, gpu_row))
        return Sessions(side, rows, gpus, rows_of_gpus, np.array(used), len(pairings))

    def location(self) -> Array:
        """The typical log of the references: each GPU counts once, and each session on it."""
        weights = self.used / np.maximum(self._of_gpu(self.used)[self.gpu], 1.0)
        return self._of_row(weights * self.side.log_seconds) / self._of_row(weights)

    def processes(self) -> Array:
        """How many processes all references have."""
        return self._of_row(self.used * self.side.processes)

    def references(self) -> Array:
        """How many sessions are references."""
        return self._of_row(self.used)

    def reference_gpus(self) -> Array:
        """How many GPUs the references are from."""
        return sums_by(self.gpu_row, (self._of_gpu(self.used) > 0.0).astype(float), self.size)

    def processes_a_session(self) -> Array:
        return self._of_row(self.side.processes) / self._of_row(np.ones_like(self.used))

    def sessions_a_gpu(self) -> Array:
        gpus = sums_by(self.gpu_row, np.ones(len(self.gpu_row)), self.size)
        return self._of_row(np.ones_like(self.used)) / gpus

    def between_processes(self) -> Variances:
        """Over all sessions of a row."""
        squares, freedom = self._of_row(self.side.squares), self._of_row(self.side.freedom)
        return Variances.of_squares(squares, freedom)

    def between_sessions(self) -> Variances:
        """Of sessions' means around their GPU's, over all GPUs that have several."""
        count, means = self._gpu_means()
        squares = self._of_row((self.side.log_seconds - means[self.gpu]) ** 2)
        return Variances.of_squares(squares, sums_by(self.gpu_row, count - 1.0, self.size))

    def between_gpus(self) -> Variances:
        """Of GPUs' means, over all that a row knows."""
        _, means = self._gpu_means()
        gpus = sums_by(self.gpu_row, np.ones_like(means), self.size)
        middle = sums_by(self.gpu_row, means, self.size) / gpus
        squares = sums_by(self.gpu_row, (means - middle[self.gpu_row]) ** 2, self.size)
        return Variances.of_squares(squares, gpus - 1.0)

    def repetitions(self) -> tuple[Array, Array]:
        """Variance of the location, and its freedom, where a session is a single process."""
        parts = self._of_row(self.used * self.side.repetition_variance)
        freedom = self._of_row(self.used * self.side.repetition_freedom)
        return parts / self.references() ** 2, np.maximum(freedom, 1.0)

    def _gpu_means(self) -> tuple[Array, Array]:
        """For each GPU how many sessions it has, and their mean."""
        count = self._of_gpu(np.ones_like(self.used))
        return count, self._of_gpu(self.side.log_seconds) / count

    def _of_gpu(self, values: Array) -> Array:
        return sums_by(self.gpu, values, len(self.gpu_row))

    def _of_row(self, values: Array) -> Array:
        return sums_by(self.row, values, self.size)
