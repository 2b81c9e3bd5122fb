# SPDX-License-Identifier: Apache-2.0
"""What two contexts forbid, and what they merely say differently."""

from __future__ import annotations

from collections.abc import Iterable

from warpgauge.comparison import ContextDifference
from warpgauge.model import Record, Session, Source
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
    "power_limit_w",
    "max_sm_clock_hz",
    "processes",
    "commit",
    "dirty",
)


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
    return tuple(
        ContextDifference(key, reference.context[key], candidate.context[key])
        for key in TOLD_KEYS
        if key in reference.context
        and key in candidate.context
        and reference.context[key] != candidate.context[key]
    )
