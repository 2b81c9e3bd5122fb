# SPDX-License-Identifier: Apache-2.0
"""What else changed about a benchmark whose time changed: carries no noise, so it is exact."""

from __future__ import annotations

from warpgauge.counters import RESOURCES
from warpgauge.model import Row
from warpgauge.text import inert, quantity

# The resource that is too large to be read in bytes.
_LARGE = "peak_device_bytes"

# Characters of a kernel's name shown before and behind the first difference.
_BEFORE, _AFTER = 16, 30


def likely_causes(baseline: Row, candidate: Row) -> tuple[str, ...]:
    """The differing resources, and the kernel's name if that differs."""
    causes = [*differing_resources(baseline, candidate)]
    if baseline.label and candidate.label and baseline.label != candidate.label:
        causes.append(inert(_kernels(baseline.label, candidate.label)))
    return tuple(causes)


def differing_resources(baseline: Row, candidate: Row) -> tuple[str, ...]:
    """Each resource that both sides tell and tell differently, as ``registers 40 → 72``."""
    return tuple(
        f"{words} {_arrow(key, baseline.counters[key], candidate.counters[key])}"
        for key, words in RESOURCES.items()
        if key in baseline.counters
        and key in candidate.counters
        and baseline.counters[key] != candidate.counters[key]
    )


def _arrow(key: str, before: float, after: float) -> str:
    exact = f"{before:.10g} → {after:.10g}"
    if key != _LARGE:
        return exact
    short = [quantity(size, "B") for size in (before, after)]
    return " → ".join(short) if short[0] != short[1] else f"{exact} bytes"


def _kernels(baseline: str, candidate: str) -> str:
    """Two kernel names, each cut to what surrounds the first difference: CUB's fill a page."""
    longest = min(len(baseline), len(candidate))
    common = next((i for i in range(longest) if baseline[i] != candidate[i]), longest)
    start = common - _BEFORE if common > _BEFORE + _AFTER else 0
    cut = [_cut(name, start, common + _AFTER) for name in (baseline, candidate)]
    return f"kernel {cut[0]} → {cut[1]}"


def _cut(name: str, start: int, end: int) -> str:
    return ("…" if start else "") + name[start:end] + ("…" if end < len(name) else "")
