# SPDX-License-Identifier: Apache-2.0
"""What likely made a change, in words: what differs, or that nothing which could be seen does."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType

from warpgauge.records.model import Clock
from warpgauge.records.sessions import are_paired
from warpgauge.verdict.comparison import Comparison, ContextDifference, Evidence, Outcome, Verdict

# What a person asks first where nothing differs, each in a word.
_SHORT: Mapping[str, str] = MappingProxyType(
    {"registers": "registers", "blocks_per_sm": "occupancy", "kernels": "kernels"}
)

# Of the contexts' differences, in words, those that move times by themselves, and those that move
# the host's alone.
_OF_EVERY_TIME: Mapping[str, str] = MappingProxyType(
    {
        "driver_version": "driver",
        "cuda_driver_version": "the driver's CUDA",
        "runtime_version": "CUDA runtime",
        "cublas_version": "cuBLAS",
        "nvcc_version": "nvcc",
        "flags": "compiler flags",
        "library_build_type": "build of the library",
        "ecc": "ECC",
        "power_limit_watts": "power limit",
        "sm_clock_target_hz": "SM clock",
        "max_sm_clock_hz": "highest SM clock",
    }
)
_OF_HOST_TIME: Mapping[str, str] = MappingProxyType(
    {
        "host_compiler": "host compiler",
        "library_version": "Google Benchmark",
        "cpu_model": "CPU",
        "kernel_release": "Linux",
        "num_cpus": "number of CPUs",
        "cpu_scaling_enabled": "CPU scaling",
    }
)

# More would not be read here; all of it stands in a table of its own.
_DIFFERENCES_TOLD = 2
_LONGEST_VALUE = 24

_CHANGED = (Outcome.REGRESSION, Outcome.IMPROVED)


def likely_causes(comparison: Comparison) -> Callable[[Verdict], str]:
    """``registers 40 → 72``, ``none seen: registers, kernels unchanged``; empty if none is known.

    Foreign text in it is not yet inert. What is the same for all verdicts is looked for once.
    """
    paired = are_paired(comparison.baseline, comparison.candidate)
    around = {clock: _environment(comparison.differences, clock) for clock in Clock}

    def cause(verdict: Verdict) -> str:
        # Of what was confirmed later, the base ran again on the candidate's own machine.
        confirmed = verdict.evidence is Evidence.PAIRED and not paired
        return _cause(verdict, "" if confirmed else around[verdict.clock])

    return cause


def _cause(verdict: Verdict, around: str) -> str:
    if verdict.outcome not in _CHANGED:
        return "; ".join(verdict.causes)
    if verdict.causes:
        return "; ".join(verdict.causes)
    unchanged = _unchanged(verdict)
    seen = f"none seen: {unchanged} unchanged" if unchanged else ""
    return "; ".join(filter(None, (seen, around and f"perhaps {around}")))


def _unchanged(verdict: Verdict) -> str:
    """Of what an operation takes: what both sides tell, and tell alike."""
    before, after = verdict.baseline_counters, verdict.counters
    return ", ".join(
        word
        for key, word in _SHORT.items()
        if key in before and key in after and before[key] == after[key]
    )


def _environment(differences: Sequence[ContextDifference], clock: Clock) -> str:
    """What else differs between two times of this clock."""
    words = {**_OF_EVERY_TIME, **(_OF_HOST_TIME if clock is Clock.HOST else {})}
    found = [one for one in differences if one.key in words]
    told = [_told(words[one.key], one) for one in found[:_DIFFERENCES_TOLD]]
    more = len(found) - len(told)
    return _listed([*told, f"{more} more"] if more else told)


def _told(word: str, one: ContextDifference) -> str:
    """``driver 575.57 → 580.65``; that it is another one where the values are long."""
    if max(len(one.baseline), len(one.candidate)) > _LONGEST_VALUE:
        return f"other {word}" if word.endswith("s") else f"another {word}"
    return f"{word} {one.baseline} → {one.candidate}"


def _listed(words: Sequence[str]) -> str:
    return " and ".join(filter(None, (", ".join(words[:-1]), *words[-1:])))
