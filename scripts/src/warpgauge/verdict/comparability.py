# SPDX-License-Identifier: Apache-2.0
"""How comparable two sessions are, and which smallest change then counts."""

from __future__ import annotations

import contextlib
from collections.abc import Iterable
from enum import IntEnum

from warpgauge.records.counters import KERNELS, SM_CLOCK, Clock, Counters
from warpgauge.records.model import PROGRAMS, Session
from warpgauge.system.text import quantity
from warpgauge.verdict.comparison import ContextDifference

# Software that by itself changes times. Sessions that differ in it are less comparable.
_SOFTWARE = ("driver_version", "cuda_driver_version", "runtime_version")
WIDENING_KEYS = {
    Clock.DEVICE: _SOFTWARE,
    Clock.HOST: (*_SOFTWARE, "cpu_model", "num_cpus", "kernel_release"),
}

# Differences that may explain a change, in the order in which they are shown; the environment's can
# do so without a change of the source.
ENVIRONMENT_KEYS = (
    *(*_SOFTWARE, "cublas_version", "nccl_version", "nccl_environment", "nvcc_version"),
    *"host_compiler flags library_version library_build_type cpu_model kernel_release".split(),
    *"num_cpus cpu_scaling_enabled ecc power_limit_watts sm_clock_target_hz".split(),
    *("max_sm_clock_hz", "peer_link"),
)
OF_HOST_TIME = (  # explains no device time
    "host_compiler", "library_version", "cpu_model", "kernel_release", "host_name", "mhz_per_cpu",
    "num_cpus", "cpu_scaling_enabled",
)  # fmt: skip
TOLD_KEYS = (PROGRAMS, *ENVIRONMENT_KEYS, "processes", "commit", "dirty")
# Keys for two plain files, which do not name the CPU. Containers change host_name at each start.
TOLD_OF_PLAIN_FILES = ("host_name", "mhz_per_cpu", *TOLD_KEYS)

# Numbers that binaries and nvidia-smi write with different digits.
_NUMBERS = frozenset(("power_limit_watts", "sm_clock_target_hz"))

# SM clocks come in steps of 15 MHz, 0.76 % of 1.98 GHz. A larger difference is another setting.
_SAME_CLOCK = 0.005


class Comparability(IntEnum):
    """What two sessions share, from most to least."""

    SAME_BOOT = 0
    SAME_GPU = 1
    OTHER_SYSTEM = 2  # the same GPU, but one of WIDENING_KEYS differs
    SIBLING = 3
    OTHER_MODEL = 4
    PLAIN_PROCESSES = 5  # unknown, but each side is several plain files, one process each
    UNKNOWN = 6


# The minimum effect on device and on host time, as fractions measured on H200s. A smaller measured
# change is not reported, however significant. The effect is half of the change that must be found
# where noise allows it (a true 1 % measures below 1 % half of the time), or the usual difference of
# two such sessions.
_EFFECTS = {
    # One GPU repeats to 0.01 to 0.3 % from process to process, also across boots. Host-side costs
    # repeat to 0.4 to 1.6 % on an undisturbed machine.
    Comparability.SAME_BOOT: (0.005, 0.03),
    # Pageable copies differ by up to 16 % from one boot of the machine to the next.
    Comparability.SAME_GPU: (0.005, 0.20),
    # Another driver or CUDA runtime changes times by itself: its overhead per kernel and its
    # placement of memory differ. Assumed, not measured: the machines at hand have one of each.
    Comparability.OTHER_SYSTEM: (0.01, 0.20),
    # Nine GPUs of one model differ by up to 6 %, each benchmark by its own amount, and in three of
    # four benchmarks by at most 2.1 %. A typical pair differs by less.
    Comparability.SIBLING: (0.03, 0.20),
    # Another GPU model, allowed by --allow. Assumed: it is unknown how much models differ
    # without a cause. Host times come from another machine.
    Comparability.OTHER_MODEL: (0.10, 0.20),
    # Several plain files per side show the scatter between processes, but not the boot.
    # Half of the 10 % that must be found.
    Comparability.PLAIN_PROCESSES: (0.05, 0.05),
    # A plain file is one process of unknown origin. Its repetitions do not show how the next
    # process would differ, and event-timed processes alone differ by 2 to 8 %.
    Comparability.UNKNOWN: (0.10, 0.10),
}
MINIMUM_EFFECT = {
    (clock, nearness): effect
    for nearness, effects in _EFFECTS.items()
    for clock, effect in zip((Clock.DEVICE, Clock.HOST), effects, strict=True)
}

