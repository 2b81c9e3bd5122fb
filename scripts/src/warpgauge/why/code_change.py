# SPDX-License-Identifier: Apache-2.0
"""What changed between two builds of a kernel, from its machine code, and in words.

Instructions are weighted by how often they run: each loop is assumed to run ten times.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from operator import eq

from warpgauge.why import machine_code as sass
from warpgauge.why.machine_code import Instruction, Kernel

_MOST_LINES = 10
# The least change of a class that is stated: as a share of the class, and of the largest change.
_LEAST_OF_CLASS, _LEAST_OF_CHANGE = 0.05, 0.01
# With unrolling, smaller changes are only the loop's overhead and remainders.
_LEAST_WHERE_UNROLLED = 0.25

_ENDS = frozenset(("EXIT", "RET", "KILL"))
_BRANCHES = frozenset(("BRA", "JMP"))
# Assumed iterations of a loop; only ratios of both sides are used.
_TRIPS = 10.0
# The work of a loop; the rest of its body supports the work.
_WORK = frozenset(
    (
        *(sass.FP16, sass.FP32, sass.FP64, sass.SPECIAL, sass.TENSOR, sass.CONVERSION),
        *sass.TRANSFERS,
    )
)


@dataclass(frozen=True, eq=False)
class Loop:
    """A loop, with the loops inside it."""

    head: int  # address
    body: range  # numbers of instructions
    depth: int  # 1 for an outermost loop
    source: str  # the line of its condition, or ""


@dataclass(frozen=True)
class Count:
    """Instructions of a class: in the code, and as executed if each loop runs ten times.

    In a loop unrolled `n` times more than on the other side, each instruction counts 1/`n`.
    """

    instructions: int = 0
    weighted: float = 0.0
    place: str = ""  # the innermost loop with most of the weight, or the line, or ""


class WeightedCode:
    """The code of one side, with its loops and how often each instruction runs.

    `own` are the instructions of a loop that are not in a loop inside it, and `work` what these do.
    """

    def __init__(self, code: Sequence[Instruction]) -> None:
        self.code = code
        self.kinds = [sass.kind_of(one) for one in code]
        loops = loops_of(code)
        self.innermost = {number: loop for loop in loops for number in loop.body}
        self.weights = [1.0] * len(code)
        for loop in loops:
            self.scale(loop, _TRIPS)
        self.own: dict[Loop, list[int]] = {loop: [] for loop in loops}
        for number, loop in self.innermost.items():
            self.own[loop].append(number)
        self.work = {loop: self.work_of(numbers) for loop, numbers in self.own.items()}
        # The loops that do work, largest first; remainders of unrolled loops run once.
        self.main_loops: list[Loop] = []
        for loop in sorted(loops, key=lambda one: (one.depth, -len(one.body))):
            same = [
                self.work[one]
                for one in self.main_loops
                if (one.source, one.depth) == (loop.source, loop.depth)
            ]
            if any(ratio_of(work, self.work[loop]) >= 2 for work in same):
                self.scale(loop, 1 / _TRIPS)
            elif self.work[loop]:
                self.main_loops.append(loop)

    def scale(self, loop: Loop, factor: float) -> None:
        for number in loop.body:
            self.weights[number] *= factor

    def work_of(self, numbers: Sequence[int]) -> Counter[str]:
        """Return operations by class, and bits moved, which do not depend on access widths."""
        found: Counter[str] = Counter()
        for number in numbers:
            kind = self.kinds[number]
            if kind.name in _WORK:
                found[kind.name] += kind.bits or 1
        return found

    def copies(self, loop: Loop) -> int:
        """Return how many equal rounds its body may have, from the repetition of its lines."""
        repeated = Counter(
            (self.code[number].opcode, self.code[number].source)
            for number in self.own[loop]
            if self.kinds[number].name in _WORK
        )
        return math.gcd(*repeated.values()) if repeated else 1

    def counts(self) -> dict[str, Count]:
        """Return the instructions by class."""
        found: dict[str, list[int]] = {}
        for number, kind in enumerate(self.kinds):
            found.setdefault(kind.name, []).append(number)
        return {
            name: Count(len(some), sum(self.weights[n] for n in some), self._place(some))
            for name, some in found.items()
        }

    def _place(self, numbers: Sequence[int]) -> str:
        places: Counter[str] = Counter()
        for number in numbers:
            loop = self.innermost.get(number)
            source = loop.source if loop else self.code[number].source
            called = f"in the loop at {source}" if source else "in a loop"
            place = called if loop else f"at {source}" if source else ""
            places[place] += int(self.weights[number])
        return places.most_common(1)[0][0]


def ratio_of(more: Counter[str], less: Counter[str]) -> int:
    """Return how many times as much work a round of `more` does, if most classes agree; else 1."""
    ratios = Counter(more[name] / less[name] for name in more.keys() & less.keys())
    ratio, votes = max(ratios.items(), key=lambda item: item[1], default=(1.0, 0))
    return int(ratio) if ratio == int(ratio) and 2 * votes > ratios.total() else 1


def loops_of(code: Sequence[Instruction]) -> list[Loop]:
    """Return all loops of a kernel, outer loops before inner ones.

    A loop is what lies between a branch back and its target. Code of rare cases lies behind an exit
    and jumps back over it, which is no loop.
    """
    numbers = {f"{one.address:#x}": number for number, one in enumerate(code)}
    names = [one.opcode.partition(".")[0] for one in code]
    exits = [n for n, one in enumerate(code) if names[n] in _ENDS and not one.predicate]
    ends: dict[int, int] = {}  # by head
    for number, one in enumerate(code):
        head = (
            numbers.get(one.operands[-1]) if one.operands and names[number] in _BRANCHES else None
        )
        if head is not None and head <= number and not any(head <= n < number for n in exits):
            ends[head] = number
    loops = []
    for head, end in ends.items():
        depth = sum(first <= head and end <= last for first, last in ends.items())
        body = range(head, end + 1)
        loops.append(Loop(code[head].address, body, depth, code[end].source))
    return sorted(loops, key=lambda loop: (loop.depth, loop.head))


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
        before, after = (rounds or "completely" for rounds in (self.before, self.after))
        return f"unrolling{self.source and f' at {self.source}'} {before} → {after}"


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
    """How the machine code of a kernel changed. Counts are by the names of instruction_sass."""

    is_same: bool  # including constants and launch bounds
    same_instructions: bool
    before: Mapping[str, Count]
    after: Mapping[str, Count]
    unrolled: tuple[Unrolling, ...] = ()
    widths: tuple[Width, ...] = ()

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
        return ["about as many instructions of each kind, in another order or with other operands"]

    def _weighted(self) -> Iterator[tuple[float, str]]:
        """Yield sentences, each with the cost of what it states."""
        cost = {}
        for name in {**self.before, **self.after}:
            old, new = self.counts(name)
            cost[name] = sass.COST[name] * abs(new.weighted - old.weighted)
        total = sum(cost.values())
        yield from ((total + 1, str(width)) for width in self.widths)
        yield from ((total, str(unrolling)) for unrolling in self.unrolled)
        # What has a sentence of its own, or is irrelevant to an author.
        said = {sass.MOVE, sass.OTHER, *(width.access for width in self.widths)}
        for name in [name for name in cost if name not in said]:
            old, new = self.counts(name)
            part = _LEAST_WHERE_UNROLLED if self.unrolled else _LEAST_OF_CLASS
            more, grew = new.weighted - old.weighted, new.instructions - old.instructions
            # Unrolling increases the code and decreases the executed instructions, or the reverse.
            if abs(more) >= part * max(old.weighted, new.weighted) and more * grew > 0:
                place = (new if more > 0 else old).place
                counts = f"{name}: {old.instructions} → {new.instructions} instructions"
                yield cost[name], f"{counts} {place}".strip()


def changed(before: Kernel, after: Kernel) -> CodeChange:
    """Return what is different in `after`. A pure function."""
    sides = WeightedCode(before.code), WeightedCode(after.code)
    if before.digest == after.digest:
        counts = sides[0].counts()
        return CodeChange(True, True, counts, counts)
    widths = tuple(_widths(*sides))
    unrolled = tuple(_match_loops(*sides, widths))
    texts = [[str(one) for one in kernel.code] for kernel in (before, after)]
    old, new = (side.counts() for side in sides)
    return CodeChange(False, texts[0] == texts[1], old, new, unrolled, widths)


def _match_loops(
    before: WeightedCode, after: WeightedCode, widths: Sequence[Width]
) -> Iterator[Unrolling]:
    """Yield the loops whose unrolling changed; make the weights of both sides comparable.

    Where accesses of other `widths` do as many times the work, the loop is not unrolled.
    """
    widened = {max(bits) / min(bits) for bits in ((w.before[0], w.after[0]) for w in widths)}
    gone, come = [*before.main_loops], []
    for loop in after.main_loops:
        # Other lines may have moved it; the remainder of an unrolled loop is shorter.
        alike = [old for old in gone if before.work[old].keys() & after.work[loop].keys()]
        if not alike:
            come.append(loop)
            continue
        place = loop.source, loop.depth
        old = max(alike, key=lambda one: (*map(eq, (one.source, one.depth), place), len(one.body)))
        gone.remove(old)
        rounds = (
            ratio_of(before.work[old], after.work[loop]),
            ratio_of(after.work[loop], before.work[old]),
        )
        before.scale(old, 1 / rounds[0])
        after.scale(loop, 1 / rounds[1])
        if rounds[0] != rounds[1] and max(rounds) not in widened:
            copies = after.copies(loop) if rounds[1] == 1 else before.copies(old)
            yield Unrolling(loop.source or old.source, rounds[0] * copies, rounds[1] * copies)
    for loop in come:
        if _unrolled_whole(loop, after, before):
            yield Unrolling(loop.source, 0, after.copies(loop))
    for loop in gone:
        if _unrolled_whole(loop, before, after):
            yield Unrolling(loop.source, before.copies(loop), 0)


def _unrolled_whole(loop: Loop, here: WeightedCode, there: WeightedCode) -> bool:
    """Return whether the other side has its lines in fewer loops, with several times its work."""
    lines = {here.code[number].source for number in here.own[loop]} - {""}
    same = [
        number
        for number, instruction in enumerate(there.code)
        if instruction.source in lines
        and (number not in there.innermost or there.innermost[number].depth < loop.depth)
    ]
    return ratio_of(there.work_of(same), here.work[loop]) >= 2


def _widths(before: WeightedCode, after: WeightedCode) -> Iterator[Width]:
    for access in (*sass.TRANSFERS, *sass.LOCAL):
        old, new = (_usual_width(side, access) for side in (before, after))
        if old[0] != new[0] and old[0] and new[0]:
            yield Width(access, old, new)


def _usual_width(side: WeightedCode, access: str) -> tuple[int, int]:
    """Return the access width (bits) of most of the traffic, and the number of such accesses."""
    traffic = Counter[int]()
    for kind, weight in zip(side.kinds, side.weights, strict=True):
        if kind.name == access:
            traffic[kind.bits] += int(kind.bits * weight)
    bits = max(traffic, key=lambda one: traffic[one], default=0)
    return bits, side.kinds.count(sass.Kind(access, bits))
