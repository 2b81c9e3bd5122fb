# SPDX-License-Identifier: Apache-2.0
"""What the host's own controls say of the machine: how far it moved while the two sides ran.

The family `host` uses no GPU: memory copies, clock reads, thread wake-ups. Where these differ
between the sides, or between the processes of one side, a neighbour on the machine or another
machine did it, and the same happens to every other time that the host's clock takes.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from warpgauge.kinship import MINIMUM_EFFECT, Kin
from warpgauge.model import Clock, Row
from warpgauge.pairing import Pairing

FAMILY = "host"

# A row with this counter moves memory; so do half of the controls.
_MEMORY = "bytes_per_second"


@dataclass(frozen=True)
class Movement:
    """The control that moved most: its slowest process took 1 + `fraction` of its fastest."""

    name: str
    fraction: float


@dataclass(frozen=True)
class Controls:
    """What moved most among the controls that copy memory, and among those that do not."""

    memory: Movement | None = None
    calls: Movement | None = None

    def of(self, row: Row) -> Movement | None:
        """The controls' word on a row of the host's clock: copies by copies, calls by calls."""
        return self.memory if _MEMORY in row.counters else self.calls


def controls(pairings: Sequence[Pairing]) -> Controls:
    """The largest movements of controls over all processes of both sides."""
    mine = [one for one in pairings if _is_control(one)]
    return Controls(
        memory=_largest(one for one in mine if _MEMORY in one.candidate.counters),
        calls=_largest(one for one in mine if _MEMORY not in one.candidate.counters),
    )


def at_least(effect: float, one: Pairing, moved: Controls) -> float:
    """The minimum effect of a pairing, raised to what the host's controls show where it matters.

    A device's time does not depend on the host. Times of the host do, and without controls
    nothing tells a disturbed machine from a quiet one, so that one boot counts as another.
    """
    if one.candidate.clock is not Clock.HOST or one.kin is Kin.UNKNOWN:
        return effect
    control = moved.of(one.candidate)
    if control is None:
        return max(effect, MINIMUM_EFFECT[Clock.HOST, Kin.SAME_GPU])
    return max(effect, control.fraction)


def _is_control(one: Pairing) -> bool:
    return one.candidate.family == FAMILY and one.candidate.clock is Clock.HOST


def _largest(controls: Iterable[Pairing]) -> Movement | None:
    moved = (_movement(one) for one in controls)
    return max(moved, key=lambda one: one.fraction, default=None)


def _movement(one: Pairing) -> Movement:
    times = [*one.candidate.process_medians[one.session.key]]
    for session in one.references:
        times += one.baseline.process_medians[session.key]
    return Movement(one.candidate.name, max(times) / min(times) - 1.0)
