# SPDX-License-Identifier: Apache-2.0
"""The code of a kernel with its loops, and how often each instruction runs."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from warpgauge.why import instruction_kinds as kinds
from warpgauge.why.instruction_kinds import kind_of
from warpgauge.why.loops import Loop, loops_of
from warpgauge.why.machine_code import Instruction

# Assumed iterations of a loop; only ratios of both sides are used.
_TRIPS = 10.0

# Memory accesses that are the work of a loop; the rest of its body supports the work.
TRANSFERS = (kinds.GLOBAL_LOAD, kinds.GLOBAL_STORE, kinds.SHARED_LOAD, kinds.SHARED_STORE)
_WORK = frozenset(
    (kinds.FP16, kinds.FP32, kinds.FP64, kinds.SPECIAL, kinds.TENSOR, kinds.CONVERSION, *TRANSFERS)
)


@dataclass(frozen=True)
class Count:
    """Instructions of a class: in the code, and as executed if each loop runs ten times.

    In a loop unrolled `n` times more than on the other side, each instruction counts 1/`n`.
    """

    instructions: int = 0
    weighted: float = 0.0
    place: str = ""  # the innermost loop with most of the weight, or the line, or ""


class WeightedCode:
    """The code of one side, with its loops and how often each instruction runs."""

    def __init__(self, code: Sequence[Instruction]) -> None:
        self.code = code
        self.kinds = [kind_of(one) for one in code]
        self.loops = loops_of(code)
        self.innermost: dict[int, Loop] = {}
        for loop in self.loops:  # inner ones come later
            self.innermost.update(dict.fromkeys(loop.body, loop))
        self.weights = [1.0] * len(code)
        for loop in self.loops:
            self.scale(loop, _TRIPS)
        self.main_loops = self._without_remainders()

    def scale(self, loop: Loop, factor: float) -> None:
        for number in loop.body:
            self.weights[number] *= factor

    def own_body(self, loop: Loop) -> list[int]:
        return [number for number in loop.body if self.innermost[number] is loop]

    def work(self, numbers: Sequence[int]) -> Counter[str]:
        """Return operations by class, and bits moved, which do not depend on access widths."""
        found: Counter[str] = Counter()
        for number in numbers:
            kind = self.kinds[number]
            if kind.name in _WORK:
                found[kind.name] += kind.bits or 1
        return found

    def _without_remainders(self) -> list[Loop]:
        """Return the loops that do work, largest first; remainders of unrolled loops run once."""
        found: list[Loop] = []
        for loop in sorted(self.loops, key=lambda one: (one.depth, -len(one.body))):
            work = self.work(self.own_body(loop))
            same = [one for one in found if one.source == loop.source and one.depth == loop.depth]
            if any(ratio_of(self.work(self.own_body(one)), work) >= 2 for one in same):
                self.scale(loop, 1 / _TRIPS)
            elif work:
                found.append(loop)
        return found

    def widths(self, loop: Loop) -> dict[str, int]:
        """Return the widest access to each kind of memory, in bits."""
        kinds = [self.kinds[number] for number in self.own_body(loop)]
        return {kind.name: kind.bits for kind in sorted(kinds) if kind.bits}

    def copies(self, loop: Loop) -> int:
        """Return how many equal rounds its body may have, from the repetition of its lines."""
        repeated = Counter(
            (self.code[number].opcode, self.code[number].source)
            for number in self.own_body(loop)
            if self.kinds[number].name in _WORK
        )
        return math.gcd(*repeated.values()) if repeated else 1

    def counts(self) -> dict[str, Count]:
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
            places[called if loop else f"at {source}" if source else ""] += int(
                self.weights[number]
            )
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
