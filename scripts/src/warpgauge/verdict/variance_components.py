# SPDX-License-Identifier: Apache-2.0
"""Estimate a baseline's variances between processes, sessions of a GPU and GPUs of a model."""

from __future__ import annotations

import math
from collections.abc import Hashable, Sequence
from dataclasses import dataclass

import numpy as np

from warpgauge.records.model import Record
from warpgauge.statistics.log_ratios import Array
from warpgauge.statistics.samples import Groups, Index, numbered, sums_by
from warpgauge.statistics.variance import Variances, independent
from warpgauge.verdict.pairing import Pairing

# The median of n normal values has pi/2 times the variance of their mean.
_MEDIAN_VARIANCE = math.pi / 2


@dataclass(frozen=True)
class Side:
    """Typical logs of sessions' times, and their scatter.

    `squares` are sums of squared deviations of the processes' logs. `repetition_variance` is the
    variance of a single process's log by its repetitions, else zero.
    """

    log_seconds: Array
    squares: Array
    processes: Array
    repetition_variance: Array
    repetition_freedom: Array

    @property
    def freedom(self) -> Array:
        return self.processes - 1.0


def side_of(record: Record, times: Sequence[Sequence[float]]) -> Side:
    """Summarise sessions' times (seconds): means over processes, or medians of repetitions."""
    groups = Groups.of_logs(times)
    zero = np.zeros(len(times))
    if not record.single_process:
        return Side(groups.means, groups.squares, groups.counts.astype(float), zero, zero + 1.0)
    freedom = np.maximum(groups.counts - 1.0, 1.0)
    variance = _MEDIAN_VARIANCE * groups.squares / freedom / groups.counts
    variance = np.maximum(variance, groups.median_variances)  # a median falls on either of 2 states
    return Side(groups.medians, zero, zero + 1.0, variance, freedom)


@dataclass(frozen=True)
class Sessions:
    """The sessions known to the pairings' baseline rows, one after the other.

    `row` numbers the pairing of each, `key` the session, and `gpu` its GPU, separately in each row
    (`gpu_row`, `gpu_key`). `used` is 1 for references. `size` counts the rows.
    """

    side: Side
    row: Index
    key: Index
    gpu: Index
    gpu_row: Index
    gpu_key: Index
    used: Array
    size: int

    @staticmethod
    def of(baseline: Record, pairings: Sequence[Pairing]) -> Sessions:
        near = [{session.key for session in one.references} for one in pairings]
        known = [(row, session) for row, one in enumerate(pairings) for session in one.known]
        gpus = [(row, session.gpu_uuid) for row, session in known]
        distinct = [*dict.fromkeys(gpus)]
        times = [pairings[row].baseline.process_medians[session.key] for row, session in known]
        return Sessions(
            side_of(baseline, times),
            row=np.array([row for row, _ in known], dtype=np.intp),
            key=numbered(session.key for _, session in known),
            gpu=numbered(gpus),
            gpu_row=np.array([row for row, _ in distinct], dtype=np.intp),
            gpu_key=numbered(uuid for _, uuid in distinct),
            used=np.array([float(session.key in near[row]) for row, session in known]),
            size=len(pairings),
        )

    def location(self) -> Array:
        """Return the references' mean log: each GPU weighs the same, as does each session on it."""
        weights = self.used / np.maximum(self._of_gpu(self.used)[self.gpu], 1.0)
        return self._of_row(weights * self.side.log_seconds) / self._of_row(weights)

    def processes(self) -> Array:
        """Return the number of processes of all references."""
        return self._of_row(self.used * self.side.processes)

    def references(self) -> Array:
        return self._of_row(self.used)

    def reference_gpus(self) -> Array:
        return sums_by(self.gpu_row, (self._of_gpu(self.used) > 0.0).astype(float), self.size)

    def processes_a_session(self) -> Array:
        """Return the harmonic mean: it yields the mean variance of sessions' means."""
        return self._of_row(np.ones_like(self.used)) / self._of_row(1.0 / self.side.processes)

    def processes_of_location(self) -> Array:
        """Return how many processes, in one sample, would give the references' precision."""
        return self.references() ** 2 / self._of_row(self.used / self.side.processes)

    def sessions_a_gpu(self) -> Array:
        gpus = sums_by(self.gpu_row, np.ones(len(self.gpu_row)), self.size)
        return self._of_row(np.ones_like(self.used)) / gpus

    def between_processes(self, counting: Array | float = 1.0) -> Variances:
        """Return variances over the sessions of a row for which `counting` is 1, not 0."""
        squares = self._of_row(counting * self.side.squares)
        return Variances.of_squares(squares, self._of_row(counting * self.side.freedom))

    def between_sessions(self, similar: Sequence[Hashable]) -> Variances:
        """Return variances of sessions' means around their GPU's, where a GPU has several."""
        count, means = self._gpu_means()
        deviations = self.side.log_seconds - means[self.gpu]
        freedom = sums_by(self.gpu_row, count - 1.0, self.size)
        found = Variances.of_squares(self._of_row(deviations**2), freedom)
        return found.moderated(similar, independent(similar, self.row, self.key, deviations))

    def between_gpus(self, similar: Sequence[Hashable]) -> Variances:
        """Return variances of GPUs' means, over all GPUs that a row knows."""
        _, means = self._gpu_means()
        gpus = sums_by(self.gpu_row, np.ones_like(means), self.size)
        middle = sums_by(self.gpu_row, means, self.size) / gpus
        deviations = means - middle[self.gpu_row]
        squares = sums_by(self.gpu_row, deviations**2, self.size)
        alike = independent(similar, self.gpu_row, self.gpu_key, deviations)
        return Variances.of_squares(squares, gpus - 1.0).moderated(similar, alike)

    def repetitions(self) -> tuple[Array, Array]:
        """Return the variance of the location and its freedom, if sessions are single processes."""
        parts = self._of_row(self.used * self.side.repetition_variance)
        freedom = self._of_row(self.used * self.side.repetition_freedom)
        return parts / self.references() ** 2, np.maximum(freedom, 1.0)

    def _gpu_means(self) -> tuple[Array, Array]:
        """Return how many sessions each GPU has, and their mean."""
        count = self._of_gpu(np.ones_like(self.used))
        return count, self._of_gpu(self.side.log_seconds) / count

    def _of_gpu(self, values: Array) -> Array:
        return sums_by(self.gpu, values, len(self.gpu_row))

    def _of_row(self, values: Array) -> Array:
        return sums_by(self.row, values, self.size)
