# SPDX-License-Identifier: Apache-2.0
"""The loops of a kernel, from the back edges of its control flow."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from warpgauge.why.machine_code import Instruction

_ENDS = frozenset(("EXIT", "RET", "KILL", "BRX", "JMX", "BRXU", "JMXU"))
_BRANCHES = frozenset(("BRA", "JMP"))
_CALLS = frozenset(("CALL",))


@dataclass(frozen=True)
class Loop:
    """A natural loop, with the loops inside it and without those around it."""

    head: int  # address
    body: tuple[int, ...]  # numbers of instructions, ascending
    depth: int  # 1 for an outermost loop
    source: str  # the line of its condition, or ""


def loops_of(code: Sequence[Instruction]) -> tuple[Loop, ...]:
    """Return all loops of a kernel, outer loops before inner ones."""
    blocks, successors = _control_flow(code)
    bodies: dict[int, set[int]] = {}
    sources: dict[int, str] = {}
    for block, head in _back_edges(successors):
        sources[head] = code[blocks[block][-1]].source or sources.get(head, "")
        body = bodies.setdefault(head, {head})
        body |= _reaching(block, head, successors)
    found = []
    for head, body in bodies.items():
        depth = sum(head in other for other in bodies.values())
        numbers = sorted(number for block in body for number in blocks[block])
        start = code[blocks[head][0]].address
        found.append(Loop(start, tuple(numbers), depth, sources[head]))
    return tuple(sorted(found, key=lambda loop: (loop.depth, loop.head)))


def _control_flow(
    code: Sequence[Instruction],
) -> tuple[list[range], Mapping[int, Sequence[int]]]:
    """Return basic blocks, and the blocks that may follow each. Block -1 enters the kernel.

    Calls return. Blocks that no path is seen to reach, such as called functions, are also entries.
    """
    numbers = {instruction.address: number for number, instruction in enumerate(code)}
    starts = {0} if code else set()
    for number, instruction in enumerate(code):
        base = instruction.opcode.partition(".")[0]
        if base in _BRANCHES | _ENDS:
            starts.add(number + 1)
        if base in _BRANCHES | _CALLS:
            target = _target(instruction, numbers)
            starts |= {target} if target is not None else set()
    edges = sorted(start for start in starts if start < len(code))
    blocks = [range(a, b) for a, b in itertools.pairwise([*edges, len(code)])]
    block_at = {block.start: number for number, block in enumerate(blocks)}
    successors: dict[int, list[int]] = {}
    for number, block in enumerate(blocks):
        last = code[block[-1]]
        base = last.opcode.partition(".")[0]
        follows: list[int] = []
        if base in _BRANCHES and (target := _target(last, numbers)) is not None:
            follows.append(block_at[target])
        always = base in _ENDS or (base in _BRANCHES and len(last.operands) == 1)
        if (last.predicate or not always) and number + 1 < len(blocks):
            follows.append(number + 1)
        successors[number] = follows
    entered = {0} if blocks else set()
    seen = _reached(entered, successors)
    for number in successors:
        if number not in seen:
            entered.add(number)
            seen |= _reached({number}, successors)
    successors[-1] = sorted(entered)
    return blocks, successors


def _target(instruction: Instruction, numbers: Mapping[int, int]) -> int | None:
    try:
        return numbers.get(int(instruction.operands[-1], 16))
    except (IndexError, ValueError):
        return None


def _reached(
    starts: set[int], successors: Mapping[int, Sequence[int]], avoided: int | None = None
) -> set[int]:
    """Return all blocks on paths from `starts` that do not pass the block `avoided`."""
    seen, waiting = set(starts), [*starts]
    while waiting:
        for block in successors[waiting.pop()]:
            if block not in seen and block != avoided:
                seen.add(block)
                waiting.append(block)
    return seen


def _back_edges(successors: Mapping[int, Sequence[int]]) -> list[tuple[int, int]]:
    """Return the edges to a block that dominates their start: all paths to it pass that block."""
    order = _reverse_postorder(successors)
    place = {block: number for number, block in enumerate(order)}
    edges = ((block, head) for block in order for head in successors[block])
    backward = [(block, head) for block, head in edges if place[head] <= place[block]]
    without = {head: _reached({-1}, successors, head) for _, head in backward}
    return [(block, head) for block, head in backward if block not in without[head]]


def _reverse_postorder(successors: Mapping[int, Sequence[int]]) -> list[int]:
    order: list[int] = []
    seen = {-1}
    waiting = [(-1, iter(successors[-1]))]
    while waiting:
        block, rest = waiting[-1]
        following = next((one for one in rest if one not in seen), None)
        if following is None:
            order.append(block)
            waiting.pop()
        else:
            seen.add(following)
            waiting.append((following, iter(successors[following])))
    return order[::-1]


def _reaching(block: int, head: int, successors: Mapping[int, Sequence[int]]) -> set[int]:
    """Return the blocks from which `block` is reached without passing `head`."""
    before: dict[int, list[int]] = {}
    for one, others in successors.items():
        for other in others:
            before.setdefault(other, []).append(one)
    found, waiting = {block, head}, [block] if block != head else []
    while waiting:
        for one in before.get(waiting.pop(), []):
            if one >= 0 and one not in found:
                found.add(one)
                waiting.append(one)
    return found
