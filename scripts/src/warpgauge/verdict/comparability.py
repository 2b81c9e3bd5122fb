# SPDX-License-Identifier: Apache-2.0
"""Whether two sides may be compared, what they share, and the smallest change that counts then."""

from __future__ import annotations

import contextlib
from collections.abc import Collection, Iterable
from enum import IntEnum

from warpgauge.records.model import Clock, Record, Session, Source
from warpgauge.system.text import inert, quoted
from warpgauge.verdict.comparison import ContextDifference
from warpgauge.verdict.override import Incompatibility, Override, reason, unwaived

# Software that changes times by itself: where it differs, sessions are less comparable.
_SOFTWARE = ("driver_version", "cuda_driver_version", "runtime_version")
WIDENING_KEYS = {
    Clock.DEVICE: _SOFTWARE,
    Clock.HOST: (*_SOFTWARE, "cpu_model", "num_cpus", "kernel_release"),
}

# The folder of another project's programs (`warpgauge ab`), which need not say how they were built.
PROGRAMS = "programs"

# The build folder of another project, and where its baselines lie (scripts/bench --build-dir).
BUILD_DIR, BASELINES = "build_dir", "baselines"
# Kernels from elsewhere: the manifest of scripts/bench --kernels, whose baselines lie there, too.
MANIFEST = "manifest"

# Differences that may explain a change, in the order shown.
TOLD_KEYS = (
    *(PROGRAMS, *_SOFTWARE, "cublas_version", "nccl_version", "nccl_environment", "nvcc_version"),
    *"host_compiler flags library_version library_build_type cpu_model kernel_release".split(),
    *"num_cpus cpu_scaling_enabled ecc power_limit_watts sm_clock_target_hz".split(),
    *"max_sm_clock_hz peer_link processes commit dirty".split(),
)
# And of two plain files, which do not name the CPU. A container has another name at each start.
TOLD_OF_PLAIN_FILES = ("host_name", "mhz_per_cpu", *TOLD_KEYS)

# Numbers that binaries and nvidia-smi write with different digits.
_NUMBERS = frozenset(("power_limit_watts", "sm_clock_target_hz"))

# SM clocks come in steps of 15 MHz, which is 0.76 % of 1.98 GHz: more than this is another setting.
_SAME_CLOCK = 0.005


class Comparability(IntEnum):
    """What two sessions share, from most to least."""

    SAME_BOOT = 0
    SAME_GPU = 1
    OTHER_SYSTEM = 2  # the GPU, with something else of WIDENING_KEYS around it
    SIBLING = 3
    OTHER_MODEL = 4
    PLAIN_PROCESSES = 5  # unknown; but both sides are several plain files, a process each
    UNKNOWN = 6


# The minimum effect on device and on host time: a smaller measured change is not reported, however
# significant. It is half of the change that must be found where noise allows it (a true 1 %
# measures less than 1 % every other time), or the usual difference of two such sessions.
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
    # Another GPU model, compared because --allow says so. Assumed: how far models differ
    # without a cause is unknown. Host times are those of another machine.
    Comparability.OTHER_MODEL: (0.10, 0.20),
    # Several plain files a side show how far processes scatter, but not on which boot they ran.
    # Half of the 10 % that must be found.
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


def comparability_of(reference: Session, candidate: Session, clock: Clock) -> Comparability:
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
    """The differences that make two sessions of one GPU less comparable."""
    return differences(reference, candidate, WIDENING_KEYS[clock])


def references(
    sessions: Iterable[Session], candidate: Session, clock: Clock
) -> tuple[list[Session], Comparability]:
    """The sessions that are most comparable with `candidate`, and how comparable they are."""
    near = [(comparability_of(session, candidate, clock), session) for session in sessions]
    nearest = min((comparability for comparability, _ in near), default=Comparability.UNKNOWN)
    return [session for comparability, session in near if comparability is nearest], nearest


def refusal(baseline: Record, candidate: Record, allow: Collection[Override] = ()) -> str | None:
    """Why nothing of these two may be compared, as a sentence, or None."""
    if not (found := unwaived(incompatibilities(baseline, candidate), allow)):
        return None
    sentence = reason(found)
    return f"{sentence[0].upper()}{sentence[1:]}."


def incompatibilities(baseline: Record, candidate: Record) -> tuple[Incompatibility, ...]:
    """What forbids every comparison of these two, allowed or not; one for each override."""
    found = (*_other_gpu(baseline, candidate), *_unfit(baseline, candidate))
    first = {one.override: one for one in reversed(found)}
    return tuple(one for one in found if first[one.override] is one)


def same_model(baseline: Record, candidate: Session) -> list[Session]:
    """The baseline's sessions on the candidate's GPU model.

    A plain file that does not name its GPU matches every session.
    """
    return [
        session
        for session in baseline.sessions.values()
        if session.gpu_name == candidate.gpu_name
        or (session.gpu_name is None and baseline.source is Source.GOOGLE_BENCHMARK)
        or (candidate.gpu_name is None and "warpgauge_format" not in candidate.context)
    ]


def same_clock(reference: Session, candidate: Session, clock: Clock) -> bool:
    """Whether times of `clock` were taken at one SM clock, as far as both sides name theirs."""
    one, other = reference.sm_clock_target_hz, candidate.sm_clock_target_hz
    if clock is not Clock.DEVICE or one is None or other is None:
        return True
    return abs(one - other) <= _SAME_CLOCK * max(one, other)


def _other_gpu(baseline: Record, candidate: Record) -> list[Incompatibility]:
    models = {inert(one.gpu_name or "no GPU") for one in baseline.sessions.values()}
    foreign = (one for one in candidate.sessions.values() if not same_model(baseline, one))
    return [
        Incompatibility(
            Override.GPU_MODEL,
            f"the candidate was measured on {inert(session.gpu_name or 'no GPU')} and the baseline "
            f"on {' and '.join(sorted(models))}",
            ", and times of different GPU models say nothing about the code",
        )
        for session in foreign
    ]


def _unfit(baseline: Record, candidate: Record) -> list[Incompatibility]:
    found = []
    for side, record in (("baseline", baseline), ("candidate", candidate)):
        for session in record.sessions.values():
            build = session.context.get("build_type")
            ours = record.source is not Source.GOOGLE_BENCHMARK and PROGRAMS not in session.context
            if build is None and ours:
                fact = f"the {side} does not say how it was built"
            elif build not in (None, "Release"):
                fact = f"the {side} is a build of type {quoted(build)}"
            else:
                continue
            found.append(Incompatibility(Override.BUILD_TYPE, fact, ", and only Release counts"))
    for session in baseline.sessions.values():
        if work := session.context.get("inject"):
            fact = f"the baseline was measured with injected extra work ({inert(work)})"
            found.append(Incompatibility(Override.INJECTION, fact, "; record it again without"))
    return found


def differences(
    reference: Session, candidate: Session, keys: Iterable[str]
) -> tuple[ContextDifference, ...]:
    """Those of `keys` that both sides give and give differently."""
    before, after = reference.context, candidate.context
    return tuple(
        ContextDifference(key, before[key], after[key])
        for key in keys
        if key in before and key in after and not _same(key, before[key], after[key])
    )


def _same(key: str, before: str, after: str) -> bool:
    if key in _NUMBERS:
        with contextlib.suppress(ValueError):
            return float(before) == float(after)
    return before == after
