# SPDX-License-Identifier: Apache-2.0
"""A change of machine code in words, the most important first."""

from __future__ import annotations

import operator
from collections.abc import Iterator

from warpgauge.why import instruction_kinds as kinds
from warpgauge.why.code_change import CodeChange, Unrolling, Width
from warpgauge.why.weighted_code import Count

MOST_LINES = 10
# The least change of a class that is stated: as a share of the class, and of the largest change.
_LEAST_OF_CLASS, _LEAST_OF_CHANGE = 0.05, 0.01
# With unrolling, smaller changes are only the loop's overhead and remainders.
_LEAST_WHERE_UNROLLED = 0.25
_LOCAL = (kinds.LOCAL_STORE, kinds.LOCAL_LOAD)
# Stated by a line of their own, or irrelevant to an author.
_SAID = frozenset((*_LOCAL, kinds.MOVE, kinds.OTHER))


def lines(change: CodeChange) -> list[str]:
    """Return at most ten sentences; one if the code is the same."""
    if change.is_same:
        return ["the same machine code"]
    found = sorted(_weighted(change), key=lambda one: -one[0])
    if not found:
        if change.same_instructions:
            return ["the same instructions; constants or launch bounds differ"]
        counts = (
            {n: c.instructions for n, c in side.items()} for side in (change.before, change.after)
        )
        many = "as many" if operator.eq(*counts) else "nearly as many"
        return [f"{many} instructions of each kind, in another order or with other operands"]
    least = _LEAST_OF_CHANGE * found[0][0]
    return [text for weight, text in found if weight >= least][:MOST_LINES]


def _weighted(change: CodeChange) -> Iterator[tuple[float, str]]:
    cost = {}
    for name in {**change.before, **change.after}:
        old, new = _sides(change, name)
        cost[name] = kinds.COST[name] * abs(new.weighted - old.weighted)
    total = sum(cost.values())
    for width in change.widths:
        yield total + 1, _width(width)
    for unrolling in change.unrolled:
        yield total, _unrolling(unrolling)
    precise = _precise(change)
    if precise:
        yield total, precise
    if local := _local(change):
        yield sum(cost.get(name, 0.0) for name in _LOCAL), local
    said = _SAID | {width.access for width in change.widths}
    if precise:
        said |= {kinds.SPECIAL, kinds.FP32}
    for name, moved in cost.items():
        old, new = _sides(change, name)
        part = _LEAST_WHERE_UNROLLED if change.unrolled else _LEAST_OF_CLASS
        least = part * max(old.weighted, new.weighted)
        more, grew = new.weighted - old.weighted, new.instructions - old.instructions
        # Unrolling increases the code and decreases the executed instructions, or the reverse.
        if name not in said and abs(more) >= least and more * grew > 0:
            place = (new if new.weighted > old.weighted else old).place
            counts = f"{name}: {old.instructions} → {new.instructions} instructions"
            yield moved, f"{counts} {place}".strip()


def _sides(change: CodeChange, name: str) -> tuple[Count, Count]:
    return change.before.get(name, Count()), change.after.get(name, Count())


def _unrolling(one: Unrolling) -> str:
    loop = f"loop at {one.source}" if one.source else "a loop"
    if one.after == 0:
        return f"{loop}: now completely unrolled"
    if one.before == 0:
        return f"{loop}: completely unrolled before, now {_unrolled(one.after)}"
    return f"{loop}: {_unrolled(one.before)} before, now {_unrolled(one.after)}"


def _unrolled(count: int) -> str:
    return "not unrolled" if count == 1 else f"unrolled {count} times"


def _width(one: Width) -> str:
    (old, before), (new, after) = one.before, one.after
    word = one.access if before + after == 1 else f"{one.access}s"
    return f"{old}-bit {word} became {new}-bit: {before} → {after}"


def _precise(change: CodeChange) -> str:
    """Return a sentence on approximate functions that were replaced by arithmetic, or ""."""
    (old, new), (few, many) = (_sides(change, name) for name in (kinds.SPECIAL, kinds.FP32))
    if new.instructions >= old.instructions or many.instructions <= few.instructions:
        return ""
    return (
        f"approximate functions (MUFU) became arithmetic: {old.instructions} → "
        f"{new.instructions} {old.place}, FP32 {few.instructions} → {many.instructions}"
    )


def _local(change: CodeChange) -> str:
    """Return a sentence on local memory traffic (spills, arrays with a variable index), or ""."""
    (old_store, store), (old_load, load) = (_sides(change, name) for name in _LOCAL)
    before, after = (
        f"{stores.instructions} STL, {loads.instructions} LDL"
        for stores, loads in ((old_store, old_load), (store, load))
    )
    if before == after:
        return ""
    place = (load if load.instructions else store).place
    if not old_store.instructions + old_load.instructions:
        return f"new local memory traffic: {after} {place}".strip()
    if not store.instructions + load.instructions:
        return f"local memory traffic removed: {before} before"
    return f"local memory traffic: {before} → {after} {place}".strip()
