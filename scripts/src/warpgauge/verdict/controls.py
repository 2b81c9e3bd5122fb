# SPDX-License-Identifier: Apache-2.0
"""The host's own controls: how far the machine itself differed between the two sides.

The family `host` uses no GPU: memory copies, clock reads, thread wake-ups. Where these differ
between the sides, a neighbour or another machine did it, and it moves all times of the host's clock
alike. Its file sync waits for storage, which nothing else does, and says nothing of the others.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Sequence
from dataclasses import dataclass

from warpgauge.records.counters import HOST_CLOCK
from warpgauge.records.model import Row
from warpgauge.verdict.comparison import Comparison, Outcome, Verdict
from warpgauge.verdict.pairing import Pairing

FAMILY = "host"

# A row with this counter moves memory; so do half of the controls.
_MEMORY = "bytes_per_second"

_STORAGE = "host/file_sync"

# Makes a median absolute deviation the standard deviation of a normal sample, and that of a mean
# the one of a median (Rousseeuw and Croux 1993): one bad process moves neither.
_NORMAL, _MEDIAN = 1.4826, 1.2533


@dataclass(frozen=True)
class Movement:
    """A control between a session and the candidate: log ratios, without sign.

    `seen` is the difference of its medians, `log_ratio` how far it may have moved given its noise.
    """

    name: str
    seen: float
    log_ratio: float


# The control that moved most, by the session it was compared with.
Movements = dict[str, Movement]


@dataclass(frozen=True)
class Controls:
    """The movements of controls that copy memory, and of those that do not."""

    memory: Movements
    calls: Movements

    def of(self, row: Row) -> Movements:
        """The movements that apply to a row of host time: copies to copies, calls to calls."""
        return self.memory if _MEMORY in row.counters else self.calls


NO_CONTROLS = Controls({}, {})


def is_control(one: Row | Verdict) -> bool:
    # A plain Google Benchmark file may call a benchmark of its own so: that one lacks the counter.
    return bool(one.counters.get(HOST_CLOCK)) and one.family == FAMILY


def judged(comparison: Comparison) -> int:
    """How many benchmarks there are, new ones and the host's controls not counted."""
    rest = comparison.count(Outcome.NEW) + sum(map(is_quiet, comparison.verdicts))
    return len(comparison.verdicts) - rest


def is_quiet(verdict: Verdict) -> bool:
    """A control that was measured on both sides; one that failed or is gone is a fault."""
    return is_control(verdict) and verdict.outcome is Outcome.PASS


def controls(pairings: Sequence[Pairing]) -> Controls:
    """The movements of all controls that both sides measured, except the one of storage."""
    found = Controls({}, {})
    for one in pairings:
        if not is_control(one.candidate) or one.candidate.name == _STORAGE:
            continue
        largest = found.of(one.candidate)
        for session in one.references:
            moved, known = _movement(one, session.key), largest.get(session.key)
            if known is None or moved.log_ratio > known.log_ratio:
                largest[session.key] = moved
    return found


def _movement(one: Pairing, session: str) -> Movement:
    """Difference of the medians plus two standard errors of it."""
    sides = one.baseline.process_medians[session], one.candidate.process_medians[one.session.key]
    (base, base_variance), (cand, cand_variance) = map(_median, sides)
    seen = abs(cand - base)
    return Movement(one.candidate.name, seen, seen + 2.0 * math.sqrt(base_variance + cand_variance))


def _median(times: Sequence[float]) -> tuple[float, float]:
    """Of the logs of these, and its variance."""
    logs = [*map(math.log, times)]
    middle = statistics.median(logs)
    deviation = statistics.median(abs(log - middle) for log in logs)
    return middle, (_MEDIAN * _NORMAL * deviation) ** 2 / len(logs)
