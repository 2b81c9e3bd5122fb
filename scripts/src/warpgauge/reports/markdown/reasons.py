# SPDX-License-Identifier: Apache-2.0
"""Why a benchmark's verdict is what it is, the most telling first, as long as a reader has room."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from warpgauge.records.counters import RESOURCES
from warpgauge.records.model import Clock
from warpgauge.records.sessions import are_paired
from warpgauge.reports.decision_text import IN_PAIRS, bound_words
from warpgauge.reports.markdown.text import IN_CELL, breakable, prose, unbroken
from warpgauge.system.text import LONGEST_TEXT, cut, inert
from warpgauge.verdict.comparison import (
    CHANGED,
    SAME_CODE,
    UNMEASURED,
    Comparison,
    ContextDifference,
    Outcome,
    ResourceChange,
    Verdict,
    is_accepted,
)
from warpgauge.verdict.resource_changes import KERNEL

# Characters of an explanation that three lines of its column hold in a window of 1000 pixels.
_OF_A_CHANGE, _OF_AN_OPEN_ROW = 44, 90
_WIDER = 1.4  # than our own words' are a code span's letters


@dataclass(frozen=True)
class Reason:
    """What explains a row: our own `words`, and `foreign` text, which is quoted.

    `brief` are words for both where these are too long; without them the foreign text is cut.
    """

    words: str
    foreign: str = ""
    brief: str = ""

    def text(self, room: int) -> tuple[str, int]:
        """Markdown, and how many characters of room it takes."""
        shown = inert(self.foreign)
        if self.brief and len(self.words) + _WIDER * len(shown) > room:
            return self.brief, len(self.brief)
        shown = cut(shown, max(int((room - len(self.words)) / _WIDER), IN_CELL))
        told = " ".join(filter(None, (self.words, shown and breakable(shown))))
        return told, len(self.words) + int(_WIDER * len(shown))


Reasons = Callable[[Verdict], Sequence[Reason]]


def brief(reasons: Sequence[Reason], room: int) -> str:
    """As many of `reasons` as `room` characters hold, at least one, and how many more there are."""
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
    """No more than three lines."""
    open_row = verdict.outcome in UNMEASURED
    return brief(reasons(verdict), _OF_AN_OPEN_ROW if open_row else _OF_A_CHANGE)


def in_full(verdict: Verdict, reasons: Reasons) -> str:
    """All that `in_cell` may have had no room for."""
    why = reasons(verdict)
    return brief(why, LONGEST_TEXT * (1 + len(why)))


# What a person asks first where nothing differs, each in a word.
_SHORT = {"registers": "registers", "blocks_per_sm": "occupancy", "kernels": "kernels"}

# Of the contexts' differences, in words, those that move times by themselves, and those that move
# the host's alone.
_OF_EVERY_TIME = {
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
_OF_HOST_TIME = {
    "host_compiler": "host compiler",
    "library_version": "Google Benchmark",
    "cpu_model": "CPU",
    "kernel_release": "Linux",
    "num_cpus": "number of CPUs",
    "cpu_scaling_enabled": "CPU scaling",
}

# Which resource says most of a change of time: a spill more than the registers that it saved.
_TELLING = (
    "local_bytes", KERNEL, "kernels", "registers", "blocks_per_sm", "shared_bytes",
    "peak_device_bytes",
)  # fmt: skip
_AMOUNT = re.compile(r"\d[\d.]*(?:e[+-]?\d+)?(?: [kMGTP]?B| bytes)?")


_SAME_CODE = Reason(SAME_CODE, brief="the same machine code")


def reasons_of(comparison: Comparison) -> Reasons:
    """Why a row is what it is, the most telling first; empty if nothing is known.

    What is the same for all verdicts is looked for once.
    """
    paired = are_paired(comparison.baseline, comparison.candidate)
    around = {clock: _environment(comparison.differences, clock) for clock in Clock}

    def reasons(verdict: Verdict) -> list[Reason]:
        # Of what was confirmed later, the base ran again on the candidate's own machine.
        confirmed = verdict.evidence in IN_PAIRS and not paired
        causes = _causes(verdict, () if confirmed else around[verdict.clock])
        bound = bound_words(verdict) if verdict.outcome is Outcome.INCONCLUSIVE else ""
        told = [Reason("", text) for text in (verdict.accepted, verdict.reason) if text]
        # Why it was accepted comes before what made it slower.
        both = [*told, *causes] if is_accepted(verdict) else [*causes, *told]
        return [Reason(bound), *both] if bound else both

    return reasons


def _causes(verdict: Verdict, around: Sequence[Reason]) -> list[Reason]:
    if verdict.outcome not in CHANGED and not verdict.accepted:
        return []
    slower = verdict.change is None or verdict.change.ratio > 0.0

    def weight(one: ResourceChange) -> tuple[bool, int]:
        explains = one.key == KERNEL or one.worse is slower
        return not explains, _TELLING.index(one.key) if one.key in _TELLING else len(_TELLING)

    code = [_SAME_CODE] if verdict.same_machine_code else []
    if verdict.resources:
        return [*map(_resource, sorted(verdict.resources, key=weight)), *code]
    if verdict.outcome not in CHANGED:
        return []
    if code:
        return [*around, *code]
    # Of what an operation takes: what both sides tell, and tell alike.
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
    """What else differs between two times of this clock."""
    words = {**_OF_EVERY_TIME, **(_OF_HOST_TIME if clock is Clock.HOST else {})}
    return [
        _pair(f"perhaps {words[one.key]}", one.baseline, one.candidate)
        for one in differences
        if one.key in words
    ]


def _pair(words: str, before: str, after: str) -> Reason:
    return Reason(words, f"{before} → {after}", brief=f"{words} changed")
