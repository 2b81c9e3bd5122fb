# SPDX-License-Identifier: Apache-2.0
"""Why a benchmark has its verdict: the strongest reasons first, cut to the available room."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from warpgauge.records.counters import RESOURCES
from warpgauge.records.model import Clock
from warpgauge.records.sessions import are_paired
from warpgauge.reports.decision_text import bound_words
from warpgauge.reports.markdown.text import IN_CELL, breakable, prose, unbroken
from warpgauge.system.text import LONGEST_TEXT, cut, inert
from warpgauge.verdict.comparison import (
    SAME_CODE,
    Comparison,
    ContextDifference,
    Outcome,
    ResourceChange,
    Verdict,
)
from warpgauge.verdict.resource_changes import KERNEL

# The characters of an explanation that fit in three lines of its column in a 1000-pixel window.
_OF_A_CHANGE, _OF_AN_OPEN_ROW = 44, 90
_WIDER = 1.4  # the width of a code span's letters relative to plain text


@dataclass(frozen=True)
class Reason:
    """An explanation of a row: our own `words`, and `foreign` text, which is quoted.

    `brief` replaces both if they are too long; without it the foreign text is cut.
    """

    words: str
    foreign: str = ""
    brief: str = ""

    def text(self, room: int) -> tuple[str, int]:
        """Return Markdown, and how many characters of room it takes."""
        shown = inert(self.foreign)
        if self.brief and len(self.words) + _WIDER * len(shown) > room:
            return self.brief, len(self.brief)
        shown = cut(shown, max(int((room - len(self.words)) / _WIDER), IN_CELL))
        told = " ".join(filter(None, (self.words, shown and breakable(shown))))
        return told, len(self.words) + int(_WIDER * len(shown))


Reasons = Callable[[Verdict], Sequence[Reason]]


def brief(reasons: Sequence[Reason], room: int) -> str:
    """Return the `reasons` that fit in `room` characters, at least one, and count the others."""
    told: list[str] = []
    for left, one in zip(reversed(range(len(reasons))), reasons, strict=True):
        ending = f"; {unbroken(f'and {left + 1} more')}"
        space = room - (len(ending) if left else 0)
        text, length = one.text(LONGEST_TEXT if told else space)
        if told and length > space:
            return "; ".join(told) + ending
        told.append(text)
        room -= length + len("; ")
    return "; ".join(told)


def in_cell(verdict: Verdict, reasons: Reasons) -> str:
    """Return the reasons for a cell of at most three lines."""
    open_row = verdict.is_unmeasured
    return brief(reasons(verdict), _OF_AN_OPEN_ROW if open_row else _OF_A_CHANGE)


def in_full(verdict: Verdict, reasons: Reasons) -> str:
    """Return all reasons, uncut."""
    why = reasons(verdict)
    return brief(why, LONGEST_TEXT * (1 + len(why)))


# The resources to name if none differs.
_SHORT = {"registers": "registers", "blocks_per_sm": "occupancy", "kernels": "kernels"}

# Context differences that can change all times, and those that change host times.
_OF_EVERY_TIME = {
    "driver_version": "driver",
    "cuda_driver_version": "the driver's CUDA",
    "runtime_version": "CUDA runtime",
    "cublas_version": "cuBLAS",
    "nccl_version": "NCCL",
    "nccl_environment": "NCCL's environment",
    "nvcc_version": "nvcc",
    "flags": "compiler flags",
    "library_build_type": "build of the library",
    "ecc": "ECC",
    "power_limit_watts": "power limit",
    "sm_clock_target_hz": "SM clock",
    "max_sm_clock_hz": "highest SM clock",
    "peer_link": "link between GPUs",
}
_OF_HOST_TIME = {
    "host_compiler": "host compiler",
    "library_version": "Google Benchmark",
    "cpu_model": "CPU",
    "kernel_release": "Linux",
    "host_name": "host",
    "mhz_per_cpu": "MHz of the CPU",
    "num_cpus": "number of CPUs",
    "cpu_scaling_enabled": "CPU scaling",
}

# Resources by how well they explain a change of time: a spill before the registers it saved.
_TELLING = (
    "local_bytes", KERNEL, "kernels", "registers", "blocks_per_sm", "shared_bytes",
    "peak_device_bytes",
)  # fmt: skip
_AMOUNT = re.compile(r"\d[\d.]*(?:e[+-]?\d+)?(?: [kMGTP]?B| bytes)?")


_SAME_CODE = Reason(SAME_CODE, brief="the same machine code")


def reasons_of(comparison: Comparison) -> Reasons:
    """Return a function that lists a row's reasons, the strongest first; empty if unknown.

    What all verdicts share is computed once.
    """
    paired = are_paired(comparison.baseline, comparison.candidate)
    around = {clock: _environment(comparison.differences, clock) for clock in Clock}

    def reasons(verdict: Verdict) -> list[Reason]:
        # A confirmation runs the base again on the candidate's machine, in the same environment.
        confirmed = verdict.in_pairs and not paired
        causes = _causes(verdict, () if confirmed else around[verdict.clock])
        bound = bound_words(verdict) if verdict.outcome is Outcome.INCONCLUSIVE else ""
        told = [Reason("", text) for text in (verdict.accepted, verdict.reason) if text]
        # The reason for accepting a change precedes the causes of the slowdown.
        both = [*told, *causes] if verdict.is_accepted else [*causes, *told]
        return [Reason(bound), *both] if bound else both

    return reasons


def _causes(verdict: Verdict, around: Sequence[Reason]) -> list[Reason]:
    if not verdict.is_changed and not verdict.accepted:
        return []
    slower = verdict.change is None or verdict.change.ratio > 0.0

    def weight(one: ResourceChange) -> tuple[bool, int]:
        explains = one.key == KERNEL or one.worse is slower
        return not explains, _TELLING.index(one.key) if one.key in _TELLING else len(_TELLING)

    code = [_SAME_CODE] if verdict.same_machine_code else []
    if verdict.resources:
        return [*map(_resource, sorted(verdict.resources, key=weight)), *code]
    if not verdict.is_changed:
        return []
    if code:
        return [*around, *code]
    # Resources that both sides state with equal values.
    alike = dict(verdict.baseline_counters.items() & verdict.counters.items())
    words = [word for key, word in _SHORT.items() if key in alike]
    same = "same " + (", ".join(words) if len(words) < len(_SHORT) else "resources")
    seen = Reason(same if around else f"none seen ({same})", brief="none seen")
    return [*around, *([seen] if words else [])]


def _resource(one: ResourceChange) -> Reason:
    words = {**RESOURCES, KERNEL: KERNEL}.get(one.key)
    if words is None:
        return Reason("", str(one))
    if all(map(_AMOUNT.fullmatch, (one.before, one.after))):
        return Reason(f"{words} {prose(f'{one.before} → {one.after}')}", brief=words)
    return _pair(words, one.before, one.after)


def _environment(differences: Sequence[ContextDifference], clock: Clock) -> list[Reason]:
    """Return the differences of the environment that can change times of this clock."""
    words = {**_OF_EVERY_TIME, **(_OF_HOST_TIME if clock is Clock.HOST else {})}
    return [
        _pair(f"perhaps {words[one.key]}", one.baseline, one.candidate)
        for one in differences
        if one.key in words
    ]


def _pair(words: str, before: str, after: str) -> Reason:
    return Reason(words, f"{before} → {after}", brief=f"{words} changed")
