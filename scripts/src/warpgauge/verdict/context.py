# SPDX-License-Identifier: Apache-2.0
"""What two contexts forbid, what makes a smaller change no news, and what is merely told."""

from __future__ import annotations

import contextlib
from collections.abc import Collection, Iterable

from warpgauge.records.model import Clock, Record, Session, Source
from warpgauge.system.text import inert, quoted
from warpgauge.verdict.comparison import ContextDifference
from warpgauge.verdict.override import Incompatibility, Override, reason, standing

# What moves times by itself, so that two sessions of one GPU are less near when it differs.
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

# What may explain a change, in the order it is shown in.
TOLD_KEYS = (
    *(PROGRAMS, *_SOFTWARE, "cublas_version", "nvcc_version"),
    *"host_compiler flags library_version library_build_type cpu_model kernel_release".split(),
    *"num_cpus cpu_scaling_enabled ecc power_limit_watts sm_clock_target_hz".split(),
    *"max_sm_clock_hz processes commit dirty".split(),
)

# Numbers that binaries and nvidia-smi write with different digits.
_NUMBERS = frozenset(("power_limit_watts", "sm_clock_target_hz"))

# SM clocks come in steps of 15 MHz, which is 0.76 % of 1.98 GHz: more than this is another setting.
_SAME_CLOCK = 0.005


def refusal(baseline: Record, candidate: Record, allow: Collection[Override] = ()) -> str | None:
    """Why nothing of these two may be compared, as a sentence, or None."""
    if not (found := standing(objections(baseline, candidate), allow)):
        return None
    sentence = reason(found)
    return f"{sentence[0].upper()}{sentence[1:]}."


def objections(baseline: Record, candidate: Record) -> tuple[Incompatibility, ...]:
    """What forbids every comparison of these two, allowed or not; one for each allowance."""
    found = (*_other_gpu(baseline, candidate), *_unfit(baseline, candidate))
    first = {one.allowance: one for one in reversed(found)}
    return tuple(one for one in found if first[one.allowance] is one)


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
    reference: Session, candidate: Session, keys: Iterable[str] = TOLD_KEYS
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
