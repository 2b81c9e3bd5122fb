# SPDX-License-Identifier: Apache-2.0
"""The host's controls: how far the machine itself differed between the two sides.

The family `host` uses no GPU: memory copies, clock reads, thread wake-ups. If these differ between
the sides, a neighbour or another machine is the cause, and it affects all host times alike. The
family's file sync waits for storage, which nothing else does, so it says nothing about the others.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from warpgauge.verdict.comparison import Comparison, Outcome, Verdict
from warpgauge.verdict.pairing import Pairing

if TYPE_CHECKING:
    from warpgauge.records.row import Row

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


NO_CONTROLS = Controls({}, {})


def judged(comparison: Comparison) -> int:
    """Return how many benchmarks were judged: not new or skipped ones, nor the host's controls."""
    rest = comparison.count(Outcome.NEW, Outcome.SKIPPED) + sum(map(is_quiet, comparison.verdicts))
    return len(comparison.verdicts) - rest


def is_quiet(verdict: Verdict) -> bool:
    """Return whether both sides measured this control; a failed or missing control is a fault."""
    return verdict.control and verdict.outcome is Outcome.PASS


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
