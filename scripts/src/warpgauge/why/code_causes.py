# SPDX-License-Identifier: Apache-2.0
"""What the machine code of both sides says of the cause, where no counters weigh it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from warpgauge.why import instruction_kinds as kinds
from warpgauge.why.code_change import CodeChange, changed
from warpgauge.why.evidence import Change, Evidence
from warpgauge.why.machine_code import Kernel
from warpgauge.why.suspects import Suspect
from warpgauge.why.trace_file import readable
from warpgauge.why.weighted_code import Count

# Causes that lie in the code alone.
OF_CODE = frozenset(("spills", "unrolling", "precise", "fp64", "narrower"))
_MORE = 1.2  # as much more of one kind, as run


def code_changes(before: Evidence, after: Evidence) -> Mapping[str, CodeChange]:
    """Of each kernel that both sides have, by its name in the source."""
    if before.code is None or after.code is None:
        return {}
    return changes_of(before.code, after.code)


def changes_of(
    before: Mapping[str, Kernel], after: Mapping[str, Kernel]
) -> Mapping[str, CodeChange]:
    """The same of kernels by what they are found by."""
    both = [key for key in before if key in after]
    return {readable(before[key].name): changed(before[key], after[key]) for key in both}


def is_same_code(before: Evidence, after: Evidence) -> bool:
    """Whether both sides are known to run the same kernels, of the same machine code."""
    if not before.code or not after.code or before.code.keys() != after.code.keys():
        return False
    return all(before.code[name].digest == after.code[name].digest for name in before.code)


def code_suspects(before: Evidence, after: Evidence) -> Iterator[Suspect]:
    """What usually makes a kernel slower and changed in its code; how much it costs is unknown."""
    for change in code_changes(before, after).values():
        if not change.is_same:
            yield from _of_change(change)


_GROWN = (
    ("spills", "Registers are spilled to local memory", (kinds.LOCAL_LOAD, kinds.LOCAL_STORE)),
    ("fp64", "Arithmetic in FP64", (kinds.FP64,)),
    ("constants", "Constant memory is read at an index of each thread", (kinds.INDEXED_CONSTANT,)),
    ("atomics", "More atomics", (kinds.GLOBAL_ATOMIC,)),
)


def _of_change(change: CodeChange) -> Iterator[Suspect]:
    for key, words, names in _GROWN:
        old, new = _weight(change.before, names), _weight(change.after, names)
        if new > old * _MORE:
            counts = _count(change.before, names), _count(change.after, names)
            yield Suspect(key, words, (Change(f"{names[0]}s", *counts),), None, 0)
    for width in change.widths:
        (old, before), (new, after) = width.before, width.after
        if new < old:
            moved = Change(f"bits of a {width.access}", old, new)
            counted = Change(f"{width.access}s", before, after)
            words = f"{width.access.capitalize()}s are narrower, and more"
            yield Suspect("narrower", words, (moved, counted), None, 0)
    for loop in change.unrolled:
        if 0 < loop.after < loop.before or (loop.before == 0 and loop.after):
            words = f"unrolling at {loop.source}" if loop.source else "unrolling of a loop"
            times = Change(words, loop.before, loop.after)
            yield Suspect("unrolling", "Loops are unrolled less", (times,), None, 0)
    special, fp32 = ((name,) for name in (kinds.SPECIAL, kinds.FP32))
    fewer = _weight(change.after, special) <= _weight(change.before, special)
    if fewer and _weight(change.before, special) > 0:
        old, new = _weight(change.before, fp32), _weight(change.after, fp32)
        if new > old * _MORE:
            counts = _count(change.before, fp32), _count(change.after, fp32)
            words = "A precise function in place of an approximate one"
            yield Suspect("precise", words, (Change("FP32 instructions", *counts),), None, 0)


def _weight(side: Mapping[str, Count], names: tuple[str, ...]) -> float:
    return sum(side[name].weighted for name in names if name in side)


def _count(side: Mapping[str, Count], names: tuple[str, ...]) -> float:
    return sum(side[name].instructions for name in names if name in side)
