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
from warpgauge.model import Clock
from warpgauge.pairing import Pairing

FAMILY = "host"


@dataclass(frozen=True)
class Movement:
    """The control that moved most: its slowest process took 1 + `fraction` of its fastest."""

    name: str
    fraction: float


def movement(pairings: Sequence[Pairing]) -> Movement | None:
    """The largest movement of a control over all processes of both sides; None without controls."""
    moved = [_movement(one) for one in pairings if _is_control(one)]
    return max(moved, key=lambda one: one.fraction, default=None)


def at_least(effect: float, one: Pairing, moved: Movement | None) -> float:
    """The minimum effect of a pairing, raised to what the host's controls show where it matters.

    A device's time does not depend on the host. Times of the host do, and without controls
    nothing tells a disturbed machine from a quiet one, so that one boot counts as another.
    """
    if one.candidate.clock is not Clock.HOST or one.kin is Kin.UNKNOWN:
        return effect
    if moved is None:
        return max(effect, MINIMUM_EFFECT[Clock.HOST, Kin.SAME_GPU])
    return max(effect, moved.fraction)


def _is_control(one: Pairing) -> bool:
    return one.candidate.family == FAMILY and one.candidate.clock is Clock.HOST


def _movement(one: Pairing) -> Movement:
    times = [*one.candidate.process_medians[one.session.key], *_times_of_references(one)]
    return Movement(one.candidate.name, max(times) / min(times) - 1.0)


def _times_of_references(one: Pairing) -> Iterable[float]:
    for session in one.references:
        yield from one.baseline.process_medians[session.key]
