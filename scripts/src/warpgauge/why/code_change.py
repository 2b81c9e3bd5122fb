# SPDX-License-Identifier: Apache-2.0
"""What changed between two builds of a kernel, from its machine code."""

from __future__ import annotations

import difflib
import itertools
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from warpgauge.why import instruction_kinds as kinds
from warpgauge.why.loops import Loop
from warpgauge.why.machine_code import Instruction, Kernel
from warpgauge.why.weighted_code import TRANSFERS, Count, WeightedCode, ratio_of

_CONTEXT, _LONGEST_HUNK = 2, 24  # instructions
# Longer code is compared without common instructions as anchors, which is faster.
_EXACT_DIFFERENCE = 1500

# Registers, predicates and barriers, which another build may number differently.
_NUMBERED = re.compile(r"\b(U?R|U?P|B|SB|gsb)\d+\b")
_TARGET = re.compile(r"^0x[0-9a-f]+$")
_BRANCHING = frozenset(("BRA", "CALL", "BSSY", "JMP", "WARPSYNC", "RET"))


@dataclass(frozen=True)
class Unrolling:
    """A loop whose body holds another number of rounds; 0 means completely unrolled."""

    source: str
    before: int
    after: int


@dataclass(frozen=True)
class Width:
    """Accesses to a memory whose usual width changed: bits per access, and number of accesses."""

    access: str
    before: tuple[int, int]
    after: tuple[int, int]


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


def changed(before: Kernel, after: Kernel) -> CodeChange:
    """Return what is different in `after`. A pure function."""
    sides = WeightedCode(before.code), WeightedCode(after.code)
    if before.digest == after.digest:
        counts = sides[0].counts()
        return CodeChange(True, True, counts, counts)
    unrolled = _match_loops(*sides)
    texts = [[str(one) for one in kernel.code] for kernel in (before, after)]
    return CodeChange(
        False,
        texts[0] == texts[1],
        sides[0].counts(),
        sides[1].counts(),
        unrolled,
        _widths(*sides),
        _hunk(*sides),
    )


def _match_loops(before: WeightedCode, after: WeightedCode) -> tuple[Unrolling, ...]:
    """Return the loops whose unrolling changed; make the weights of both sides comparable."""
    found = []
    left = [*before.main_loops]
    alone = []
    for loop in after.main_loops:
        work = after.work(after.own_body(loop))
        old = _most_alike(loop, work, left, before)
        if old is None:
            alone.append(loop)
            continue
        left.remove(old)
        ratio = ratio_of(before.work(before.own_body(old)), work)
        if ratio == 1:
            continue
        times = after.copies(loop) if ratio > 0 else before.copies(old)
        rounds = (ratio * times, times) if ratio > 0 else (times, -ratio * times)
        if not _by_width(before.widths(old), after.widths(loop), abs(ratio)):
            found.append(Unrolling(loop.source or old.source, *rounds))
        if ratio > 0:
            before.scale(old, 1 / ratio)
        else:
            after.scale(loop, -1 / ratio)
    found += [
        Unrolling(loop.source, 0, after.copies(loop))
        for loop in alone
        if _unrolled_whole(loop, after, before)
    ]
    found += [
        Unrolling(loop.source, before.copies(loop), 0)
        for loop in left
        if _unrolled_whole(loop, before, after)
    ]
    return tuple(found)


def _most_alike(
    loop: Loop, work: Counter[str], others: Sequence[Loop], side: WeightedCode
) -> Loop | None:
    """Return the loop of the other side with similar work, preferably from the same line, or None.

    Of several it is the largest, because the remainder of an unrolled loop is a loop too.
    """

    def likeness(other: Loop) -> tuple[bool, bool, int]:
        return (
            bool(loop.source) and other.source == loop.source,
            other.depth == loop.depth,
            len(other.body),
        )

    alike = [one for one in others if work.keys() & side.work(side.own_body(one)).keys()]
    return max(alike, key=likeness, default=None)


def _by_width(before: Mapping[str, int], after: Mapping[str, int], ratio: int) -> bool:
    """Return whether a round does more only because its accesses are wider."""
    both = ((before[access], after[access]) for access in before.keys() & after.keys())
    return any(max(widths) == ratio * min(widths) for widths in both)


def _unrolled_whole(loop: Loop, here: WeightedCode, there: WeightedCode) -> bool:
    """Return whether the other side has its lines outside loops, with several times its work."""
    own = here.own_body(loop)
    lines = {here.code[number].source for number in own} - {""}
    same = [
        number
        for number, instruction in enumerate(there.code)
        if instruction.source in lines and number not in there.innermost
    ]
    return bool(same) and ratio_of(there.work(same), here.work(own)) >= 2


def _widths(before: WeightedCode, after: WeightedCode) -> tuple[Width, ...]:
    found = []
    for access in (*TRANSFERS, kinds.LOCAL_LOAD, kinds.LOCAL_STORE):
        old, new = (_usual_width(side, access) for side in (before, after))
        if old and new and old[0] != new[0]:
            found.append(Width(access, old, new))
    return tuple(found)


def _usual_width(side: WeightedCode, access: str) -> tuple[int, int] | None:
    """Return the access width (bits) of most of the traffic, and the number of such accesses."""
    traffic: dict[int, float] = {}
    for kind, weight in zip(side.kinds, side.weights, strict=True):
        if kind.name == access:
            traffic[kind.bits] = traffic.get(kind.bits, 0.0) + kind.bits * weight
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
    lines: list[str] = []
    costs: list[float] = []
    for tag, a, b, c, d in matcher.get_opcodes():
        if tag == "equal":
            lines += [f"  {_shown(one)}" for one in after.code[c:d]]
            costs += [0.0] * (d - c)
        else:
            for sign, side, numbers in (("-", before, range(a, b)), ("+", after, range(c, d))):
                lines += [f"{sign} {_shown(side.code[n])}" for n in numbers]
                costs += [side.weights[n] * kinds.COST[side.kinds[n].name] for n in numbers]
    if not any(costs):
        return ()
    sums = [0.0, *itertools.accumulate(costs)]
    room = min(_LONGEST_HUNK, len(lines))
    start = max(range(len(lines) - room + 1), key=lambda n: sums[n + room] - sums[n])
    changed = [n for n in range(start, start + room) if costs[n]]
    first, last = changed[0] - _CONTEXT, changed[-1] + _CONTEXT
    return tuple(lines[max(first, start) : min(last + 1, start + room)])


def _shown(instruction: Instruction) -> str:
    source = f"  {instruction.source}" if instruction.source else ""
    return f"{instruction}{source}"
