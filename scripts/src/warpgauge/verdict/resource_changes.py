# SPDX-License-Identifier: Apache-2.0
"""Compare the resources of an operation and its kernels exactly, as they have no noise."""

from __future__ import annotations

from typing import TYPE_CHECKING

from warpgauge.records.counters import RESOURCES
from warpgauge.system.text import inert, quantity
from warpgauge.verdict.comparison import ResourceChange

if TYPE_CHECKING:
    from warpgauge.records.row import Row

# Resources of which less is worse, and resources whose change is neither better nor worse.
_LESS_IS_WORSE = frozenset(("blocks_per_sm",))
_NEUTRAL = frozenset(("shared_bytes",))

# The resource that is shown in larger units than bytes.
_LARGE = "peak_device_bytes"

KERNEL = "kernel"

# How many characters of a kernel's name are shown before and after the first difference.
_BEFORE, _AFTER = 16, 30


def resource_changes(baseline: Row, candidate: Row) -> tuple[ResourceChange, ...]:
    """Return each resource that both sides state and that differs, then the kernel's name."""
    before, after = baseline.counters, candidate.counters
    changes = [
        _change(key, words, before[key], after[key])
        for key, words in RESOURCES.items()
        if key in before and key in after and before[key] != after[key]
    ]
    if baseline.label and candidate.label and baseline.label != candidate.label:
        kernels = _kernels(baseline.label, candidate.label)
        changes.append(ResourceChange(KERNEL, KERNEL, *kernels, worse=True))
    return tuple(changes)


def same_machine_code(baseline: Row, candidate: Row) -> bool | None:
    """Return whether both run the same kernels, launched alike; None if a side does not say."""
    codes = baseline.machine_code, candidate.machine_code
    return codes[0] == codes[1] if all(codes) else None


def _change(key: str, words: str, before: float, after: float) -> ResourceChange:
    more = after > before
    worse = key not in _NEUTRAL and more != (key in _LESS_IS_WORSE)
    short = [quantity(size, "B") for size in (before, after)]
    if key == _LARGE and short[0] != short[1]:
        return ResourceChange(key, words, short[0], short[1], worse)
    unit = " bytes" if key == _LARGE else ""
    return ResourceChange(key, words, f"{before:.10g}", f"{after:.10g}{unit}", worse)


def _kernels(baseline: str, candidate: str) -> tuple[str, str]:
    """Cut two kernel names around their first difference, because CUB's names fill a page."""
    longest = min(len(baseline), len(candidate))
    common = next((i for i in range(longest) if baseline[i] != candidate[i]), longest)
    start = common - _BEFORE if common > _BEFORE + _AFTER else 0
    before, after = (_cut(name, start, common + _AFTER) for name in (baseline, candidate))
    return inert(before), inert(after)


def _cut(name: str, start: int, end: int) -> str:
    return ("…" if start else "") + name[start:end] + ("…" if end < len(name) else "")
