# SPDX-License-Identifier: Apache-2.0
"""Resources of an operation and its kernels, compared exactly: they carry no noise."""

from __future__ import annotations

from warpgauge.records.counters import RESOURCES
from warpgauge.records.model import Row
from warpgauge.system.text import inert, quantity
from warpgauge.verdict.comparison import ResourceChange

# Resources where less is worse, and where a change is neither better nor worse.
_LESS_IS_WORSE = frozenset(("blocks_per_sm",))
_NEUTRAL = frozenset(("shared_bytes",))

# The resource that is too large to be read in bytes.
_LARGE = "peak_device_bytes"

KERNEL = "kernel"

# Characters of a kernel's name shown before and behind the first difference.
_BEFORE, _AFTER = 16, 30


def resource_changes(baseline: Row, candidate: Row) -> tuple[ResourceChange, ...]:
    """Each resource that both sides tell and tell differently, and the kernel's name so."""
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
    """Whether both run the same kernels, launched alike; None where one does not tell."""
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
    """Two kernel names, each cut to what surrounds the first difference: CUB's fill a page."""
    longest = min(len(baseline), len(candidate))
    common = next((i for i in range(longest) if baseline[i] != candidate[i]), longest)
    start = common - _BEFORE if common > _BEFORE + _AFTER else 0
    before, after = (_cut(name, start, common + _AFTER) for name in (baseline, candidate))
    return inert(before), inert(after)


def _cut(name: str, start: int, end: int) -> str:
    return ("…" if start else "") + name[start:end] + ("…" if end < len(name) else "")
