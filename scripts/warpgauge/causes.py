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
        causes.append(inert(f"kernel {baseline.label} → {candidate.label}"))
    return tuple(causes)
