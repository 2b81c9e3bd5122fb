# SPDX-License-Identifier: Apache-2.0
"""What changed between two builds of a kernel, from its machine code, and in words."""

from __future__ import annotations

import difflib
import itertools
import re
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache

from warpgauge.why import instruction_kinds as kinds
from warpgauge.why.machine_code import Instruction, Kernel
from warpgauge.why.weighted_code import Count, Loop, WeightedCode, ratio_of

_CONTEXT, _LONGEST_HUNK = 2, 24  # instructions
# Longer code is compared without common instructions as anchors, which is faster.
_EXACT_DIFFERENCE = 1500

# Registers, predicates and barriers, which another build may number differently.
_NUMBERED = re.compile(r"\b(U?R|U?P|B|SB|gsb)\d+\b")
_TARGET = re.compile(r"^0x[0-9a-f]+$")
_BRANCHING = frozenset(("BRA", "CALL", "BSSY", "JMP", "WARPSYNC", "RET"))

_MOST_LINES = 10
# The least change of a class that is stated: as a share of the class, and of the largest change.
_LEAST_OF_CLASS, _LEAST_OF_CHANGE = 0.05, 0.01
# With unrolling, smaller changes are only the loop's overhead and remainders.
_LEAST_WHERE_UNROLLED = 0.25


@dataclass(frozen=True)
class Unrolling:
    """A loop whose body holds another number of rounds; 0 means completely unrolled."""

    source: str
    before: int
    after: int

    @property
    def is_less(self) -> bool:
        return 0 < self.after < self.before or self.before == 0 < self.after

    def __str__(self) -> str:
        loop = f"loop at {self.source}" if self.source else "a loop"
        if self.after == 0:
            return f"{loop}: now completely unrolled"
        before, after = (
            "not unrolled" if rounds == 1 else f"unrolled {rounds} times"
            for rounds in (self.before, self.after)
        )
        return f"{loop}: {before if self.before else 'completely unrolled'} before, now {after}"


@dataclass(frozen=True)
class Width:
    """Accesses to a memory whose usual width changed: bits per access, and number of accesses."""

    access: str
    before: tuple[int, int]
    after: tuple[int, int]

    def __str__(self) -> str:
        (old, before), (new, after) = self.before, self.after
        word = self.access if before + after == 1 else f"{self.access}s"
        return f"{old}-bit {word} became {new}-bit: {before} → {after}"


