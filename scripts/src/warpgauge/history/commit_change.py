# SPDX-License-Identifier: Apache-2.0
"""How much slower benchmarks are in a commit than in GOOD, and whether that is decided. Pure.

scripts/statistics.md, "Which commit", says why it is decided so.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

import msgspec

from warpgauge.execution.selection import exactly
from warpgauge.history.bisect import State
from warpgauge.records.model import Record
from warpgauge.system.text import percent, span
from warpgauge.verdict import judge
from warpgauge.verdict.comparison import Outcome, Verdict
from warpgauge.verdict.comparison_settings import ComparisonSettings

_NO_SLOWER = (Outcome.PASS, Outcome.IMPROVED)


class Seen(msgspec.Struct, frozen=True):
    """Of one benchmark: the estimate and its interval, as fractions, or why there is none.

    The true change is below `least`, or above `most`, each with the chance to err of this step.
    `outcome` is what the rule for pairs says at that chance.
    """

    outcome: str
    change: float = 0.0
    low: float = 0.0
    high: float = 0.0
    least: float = -1.0
    most: float = math.inf
    fault: str = ""

    @property
    def half(self) -> float:
        """Half of the change, as a ratio of times: what tells good from bad."""
        return math.sqrt(1.0 + self.change) - 1.0

    @property
    def is_slower(self) -> bool:
        """Whether it is beyond chance, by the minimum effect, and by more than its half."""
        return self.outcome == Outcome.REGRESSION.value and self.least > self.half

    @property
    def is_no_slower(self) -> bool:
        """Whether the slowdown is within the tolerance."""
        return not self.fault and self.outcome in {one.value for one in _NO_SLOWER}

    def state(self, threshold: float) -> State | None:
        """On which side of `threshold` it is; None while that is open."""
        if self.fault:
            return State.UNKNOWN
        if self.least > threshold:
            return State.BAD
        return State.GOOD if self.most < threshold else None

    def __str__(self) -> str:
        return self.fault or f"{percent(self.change)} ({span(self.low, self.high)})"


def seen(base: Record, candidate: Record, rows: Sequence[str], error: float) -> dict[str, Seen]:
    """Each of `rows` in the candidate beside the base, at this chance to err."""
    settings = ComparisonSettings(filter=exactly(rows), alpha=error, bound_confidence=1.0 - error)
    ahead, back = (
        {one.name: one for one in judge.judge(*sides, settings).verdicts}
        for sides in ((base, candidate), (candidate, base))
    )
    return {name: _seen(name, ahead, back) for name in rows}


def _seen(name: str, ahead: Mapping[str, Verdict], back: Mapping[str, Verdict]) -> Seen:
    verdict, mirrored = ahead.get(name), back.get(name)
    if verdict is None or mirrored is None:
        return Seen(Outcome.MISSING.value, fault="is not there")
    outcome, change = verdict.outcome.value, verdict.change
    if change is None or verdict.bound is None or mirrored.bound is None:
        return Seen(outcome, fault=verdict.reason or f"is {outcome}")
    # What is slower by at most 25 % than the candidate is faster by at most 20 %.
    least = 1.0 / (1.0 + mirrored.bound) - 1.0
    return Seen(outcome, change.ratio, change.low, change.high, least, verdict.bound)
