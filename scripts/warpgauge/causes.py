# SPDX-License-Identifier: Apache-2.0
"""What else changed about a benchmark whose time changed: carries no noise, so it is exact."""

from __future__ import annotations

from warpgauge.model import Row
from warpgauge.text import inert

# Read off the captured graph; the name of each as a person says it.
_RESOURCES = {
    "registers": "registers",
    "local_bytes": "local bytes (spills)",
    "shared_bytes": "shared bytes",
    "blocks_per_sm": "blocks per SM",
    "kernels": "kernels per operation",
}

# Characters of a kernel's name shown before and behind the first difference.
_BEFORE, _AFTER = 16, 30


def likely_causes(baseline: Row, candidate: Row) -> tuple[str, ...]:
    """Each differing resource as ``registers 40 → 72``."""
    causes = [
        f"{words} {baseline.counters[key]:.10g} → {candidate.counters[key]:.10g}"
        for key, words in _RESOURCES.items()
        if key in baseline.counters
        and key in candidate.counters
        and baseline.counters[key] != candidate.counters[key]
    ]
    if baseline.label and candidate.label and baseline.label != candidate.label:
        causes.append(inert(_kernels(baseline.label, candidate.label)))
    return tuple(causes)


def _kernels(baseline: str, candidate: str) -> str:
    """Two kernel names, each cut to what surrounds the first difference: CUB's fill a page."""
    longest = min(len(baseline), len(candidate))
    common = next((i for i in range(longest) if baseline[i] != candidate[i]), longest)
    start = common - _BEFORE if common > _BEFORE + _AFTER else 0
    cut = [_cut(name, start, common + _AFTER) for name in (baseline, candidate)]
    return f"kernel {cut[0]} → {cut[1]}"


def _cut(name: str, start: int, end: int) -> str:
    return ("…" if start else "") + name[start:end] + ("…" if end < len(name) else "")