@dataclass(frozen=True)
class CodeChange:
    """How the machine code of a kernel changed. Counts are by the names of instruction_kinds."""

    is_same: bool  # including constants and launch bounds
    same_instructions: bool
    before: Mapping[str, Count]
    after: Mapping[str, Count]
    unrolled: tuple[Unrolling, ...] = ()
    widths: tuple[Width, ...] = ()
    hunk: tuple[str, ...] = ()  # lines that begin with " ", "-" or "+"

    def counts(self, kind: str) -> tuple[Count, Count]:
        return self.before.get(kind, Count()), self.after.get(kind, Count())

    def lines(self) -> list[str]:
        """Return at most ten sentences, the most important first; one if the code is the same."""
        if self.is_same:
            return ["the same machine code"]
        found = sorted(self._weighted(), key=lambda one: -one[0])
        if found:
            least = _LEAST_OF_CHANGE * found[0][0]
            return [text for weight, text in found if weight >= least][:_MOST_LINES]
        if self.same_instructions:
            return ["the same instructions; constants or launch bounds differ"]
        before, after = (
            {name: one.instructions for name, one in side.items()}
            for side in (self.before, self.after)
        )
        many = "as many" if before == after else "nearly as many"
        return [f"{many} instructions of each kind, in another order or with other operands"]

    def _weighted(self) -> Iterator[tuple[float, str]]:
        """Yield sentences, each with the cost of what it states."""
        cost = {}
        for name in {**self.before, **self.after}:
            old, new = self.counts(name)
            cost[name] = kinds.COST[name] * abs(new.weighted - old.weighted)
        total = sum(cost.values())
        yield from ((total + 1, str(width)) for width in self.widths)
        yield from ((total, str(unrolling)) for unrolling in self.unrolled)
        # What a sentence of its own states, or is irrelevant to an author.
        said = {*kinds.LOCAL, kinds.MOVE, kinds.OTHER, *(width.access for width in self.widths)}
        if precise := self._precise():
            said |= {kinds.SPECIAL, kinds.FP32}
            yield total, precise
        if local := self._local():
            yield sum(cost.get(name, 0.0) for name in kinds.LOCAL), local
        for name in [name for name in cost if name not in said]:
            old, new = self.counts(name)
            part = _LEAST_WHERE_UNROLLED if self.unrolled else _LEAST_OF_CLASS
            more, grew = new.weighted - old.weighted, new.instructions - old.instructions
            # Unrolling increases the code and decreases the executed instructions, or the reverse.
            if abs(more) >= part * max(old.weighted, new.weighted) and more * grew > 0:
                place = (new if more > 0 else old).place
                counts = f"{name}: {old.instructions} → {new.instructions} instructions"
                yield cost[name], f"{counts} {place}".strip()

    def _precise(self) -> str:
        """Return a sentence on approximate functions that were replaced by arithmetic, or ""."""
        old, new = self.counts(kinds.SPECIAL)
        few, many = self.counts(kinds.FP32)
        if new.instructions >= old.instructions or many.instructions <= few.instructions:
            return ""
        return (
            f"approximate functions (MUFU) became arithmetic: {old.instructions} → "
            f"{new.instructions} {old.place}, FP32 {few.instructions} → {many.instructions}"
        )

    def _local(self) -> str:
        """Return a sentence on local memory traffic (spills, arrays with a variable index)."""
        (old_store, store), (old_load, load) = map(self.counts, kinds.LOCAL)
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


@lru_cache(maxsize=64)
def changed(before: Kernel, after: Kernel) -> CodeChange:
    """Return what is different in `after`. A pure function."""
    sides = WeightedCode(before.code), WeightedCode(after.code)
    if before.digest == after.digest:
        counts = sides[0].counts()
        return CodeChange(True, True, counts, counts)
    unrolled = _match_loops(*sides)
    texts = [[str(one) for one in kernel.code] for kernel in (before, after)]
    old, new = (side.counts() for side in sides)
    widths, hunk = _widths(*sides), _hunk(*sides)
    return CodeChange(False, texts[0] == texts[1], old, new, unrolled, widths, hunk)


def _match_loops(before: WeightedCode, after: WeightedCode) -> tuple[Unrolling, ...]:
    """Return the loops whose unrolling changed; make the weights of both sides comparable."""
    found = []
    only_before, only_after = [*before.main_loops], []
    for loop in after.main_loops:
        old = _most_alike(loop, after, only_before, before)
        if old is None:
            only_after.append(loop)
            continue
        only_before.remove(old)
        ratio = ratio_of(before.work[old], after.work[loop])
        if ratio > 1:
            rounds = ratio * after.copies(loop), after.copies(loop)
            before.scale(old, 1 / ratio)
        elif ratio < 0:
            rounds = before.copies(old), -ratio * before.copies(old)
            after.scale(loop, -1 / ratio)
        if ratio != 1 and not _by_width(before.widths(old), after.widths(loop), abs(ratio)):
            found.append(Unrolling(loop.source or old.source, *rounds))
    found += [
        Unrolling(loop.source, 0, after.copies(loop))
        for loop in only_after
        if _unrolled_whole(loop, after, before)
    ]
    found += [
        Unrolling(loop.source, before.copies(loop), 0)
        for loop in only_before
        if _unrolled_whole(loop, before, after)
    ]
    return tuple(found)


