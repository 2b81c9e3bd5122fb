# SPDX-License-Identifier: Apache-2.0
"""What two contexts forbid, and what they merely say differently."""

from __future__ import annotations

from collections.abc import Iterable

from warpgauge.comparison import ContextDifference
from warpgauge.model import Clock, Record, Session, Source
from warpgauge.text import quoted

# What may explain a change, in the order it is shown in; it is told, not judged.
TOLD_KEYS = (
    "driver_version",
    "cuda_driver_version",
    "runtime_version",
    "cublas_version",
    "nvcc_version",
    "host_compiler",
    "flags",
    "library_version",
    "library_build_type",
    "cpu_model",
    "kernel_release",
    "num_cpus",
    "cpu_scaling_enabled",
    "ecc",
    "power_limit_watts",
    "sm_clock_target_hz",
    "max_sm_clock_hz",
    "processes",
    "commit",
    "dirty",
)

# Numbers that binaries and nvidia-smi write with different digits, and the key of such a number in
# older baselines.
_NUMBERS = frozenset(("power_limit_watts", "sm_clock_target_hz"))
_FORMER_KEYS = {"power_limit_watts": "power_limit_w"}

# SM clocks come in steps of 15 MHz, which is 0.76 % of 1.98 GHz: more than this is another setting.
_SAME_CLOCK = 0.005


def refusal(baseline: Record, candidate: Record) -> str | None:
    """Why nothing of these two may be compared, as a sentence, or None."""
    return _other_gpu(baseline, candidate) or _unfit(baseline, candidate)


def same_model(baseline: Record, candidate: Session) -> list[Session]:
    """The baseline's sessions on the candidate's GPU model.

    A plain file may leave its GPU unsaid, and then meets every session.
    """
    return [
        session
        for session in baseline.sessions.values()
        if session.gpu_name == candidate.gpu_name
        or (session.gpu_name is None and baseline.source is Source.GOOGLE_BENCHMARK)
        or (candidate.gpu_name is None and "warpgauge_format" not in candidate.context)
    ]


def same_clock(reference: Session, candidate: Session, clock: Clock) -> bool:
    """Whether times of `clock` were taken at one SM clock; so they were where a side is silent."""
    one, other = reference.sm_clock_target_hz, candidate.sm_clock_target_hz
    if clock is not Clock.DEVICE or one is None or other is None:
        return True
    return abs(one - other) <= _SAME_CLOCK * max(one, other)


def _other_gpu(baseline: Record, candidate: Record) -> str | None:
    for session in candidate.sessions.values():
        if not same_model(baseline, session):
            models = _listed({_gpu(one) for one in baseline.sessions.values()})
            return (
                f"The candidate was measured on {_gpu(session)} and the baseline on {models}; "
                "times of different GPU models say nothing about the code."
            )
    return None


def _unfit(baseline: Record, candidate: Record) -> str | None:
    for side, record in (("baseline", baseline), ("candidate", candidate)):
        for session in record.sessions.values():
            build = session.context.get("build_type")
            if build is None and record.source is not Source.GOOGLE_BENCHMARK:
                return f"The {side} does not say how it was built; only Release counts."
            if build not in (None, "Release"):
                return f"The {side} is a build of type {quoted(build)}; only Release counts."
            if side == "baseline" and session.context.get("inject"):
                return (
                    "The baseline was measured with injected extra work "
                    f"({session.context['inject']}); record it again without."
                )
    return None


def _gpu(session: Session) -> str:
    return session.gpu_name or "no GPU"


def _listed(words: Iterable[str]) -> str:
    return " and ".join(sorted(words))


def differences(reference: Session, candidate: Session) -> tuple[ContextDifference, ...]:
    """Keys that both sides give and give differently."""
    found = []
    for key in TOLD_KEYS:
        before, after = _value(reference, key), _value(candidate, key)
        if before is not None and after is not None and not _same(key, before, after):
            found.append(ContextDifference(key, before, after))
    return tuple(found)


def _value(session: Session, key: str) -> str | None:
    return session.context.get(key, session.context.get(_FORMER_KEYS.get(key, "")))


def _same(key: str, one: str, other: str) -> bool:
    if key in _NUMBERS:
        try:
            return float(one) == float(other)
        except ValueError:
            pass
    return one == other