# The largest slowdown of a PASS, unless a policy sets another.
TOLERANCE = {Clock.DEVICE: 0.01, Clock.HOST: 0.03}

# Siblings also differ by a fixed latency of each kernel or copy: the multiprocessors and memory
# channels that are enabled decide how far a launch or a load travels. Where it exceeds 3 %, H200s
# differ by up to 216 ns a kernel (reads of 16 MiB), and by 1.6 us (97 ns a kernel) in a chain of
# sixteen. Seconds of device time.
SIBLING_LATENCY = 0.25e-6


def minimum_effect(
    clock: Clock, nearness: Comparability, seconds: float, counters: Counters
) -> float:
    """Return the minimum effect, a fraction, for a benchmark that takes `seconds`.

    `counters` are the row's. An operation without kernels, or of unknown ones, counts as one.
    """
    effect = MINIMUM_EFFECT[clock, nearness]
    if clock is Clock.DEVICE and nearness is Comparability.SIBLING:
        return max(effect, SIBLING_LATENCY * max(1.0, counters.get(KERNELS, 1.0)) / seconds)
    return effect


def comparability_of(reference: Session, candidate: Session, clock: Clock) -> Comparability:
    """Return what two sessions share, for times of `clock`. Neither session needs a GPU."""
    if reference.gpu_name != candidate.gpu_name:
        return Comparability.OTHER_MODEL
    if reference.gpu_uuid != candidate.gpu_uuid:
        return Comparability.SIBLING
    boot = reference.boot_id is not None and reference.boot_id == candidate.boot_id
    if not boot and reference.gpu_uuid is None:
        # Without a GPU, only the boot can identify the machine.
        return Comparability.SIBLING
    if widened(reference, candidate, clock):
        return Comparability.OTHER_SYSTEM
    return Comparability.SAME_BOOT if boot else Comparability.SAME_GPU


def widened(reference: Session, candidate: Session, clock: Clock) -> tuple[ContextDifference, ...]:
    """Return the differences that make two sessions of one GPU less comparable."""
    return differences(reference, candidate, WIDENING_KEYS[clock])


def references(
    sessions: Iterable[Session], candidate: Session, clock: Clock
) -> tuple[list[Session], Comparability]:
    """Return the sessions most comparable with `candidate`, and how comparable they are."""
    near = [(comparability_of(session, candidate, clock), session) for session in sessions]
    nearest = min((comparability for comparability, _ in near), default=Comparability.UNKNOWN)
    return [session for comparability, session in near if comparability is nearest], nearest


def same_clock(reference: Session, candidate: Session, clock: Clock) -> bool:
    """Return whether both sides timed at the same SM clock; an unknown clock counts as the same."""
    one, other = reference.sm_clock_target_hz, candidate.sm_clock_target_hz
    if clock is not Clock.DEVICE or one is None or other is None:
        return True
    return abs(one - other) <= _SAME_CLOCK * max(one, other)


def differences(
    reference: Session, candidate: Session, keys: Iterable[str]
) -> tuple[ContextDifference, ...]:
    """Return the differences in those of `keys` that both sides state."""
    before, after = reference.context, candidate.context
    return tuple(
        ContextDifference(key, before[key], after[key])
        for key in keys
        if key in before and key in after and not _same(key, before[key], after[key])
    )


def of_environment(
    reference: Session, candidate: Session, clock: Clock, counters: tuple[Counters, Counters]
) -> tuple[ContextDifference, ...]:
    """Return what may explain two times of one source; the rows' `counters` have their SM clock."""
    of_other = () if clock is Clock.HOST else OF_HOST_TIME
    keys = [key for key in ("gpu_uuid", *ENVIRONMENT_KEYS) if key not in of_other]
    clocks = [side.get(SM_CLOCK, 0.0) for side in counters]
    as_ran = ContextDifference("SM clock", *(quantity(hertz, "Hz") for hertz in clocks))
    differ = all(clocks) and abs(clocks[0] - clocks[1]) > _SAME_CLOCK * max(clocks)
    others = differences(reference, candidate, keys)
    return (as_ran, *others) if differ else others


def _same(key: str, before: str, after: str) -> bool:
    if key in _NUMBERS:
        with contextlib.suppress(ValueError):
            return float(before) == float(after)
    return before == after