def _most_alike(
    loop: Loop, here: WeightedCode, others: Sequence[Loop], there: WeightedCode
) -> Loop | None:
    """Return the loop of the other side with similar work, preferably from the same line, or None.

    Of several it is the largest, because the remainder of an unrolled loop is a loop too.
    """

    def likeness(other: Loop) -> tuple[bool, bool, int]:
        same_line = bool(loop.source) and other.source == loop.source
        return same_line, other.depth == loop.depth, len(other.body)

    alike = [one for one in others if here.work[loop].keys() & there.work[one].keys()]
    return max(alike, key=likeness, default=None)


def _by_width(before: Mapping[str, int], after: Mapping[str, int], ratio: int) -> bool:
    """Return whether a round does more only because its accesses are wider."""
    both = ((before[access], after[access]) for access in before.keys() & after.keys())
    return any(max(widths) == ratio * min(widths) for widths in both)


def _unrolled_whole(loop: Loop, here: WeightedCode, there: WeightedCode) -> bool:
    """Return whether the other side has its lines outside loops, with several times its work."""
    lines = {here.code[number].source for number in here.own[loop]} - {""}
    same = [
        number
        for number, instruction in enumerate(there.code)
        if instruction.source in lines and number not in there.innermost
    ]
    return ratio_of(there.work_of(same), here.work[loop]) >= 2


def _widths(before: WeightedCode, after: WeightedCode) -> tuple[Width, ...]:
    found = []
    for access in (*kinds.TRANSFERS, *kinds.LOCAL):
        old, new = (_usual_width(side, access) for side in (before, after))
        if old and new and old[0] != new[0]:
            found.append(Width(access, old, new))
    return tuple(found)


def _usual_width(side: WeightedCode, access: str) -> tuple[int, int] | None:
    """Return the access width (bits) of most of the traffic, and the number of such accesses."""
    traffic: defaultdict[int, float] = defaultdict(float)
    for kind, weight in zip(side.kinds, side.weights, strict=True):
        if kind.name == access:
            traffic[kind.bits] += kind.bits * weight
    bits = max(traffic, key=lambda one: traffic[one], default=0)
    return (bits, side.kinds.count(kinds.Kind(access, bits))) if bits else None


def normalised(instruction: Instruction) -> str:
    """Return an instruction without numbers that differ by build."""
    operands = list(instruction.operands)
    if instruction.opcode.partition(".")[0] in _BRANCHING:
        operands = [_TARGET.sub("target", one) for one in operands]
    text = " ".join((instruction.predicate, instruction.opcode, ", ".join(operands)))
    return _NUMBERED.sub(r"\1", text.replace(".reuse", "")).strip()


def _hunk(before: WeightedCode, after: WeightedCode) -> tuple[str, ...]:
    """Return the most expensive lines of the difference, with context."""
    texts = [[normalised(one) for one in side.code] for side in (before, after)]
    is_large = max(map(len, texts)) > _EXACT_DIFFERENCE
    matcher = difflib.SequenceMatcher(None, texts[0], texts[1], autojunk=is_large)
    lines: list[tuple[float, str]] = []  # with their cost
    for tag, a, b, c, d in matcher.get_opcodes():
        if tag == "equal":
            lines += [(0.0, f"  {_shown(one)}") for one in after.code[c:d]]
            continue
        for sign, side, numbers in (("-", before, range(a, b)), ("+", after, range(c, d))):
            for n in numbers:
                cost = side.weights[n] * kinds.COST[side.kinds[n].name]
                lines.append((cost, f"{sign} {_shown(side.code[n])}"))
    if not any(cost for cost, _ in lines):
        return ()
    sums = [0.0, *itertools.accumulate(cost for cost, _ in lines)]
    room = min(_LONGEST_HUNK, len(lines))
    start = max(range(len(lines) - room + 1), key=lambda n: sums[n + room] - sums[n])
    differ = [n for n in range(start, start + room) if lines[n][0]]
    first, last = max(differ[0] - _CONTEXT, start), min(differ[-1] + _CONTEXT + 1, start + room)
    return tuple(text for _, text in lines[first:last])


def _shown(instruction: Instruction) -> str:
    return f"{instruction}  {instruction.source}".rstrip()
