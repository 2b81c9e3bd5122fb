# SPDX-License-Identifier: Apache-2.0
"""The code of a kernel with its loops, and how often each instruction runs."""

from __future__ import annotations

import itertools
import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components

from warpgauge.why import instruction_kinds as kinds
from warpgauge.why.machine_code import Instruction

_ENDS = frozenset(("EXIT", "RET", "KILL", "BRX", "JMX", "BRXU", "JMXU"))
_BRANCHES = frozenset(("BRA", "JMP"))
# Assumed iterations of a loop; only ratios of both sides are used.
_TRIPS = 10.0
# The work of a loop; the rest of its body supports the work.
_WORK = frozenset(
    (
        *(kinds.FP16, kinds.FP32, kinds.FP64, kinds.SPECIAL, kinds.TENSOR, kinds.CONVERSION),
        *kinds.TRANSFERS,
    )
)


@dataclass(frozen=True, eq=False)
class Loop:
    """A natural loop, with the loops inside it and without those around it."""

    head: int  # address
    body: tuple[int, ...]  # numbers of instructions, ascending
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
        self.kinds = [kinds.kind_of(one) for one in code]
        loops = loops_of(code)
        self.innermost = {number: loop for loop in loops for number in loop.body}
        self.weights = [1.0] * len(code)
        for loop in loops:
            self.scale(loop, _TRIPS)
        self.own: dict[Loop, list[int]] = {loop: [] for loop in loops}
        for number, loop in sorted(self.innermost.items(), key=lambda item: item[0]):
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

    def widths(self, loop: Loop) -> dict[str, int]:
        """Return the widest access to each kind of memory, in bits."""
        found = sorted(self.kinds[number] for number in self.own[loop])
        return {kind.name: kind.bits for kind in found if kind.bits}

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


def ratio_of(before: Counter[str], after: Counter[str]) -> int:
    """Return how many times more work a round of `before` does, negative for `after`; else 1."""
    common = before.keys() & after.keys()
    for one, other, sign in ((before, after, 1), (after, before, -1)):
        ratios = Counter(one[name] / other[name] for name in common)
        ratio, votes = max(ratios.items(), key=lambda item: item[1], default=(1.0, 0))
        if ratio >= 2 and ratio == int(ratio) and 2 * votes > len(common):
            return sign * int(ratio)
    return 1


def loops_of(code: Sequence[Instruction]) -> list[Loop]:
    """Return all loops of a kernel, outer loops before inner ones.

    A loop is a cycle of basic blocks. It is entered at its head, and without the edges back to the
    head, the cycles that are left are the loops inside it.
    """
    blocks, followers = _control_flow(code)
    loops = []
    waiting = [(1, [(block, other) for block, others in enumerate(followers) for other in others])]
    while waiting:
        depth, edges = waiting.pop()
        for body in _cycles(edges):
            entered = {other for block, other in edges if other in body and block not in body}
            head = min(entered, default=min(body))
            back = (block for block, other in edges if other == head and block in body)
            sources = (code[blocks[block][-1]].source for block in sorted(back, reverse=True))
            numbers = sorted(number for block in body for number in blocks[block])
            start = code[blocks[head].start].address
            loops.append(Loop(start, tuple(numbers), depth, next(filter(None, sources), "")))
            inside = [(a, b) for a, b in edges if a in body and b in body and b != head]
            waiting.append((depth + 1, inside))
    return sorted(loops, key=lambda loop: (loop.depth, loop.head))


def _cycles(edges: Sequence[tuple[int, int]]) -> list[set[int]]:
    """Return the largest sets of blocks of which each reaches each."""
    if not edges:
        return []
    rows, columns = zip(*edges, strict=True)
    size = max(*rows, *columns) + 1
    graph = coo_array(([1] * len(edges), (rows, columns)), shape=(size, size))
    _, labels = connected_components(graph, connection="strong")
    found: dict[int, set[int]] = {}
    for block, other in edges:
        if labels[block] == labels[other]:
            found.setdefault(labels[block], set()).update((block, other))
    return [*found.values()]


def _control_flow(code: Sequence[Instruction]) -> tuple[list[range], list[list[int]]]:
    """Return the basic blocks, and the blocks that may follow each. Calls return."""
    numbers = {f"{one.address:#x}": number for number, one in enumerate(code)}
    names = [one.opcode.partition(".")[0] for one in code]
    targets = [
        numbers.get(one.operands[-1]) if one.operands and name in (*_BRANCHES, "CALL") else None
        for one, name in zip(code, names, strict=True)
    ]
    ends = {n + 1 for n, name in enumerate(names) if name in _BRANCHES | _ENDS}
    starts = sorted({0, len(code), *ends, *(one for one in targets if one is not None)})
    blocks = [range(a, b) for a, b in itertools.pairwise(starts)]
    block_at = {block.start: number for number, block in enumerate(blocks)}
    followers: list[list[int]] = []
    for number, block in enumerate(blocks):
        last, name, target = code[block[-1]], names[block[-1]], targets[block[-1]]
        follows = [block_at[target]] if name in _BRANCHES and target is not None else []
        always = name in _ENDS or (name in _BRANCHES and len(last.operands) == 1)
        if (last.predicate or not always) and number + 1 < len(blocks):
            follows.append(number + 1)
        followers.append(follows)
    return blocks, followers
