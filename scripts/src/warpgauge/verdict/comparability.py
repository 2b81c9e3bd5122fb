# SPDX-License-Identifier: Apache-2.0
"""How near a reference lies to what it is compared with, and the change that counts from there."""

from __future__ import annotations

from collections.abc import Iterable
from enum import IntEnum

from warpgauge.records.model import Clock, Session
from warpgauge.verdict import context
from warpgauge.verdict.comparison import ContextDifference


class Comparability(IntEnum):
    """What two sessions share, nearest first."""

    SAME_BOOT = 0
    SAME_GPU = 1
    OTHER_SYSTEM = 2  # the GPU, with something else of context.WIDENING_KEYS around it
    SIBLING = 3
    OTHER_MODEL = 4
    PLAIN_PROCESSES = 5  # nobody says; but both sides are several plain files, a process each
    UNKNOWN = 6


# The minimum effect on device and on host time: a change that measures less fails nobody, however
# significant it is. Half of the change that is to be found where noise allows it (a true 1 %
# measures less than 1 % every other time), or what moves between two such sessions without a cause.
# Fractions, measured on H200s.
_EFFECTS = {
    # One GPU repeats to 0.01 to 0.3 % from process to process, over boots too; a host-side cost to
    # 0.4 to 1.6 % on an undisturbed machine.
    Comparability.SAME_BOOT: (0.005, 0.03),
    # One boot of the machine moves pageable copies by up to 16 % against the next.
    Comparability.SAME_GPU: (0.005, 0.20),
    # Another driver or CUDA runtime moves times by itself, in what it adds to a kernel and where it
    # places memory. Assumed, not measured: the machines at hand have one of each.
    Comparability.OTHER_SYSTEM: (0.01, 0.20),
    # Six GPUs of one model differ by up to 2.3 %, each benchmark by its own amount; by 4.1 % in
    # products of tensor cores, whose clock follows their power. A typical pair differs by less.
    Comparability.SIBLING: (0.03, 0.20),
    # Another GPU model, compared because --allow says so: assumed, for how far two models differ
    # without a cause nobody can tell. Host times are those of another machine.
    Comparability.OTHER_MODEL: (0.10, 0.20),
    # Several plain files a side show how far processes lie apart; on which boot they ran nobody
    # says. Half of the 10 % that is to be found.
    Comparability.PLAIN_PROCESSES: (0.05, 0.05),
    # A plain file is one process of unknown origin: repetitions within it prove nothing about the
    # next, and event-timed processes alone differ by 2 to 8 %.
    Comparability.UNKNOWN: (0.10, 0.10),
}
MINIMUM_EFFECT = {
    (clock, nearness): effect
    for nearness, effects in _EFFECTS.items()
    for clock, effect in zip((Clock.DEVICE, Clock.HOST), effects, strict=True)
}

# A PASS is slower by no more than this, unless a policy says otherwise.
TOLERANCE = {Clock.DEVICE: 0.01, Clock.HOST: 0.03}

# Siblings also differ by a fixed latency: which multiprocessors and memory channels a GPU has left
# decides how far a launch or a small copy travels. H200s differ by 31 ns in an empty kernel and by
# up to 175 ns in small copies, which are 6 % and 5 % of them. Seconds of device time.
SIBLING_LATENCY = 0.15e-6


def minimum_effect(clock: Clock, nearness: Comparability, seconds: float) -> float:
    """The minimum effect for a benchmark that takes `seconds`."""
    effect = MINIMUM_EFFECT[clock, nearness]
    if clock is Clock.DEVICE and nearness is Comparability.SIBLING:
        return max(effect, SIBLING_LATENCY / seconds)
    return effect


def kin(reference: Session, candidate: Session, clock: Clock) -> Comparability:
    """What two sessions share, for times of `clock`: on GPUs or on two machines without one."""
    if reference.gpu_name != candidate.gpu_name:
        return Comparability.OTHER_MODEL
    if reference.gpu_uuid != candidate.gpu_uuid:
        return Comparability.SIBLING
    boot = reference.boot_id is not None and reference.boot_id == candidate.boot_id
    if not boot and reference.gpu_uuid is None:
        # Without a GPU to tell machines apart, only the boot can say that this is the same one.
        return Comparability.SIBLING
    if widened(reference, candidate, clock):
        return Comparability.OTHER_SYSTEM
    return Comparability.SAME_BOOT if boot else Comparability.SAME_GPU


def widened(reference: Session, candidate: Session, clock: Clock) -> tuple[ContextDifference, ...]:
    """What makes two sessions of one GPU less near; nothing where a side is silent."""
    return context.differences(reference, candidate, context.WIDENING_KEYS[clock])


def references(
    sessions: Iterable[Session], candidate: Session, clock: Clock
) -> tuple[list[Session], Comparability]:
    """The sessions nearest to `candidate`, which is judged by them, and how near they are."""
    near = [(kin(session, candidate, clock), session) for session in sessions]
    nearest = min((comparability for comparability, _ in near), default=Comparability.UNKNOWN)
    return [session for comparability, session in near if comparability is nearest], nearest
