# SPDX-License-Identifier: Apache-2.0
"""Causes in the machine code of both sides, and what it says about causes from counters."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from warpgauge.why import instruction_kinds as kinds
from warpgauge.why.code_change import CodeChange, Unrolling, changed
from warpgauge.why.cupti import readable, without_arguments
from warpgauge.why.evidence import Cause, Change, Evidence
from warpgauge.why.kernel_causes import CACHED, LOCAL_MEMORY, CounterPair
from warpgauge.why.machine_code import Kernel

# Causes that lie only in the code.
_OF_CODE = frozenset(("spills", "unrolling", "precise", "fp64", "narrower"))
_MORE = 1.2  # growth of a class of executed instructions
# Share of all instructions. Rare branches of CUDA's functions have fewer, such as FP64 in sinf().
_LEAST = 0.02
_UNROLLED, _MOST_LOOPS = "Loops are unrolled less", 2
_INDEX_DIFFERS = "Constant memory is read at an index that differs by thread"
# More instructions of a class: cause, words, and the instructions.
_GROWN = (
    ("spills", LOCAL_MEMORY, "local loads", kinds.LOCAL_LOAD),
    ("fp64", "Arithmetic in FP64", "FP64 instructions", kinds.FP64),
    ("constants", _INDEX_DIFFERS, "such loads", kinds.INDEXED_CONSTANT),
    ("atomics", "More atomics", "global atomics", kinds.GLOBAL_ATOMIC),
)


def code_changes(
    before: Mapping[str, Kernel] | None, after: Mapping[str, Kernel] | None
) -> dict[str, CodeChange]:
    """Return the change of each kernel that both sides have, by its name in the source."""
    if before is None or after is None:
        return {}
    pairs = [(before[key], after[key]) for key in before if key in after]
    # Of kernels whose template arguments or parameters changed, those with a unique name.
    only_before, only_after = _by_plain_name(before, after), _by_plain_name(after, before)
    for name, old in only_before.items():
        new = only_after.get(name, ())
        if len(old) == len(new) == 1:
            pairs.append((old[0], new[0]))
    return {readable(new.name): changed(old, new) for old, new in pairs}


def _by_plain_name(
    side: Mapping[str, Kernel], other: Mapping[str, Kernel]
) -> dict[str, list[Kernel]]:
    found: dict[str, list[Kernel]] = {}
    for key, kernel in side.items():
        if key not in other:
            found.setdefault(without_arguments(kernel.name), []).append(kernel)
    return found


def is_same_code(before: Evidence, after: Evidence) -> bool:
    """Return whether both sides are known to run the same kernels with the same machine code."""
    old, new = ({k: one.digest for k, one in (side.code or {}).items()} for side in (before, after))
    return before.code_is_whole and after.code_is_whole and bool(old) and old == new


def by_code(before: Evidence, after: Evidence, found: Sequence[Cause]) -> Iterator[Cause]:
    """Yield `found` as the code allows: without what it excludes, and refined by what it shows."""
    changes = code_changes(before.code, after.code).values()
    loops = [_of_loop(loop) for change in changes for loop in change.unrolled if loop.is_less]
    is_known, is_same = before.code_is_whole and after.code_is_whole, is_same_code(before, after)
    is_spill = any(line.is_spill for side in (after.code or {}).values() for line in side.code)
    both = CounterPair(before.counters or {}, after.counters or {})
    # Where a GPU does not count branches separately, the instructions that control a loop may count
    # as arithmetic, as IMAD.MOV does.
    is_loop = loops and "unrolling" not in {one.key for one in found} and both.same_work(CACHED)
    for one in found:
        if one.key == "instructions" and is_loop:
            moved = (*loops[:_MOST_LOOPS], *one.changes)
            yield replace(one, key="unrolling", words=_UNROLLED, changes=moved, rank=1)
        if one.key == "unrolling" and is_known and not loops:
            words = "More branches around the same arithmetic and memory accesses"
            yield replace(one, key="branches", words=words)
        elif one.key == "spills" and is_spill and not is_same:
            yield replace(one, words="Registers are spilled to local memory")
        elif not (is_same and one.key in _OF_CODE):
            yield one


def code_causes(before: Evidence, after: Evidence) -> Iterator[Cause]:
    """Yield changes of the code that usually make a kernel slower, by an unknown time."""
    for change in code_changes(before.code, after.code).values():
        if not change.is_same:
            yield from _of_change(change)


def _of_change(change: CodeChange) -> Iterator[Cause]:
    def cause(key: str, words: str, *changes: Change) -> Cause:
        return Cause(key, words, changes, None, 0)

    everything = sum(one.weighted for one in change.after.values())
    for key, words, what, kind in _GROWN:
        old, new = change.counts(kind)
        more = new.weighted - old.weighted
        if new.weighted > old.weighted * _MORE and more >= _LEAST * everything:
            yield cause(key, words, Change(what, old.instructions, new.instructions))
    # Narrower accesses with more conversions come from a smaller element type.
    old, new = change.counts(kinds.CONVERSION)
    for width in change.widths:
        (wide, before), (narrow, after) = width.before, width.after
        if narrow < wide and old.weighted >= new.weighted:
            moved = Change(f"bits of a {width.access}", wide, narrow)
            words = f"{width.access.capitalize()}s are narrower"
            yield cause("narrower", words, moved, Change(f"{width.access}s", before, after))
    for loop in change.unrolled:
        if loop.is_less:
            yield cause("unrolling", _UNROLLED, _of_loop(loop))
    few, many = change.counts(kinds.SPECIAL)
    old, new = change.counts(kinds.FP32)
    if many.weighted < few.weighted and new.weighted > old.weighted * _MORE:
        words = "A precise function instead of an approximate one"
        moved = Change("FP32 instructions", old.instructions, new.instructions)
        yield cause("precise", words, moved)


def _of_loop(loop: Unrolling) -> Change:
    words = f"unrolling at {loop.source}" if loop.source else "unrolling of a loop"
    return Change(words, loop.before, loop.after)
