# SPDX-License-Identifier: Apache-2.0
"""A kernel beside its possible replacement: is it right, within memory, and faster? Pure."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from warpgauge.records.model import Record
from warpgauge.records.row import Row
from warpgauge.records.sessions import only_session
from warpgauge.system.errors import ExitStatus
from warpgauge.verdict import paired_tests
from warpgauge.verdict.comparison import Comparison, Outcome, Verdict
from warpgauge.verdict.pairing import pair

MEMORY = "peak_device_bytes"


@dataclass(frozen=True)
class SpeedUp:
    """The base's time over the candidate's, above 1 if the candidate is faster; 95 % interval."""

    ratio: float
    low: float
    high: float


@dataclass(frozen=True)
class Point:
    """Both kernels at one point of their axes."""

    verdict: Verdict
    base: Row
    candidate: Row
    memory_limit: int | None = None  # bytes

    @property
    def is_right(self) -> bool:
        """Whether all verifications of both sides passed; a failed one makes the row an error."""
        return self.base.error is None and self.candidate.error is None

    @property
    def is_within_memory(self) -> bool:
        """Whether the candidate's memory is within the limit. Unknown memory is not."""
        limit, needs = self.memory_limit, self.candidate.counters.get(MEMORY, math.inf)
        return limit is None or needs <= limit

    @property
    def speed_up(self) -> SpeedUp | None:
        change = self.verdict.change
        if change is None or not self.is_measured or change.low <= -1.0:  # so wide is no interval
            return None
        return SpeedUp(*(1.0 / (1.0 + one) for one in (change.ratio, change.high, change.low)))

    @property
    def is_measured(self) -> bool:
        undecided = self.verdict.outcome is Outcome.INCONCLUSIVE
        return undecided or not self.verdict.is_unmeasured


@dataclass(frozen=True)
class Evaluation:
    """The result of pairs of processes of two kernels. `names` has the base's name first.

    `alone` lists the points that only one side has. These were not measured.
    """

    names: tuple[str, str]
    points: tuple[Point, ...]
    geometric_mean: SpeedUp | None
    comparison: Comparison
    memory_limit: int | None = None
    alone: tuple[tuple[str, ...], tuple[str, ...]] = ((), ())

    def count(self, *outcomes: Outcome) -> int:
        return sum(point.verdict.outcome in outcomes for point in self.points)

    @property
    def gpu_name(self) -> str | None:
        """The name of the GPU that measured both, if known."""
        return only_session(self.comparison.candidate).gpu_name

    @property
    def exit_status(self) -> ExitStatus:
        """The exit status. Speed counts only if every point is right, within memory and measured.

        One REGRESSION makes the kernel slower. It is equal if every point is slower by at most the
        tolerance, with 99 % confidence; then so is the geometric mean.
        """
        whole = all(
            one.is_right and one.is_within_memory and one.is_measured for one in self.points
        )
        if not whole or not self.points or self.comparison.refusal is not None:
            return ExitStatus.NOT_MEASURED
        if self.count(Outcome.REGRESSION):
            return ExitStatus.REGRESSION
        undecided = self.count(Outcome.INCONCLUSIVE)
        return ExitStatus.NOT_MEASURED if undecided else ExitStatus.OK


def evaluated(
    comparison: Comparison,
    names: tuple[str, str],
    memory_limit: int | None = None,
    alone: tuple[tuple[str, ...], tuple[str, ...]] = ((), ()),
) -> Evaluation:
    """Return the evaluation of two kernels compared in pairs; `memory_limit` in bytes."""
    base, candidate = comparison.baseline, comparison.candidate
    points = tuple(
        Point(one, base.rows[one.name], candidate.rows[one.name], memory_limit)
        for one in comparison.verdicts
        if one.outcome is not Outcome.SKIPPED
    )
    mean = _geometric_mean(points, base, candidate)
    return Evaluation(names, points, mean, comparison, memory_limit, alone)


def _geometric_mean(points: Sequence[Point], base: Record, candidate: Record) -> SpeedUp | None:
    """Return the geometric mean of the points' speed-ups, None if too few pairs measured all.

    The interval comes from those pairs, because what moves all points of a pair moves their mean.
    Points measured in more pairs are known more precisely, and the mean uses all of their pairs.
    """
    changes = {p.verdict.name: p.verdict.change for p in points if p.speed_up is not None}
    logs = [math.log1p(change.ratio) for change in changes.values() if change is not None]
    pairings, _, _ = pair(base, candidate, changes)
    found = paired_tests.mean_of(pairings) if logs else None
    if found is None:
        return None
    middle = math.fsum(logs) / len(logs)
    low, high = (middle + float(end - found.log_ratio[0]) for end in (found.low[0], found.high[0]))
    return SpeedUp(*(math.exp(-one) for one in (middle, high, low)))
