# SPDX-License-Identifier: Apache-2.0
"""What made kernels slower, by the hardware's counters of both sides.

Each rule asks for a count that moved by more than its noise: instructions, requests and sectors
are counted exactly, what depends on a cache is not. Then it says how many of the kernels' seconds
go with that: those for which a unit that bounds the kernel is busy, in which warps wait for it, or
that the instructions take. A change that no time goes with is no cause.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import chain

from warpgauge.why.memory_causes import MEMORY_RULES
from warpgauge.why.suspects import (
    BARRIER,
    CACHED,
    COUNTED,
    LEAST,
    Both,
    Rule,
    Suspect,
    as_many_threads,
    is_enough,
    is_more,
    is_same,
    same_accesses,
)


def suspects(both: Both) -> Sequence[Suspect]:
    """All that moved, with the seconds that go with it; some of them may be none."""
    return [*chain.from_iterable(rule(both) for rule in _RULES)]


def _occupancy(both: Both) -> Iterator[Suspect]:
    """Fewer warps in flight: Little's law, less the latency that fell because fewer compete."""
    if both.growth("occupancy_limit") >= 1.0 - COUNTED or both.growth("warps") >= 1.0 - COUNTED:
        return
    kept = both.growth("warps") / min(both.growth("latency"), 1.0)
    changes = [both.of("occupancy that the launch allows", "occupancy_limit", "%")]
    changes += [
        both.of(words, key, unit)
        for key, words, unit in (
            ("registers", "registers a thread", ""),
            ("shared_bytes", "shared memory a block", "B"),
            ("block", "threads a block", ""),
        )
        if both.growth(key) != 1.0
    ]
    changes.append(both.of("warps in flight", "warps"))
    seconds = both.after["time"] * (1.0 - kept)
    yield Suspect("occupancy", "Fewer warps fit on a multiprocessor", (*changes,), seconds, 0)


def _tail(both: Both) -> Iterator[Suspect]:
    """Multiprocessors that have no block, or few, while others work on the last ones."""
    if not both.has("active", "warps") or both.growth("occupancy_limit") < 1.0 - COUNTED:
        return
    if both.growth("grid") == 1.0 and both.growth("block") == 1.0:
        return
    kept = both.growth("active") * min(both.growth("warps") / min(both.growth("latency"), 1.0), 1.0)
    if kept >= 1.0 - COUNTED:
        return
    changes = (
        both.of("blocks", "grid"),
        both.of("waves", "waves"),
        both.of("multiprocessors at work", "active", "%"),
    )
    seconds = both.after["time"] * (1.0 - kept)
    words = "Another grid leaves multiprocessors idle, at the end or throughout"
    yield Suspect("tail", words, changes, seconds, 0)


def _fp64(both: Both) -> Iterator[Suspect]:
    if not (is_more(both, "fp64") and is_enough(both, "fp64")):
        return
    seconds = max(
        both.instructions("fp64"),
        both.instructions("instructions"),
        both.stalled("math_pipe_throttle", "short_scoreboard", "wait"),
        both.bound("fp64_busy", "xu_busy"),
    )
    changes = both.of("FP64 instructions", "fp64"), both.of("busy FP64 pipe", "fp64_busy", "%")
    yield Suspect("fp64", "Arithmetic in FP64", changes, seconds)


def _precise(both: Both) -> Iterator[Suspect]:
    """Special functions stayed or went, and FP32 arithmetic took their place."""
    if (
        not both.has("xu", "fma", "fp64", "instructions")
        or is_more(both, "fp64")
        or not same_accesses(both)
    ):
        return
    if not is_more(both, "fma") or both.before["xu"] < LEAST * both.before["instructions"]:
        return
    if both.after["xu"] > both.before["xu"] * (1.0 + CACHED) or not as_many_threads(both):
        return
    seconds = max(
        both.instructions("instructions"), both.bound("fma_busy", "alu_busy", "issue_busy")
    )
    changes = (
        both.of("FP32 instructions", "fma"),
        both.of("special function instructions", "xu"),
        both.of("instructions", "instructions"),
    )
    words = "A precise function in place of an approximate one: more FP32 arithmetic around it"
    yield Suspect("precise", words, changes, seconds)


def _unrolling(both: Both) -> Iterator[Suspect]:
    """More branches around the same arithmetic and the same accesses."""
    if not both.has("control", "fma", "fp64") or not is_more(both, "control"):
        return
    useful = all(is_same(both, key, COUNTED) for key in ("fma", "fp64", "xu"))
    if not (
        useful and same_accesses(both) and as_many_threads(both) and is_more(both, "instructions")
    ):
        return
    seconds = max(
        both.instructions("instructions"),
        both.stalled("branch_resolving", "no_instruction", "wait", "long_scoreboard"),
    )
    changes = both.of("control instructions", "control"), both.of("instructions", "instructions")
    yield Suspect("unrolling", "Loops are unrolled less", changes, seconds)


def _divergence(both: Both) -> Iterator[Suspect]:
    if not both.has("threads") or as_many_threads(both) or not is_more(both, "instructions"):
        return
    seconds = max(both.instructions("instructions"), both.stalled("branch_resolving", BARRIER))
    changes = (
        both.of("threads that work in an instruction", "threads"),
        both.of("instructions", "instructions"),
    )
    yield Suspect("divergence", "Threads of a warp take different branches", changes, seconds)


def _instructions(both: Both) -> Iterator[Suspect]:
    if not is_more(both, "instructions"):
        return
    kinds = ("fma", "alu", "fp64", "xu", "lsu", "control", "tensor")
    grown = [key for key in kinds if both.has(key) and is_more(both, key)]
    most = sorted(grown, key=lambda key: both.before[key] - both.after[key])[:2]
    names = {"fma": "FP32", "alu": "integer and logic", "xu": "special function", "lsu": "memory"}
    changes = [both.of("instructions", "instructions")]
    changes += [both.of(f"{names.get(key, key)} instructions", key) for key in most]
    seconds = both.instructions("instructions")
    yield Suspect("instructions", "Kernels execute more instructions", (*changes,), seconds, 2)


_RULES: Sequence[Rule] = (
    *MEMORY_RULES,
    _occupancy,
    _tail,
    _fp64,
    _precise,
    _unrolling,
    _divergence,
    _instructions,
)
