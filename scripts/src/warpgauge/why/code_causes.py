# SPDX-License-Identifier: Apache-2.0
"""Causes from the machine code of both sides, if no counters weigh them."""

from __future__ import annotations

import operator
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace

from warpgauge.why import instruction_kinds as kinds
from warpgauge.why.code_change import CodeChange, Unrolling, changed
from warpgauge.why.evidence import Change, Evidence
from warpgauge.why.machine_code import Kernel
from warpgauge.why.suspects import CACHED, LOCAL_MEMORY, CounterPair, Suspect
from warpgauge.why.trace_file import readable, without_arguments
from warpgauge.why.weighted_code import Count

# Causes that lie only in the code.
OF_CODE = frozenset(("spills", "unrolling", "precise", "fp64", "narrower"))
_MORE = 1.2  # growth of a class of executed instructions
# Share of all instructions. Rare branches of CUDA's functions have fewer, such as FP64 in sinf().
_LEAST = 0.02
_UNROLLED, _MOST_LOOPS = "Loops are unrolled less", 2


def code_changes(before: Evidence, after: Evidence) -> Mapping[str, CodeChange]:
    """Return the change of each kernel that both sides have, by its name in the source."""
    if before.code is None or after.code is None:
        return {}
    return changes_of(before.code, after.code)


def changes_of(
    before: Mapping[str, Kernel], after: Mapping[str, Kernel]
) -> Mapping[str, CodeChange]:
    """Return the same for kernels by stable name."""
    pairs = [(before[key], after[key]) for key in before if key in after]
    pairs += _renamed(before, after)
    return {readable(new.name): changed(old, new) for old, new in pairs}


def _renamed(
    before: Mapping[str, Kernel], after: Mapping[str, Kernel]
) -> Iterator[tuple[Kernel, Kernel]]:
    """Yield kernels whose template arguments or parameters changed, if the name is unique."""
    named: list[dict[str, list[Kernel]]] = []
    for side, other in ((before, after), (after, before)):
        named.append({})
        for key, kernel in side.items():
            if key not in other:
                named[-1].setdefault(without_arguments(kernel.name), []).append(kernel)
    for name, old in named[0].items():
        new = named[1].get(name, ())
        if len(old) == len(new) == 1:
            yield old[0], new[0]


def is_same_code(before: Evidence, after: Evidence) -> bool:
    """Return whether both sides are known to run the same kernels with the same machine code."""
    if not before.code or not after.code or before.code.keys() != after.code.keys():
        return False
    if not (before.code_is_whole and after.code_is_whole):
        return False
    return all(before.code[name].digest == after.code[name].digest for name in before.code)


def by_code(before: Evidence, after: Evidence, found: Sequence[Suspect]) -> Iterator[Suspect]:
    """Yield `found`, from counters, refined by the code where counters are ambiguous."""
    named = {one.key for one in found}
    for one in found:
        if one.key == "instructions" and "unrolling" not in named:
            yield from _unrolled_by_code(before, after, one)
        if one.key == "unrolling" and before.code_is_whole and after.code_is_whole:
            changes = code_changes(before, after).values()
            if not any(_unrolled_less(loop) for change in changes for loop in change.unrolled):
                words = "More branches around the same arithmetic and memory accesses"
                yield replace(one, key="branches", words=words)
                continue
        is_spill = any(line.is_spill for side in (after.code or {}).values() for line in side.code)
        if one.key == "spills" and is_spill:
            yield replace(one, words="Registers are spilled to local memory")
        else:
            yield one


def _unrolled_by_code(before: Evidence, after: Evidence, more: Suspect) -> Iterator[Suspect]:
    """Yield a cause of `more` instructions if the GPU does not count branches separately.

    Instructions that control a loop may be counted as arithmetic, as IMAD.MOV is.
    """
    if before.counters is None or after.counters is None:
        return
    both = CounterPair(before.counters, after.counters)
    if both.same_work(CACHED):
        changes = code_changes(before, after).values()
        loops = [loop for change in changes for loop in change.unrolled if _unrolled_less(loop)]
        if loops:
            moved = (*map(_of_loop, loops[:_MOST_LOOPS]), *more.changes)
            yield replace(more, key="unrolling", words=_UNROLLED, changes=moved, rank=1)


def _of_loop(loop: Unrolling) -> Change:
    words = f"unrolling at {loop.source}" if loop.source else "unrolling of a loop"
    return Change(words, loop.before, loop.after)


def _unrolled_less(loop: Unrolling) -> bool:
    return 0 < loop.after < loop.before or (loop.before == 0 and loop.after > 0)


def code_suspects(before: Evidence, after: Evidence) -> Iterator[Suspect]:
    """Yield changes of the code that usually make a kernel slower, by an unknown time."""
    for change in code_changes(before, after).values():
        if not change.is_same:
            yield from _of_change(change)


_GROWN = (
    ("spills", LOCAL_MEMORY, "local loads", (kinds.LOCAL_LOAD,)),
    ("fp64", "Arithmetic in FP64", "FP64 instructions", (kinds.FP64,)),
    (
        "constants",
        "Constant memory is read at an index that differs by thread",
        "such loads",
        (kinds.INDEXED_CONSTANT,),
    ),
    ("atomics", "More atomics", "global atomics", (kinds.GLOBAL_ATOMIC,)),
)


def _of_change(change: CodeChange) -> Iterator[Suspect]:
    everything = _weight(change.after, change.after)
    for key, words, what, names in _GROWN:
        old, new = _weight(change.before, names), _weight(change.after, names)
        if new > old * _MORE and new - old >= _LEAST * everything:
            counts = _count(change.before, names), _count(change.after, names)
            yield Suspect(key, words, (Change(what, *counts),), None, 0)
    # Narrower accesses with more conversions come from a smaller element type.
    conversions = (_weight(side, (kinds.CONVERSION,)) for side in (change.before, change.after))
    same_type = operator.ge(*conversions)
    for width in change.widths:
        (old, before), (new, after) = width.before, width.after
        if new < old and same_type:
            moved = Change(f"bits of a {width.access}", old, new)
            counted = Change(f"{width.access}s", before, after)
            words = f"{width.access.capitalize()}s are narrower"
            yield Suspect("narrower", words, (moved, counted), None, 0)
    for loop in change.unrolled:
        if _unrolled_less(loop):
            yield Suspect("unrolling", _UNROLLED, (_of_loop(loop),), None, 0)
    special, fp32 = ((name,) for name in (kinds.SPECIAL, kinds.FP32))
    if _weight(change.after, special) < _weight(change.before, special):
        old, new = _weight(change.before, fp32), _weight(change.after, fp32)
        if new > old * _MORE:
            counts = _count(change.before, fp32), _count(change.after, fp32)
            words = "A precise function instead of an approximate one"
            yield Suspect("precise", words, (Change("FP32 instructions", *counts),), None, 0)


def _weight(side: Mapping[str, Count], names: Iterable[str]) -> float:
    return sum(side[name].weighted for name in names if name in side)


def _count(side: Mapping[str, Count], names: tuple[str, ...]) -> float:
    return sum(side[name].instructions for name in names if name in side)
