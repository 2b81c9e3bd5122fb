# SPDX-License-Identifier: Apache-2.0
"""What made kernels slower, from the hardware counters of both sides.

Each rule needs a count that changed by more than its noise. Instructions, requests and sectors are
exact; counts that depend on a cache are not. The rule then states how many of the kernels' seconds
this explains: seconds in which a unit that bounds the kernel is busy, in which warps wait for it,
or that the instructions take. A change that explains no time is not a cause.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import chain

from warpgauge.why.suspects import (
    BARRIER,
    CACHED,
    COUNTED,
    LEAST,
    LOCAL_MEMORY,
    CounterPair,
    Rule,
    Suspect,
)

_WARP = 32  # threads
# Stall reasons of warps that wait for memory.
_LOADS = ("long_scoreboard", "lg_throttle")
_STORES = (*_LOADS, "drain", "membar")
_SHARED = ("short_scoreboard", "mio_throttle")


def suspects(both: CounterPair) -> Sequence[Suspect]:
    """Return all possible causes, each with the seconds that it explains, possibly zero."""
    return [*chain.from_iterable(rule(both) for rule in _RULES)]


def _spills(both: CounterPair) -> Iterator[Suspect]:
    if not both.is_more("local_sectors") or not both.is_enough("local_sectors"):
        return
    seconds = max(
        both.stalled(*_LOADS, BARRIER),
        both.instructions("local_instructions"),
        both.bound("l1_busy", "l2_busy", "dram_busy"),
    )
    changes = both.of("local sectors", "local_sectors"), both.of("registers", "registers")
    yield Suspect("spills", LOCAL_MEMORY, changes, seconds)


def _uncoalesced(both: CounterPair) -> Iterator[Suspect]:
    for what, reasons in (("load", _LOADS), ("store", _STORES)):
        sectors, requests = f"{what}_sectors", f"{what}_requests"
        if not (both.is_more(sectors) and both.growth_each(sectors, requests) > 1.0 + CACHED):
            continue
        if both.growth(requests) < 1.0 - CACHED:  # wider: fewer requests, each for more data
            continue
        if both.has(f"{what}_efficiency") and both.growth(f"{what}_efficiency") > 1.0 - CACHED:
            continue  # also wider: the fetched bytes are used
        seconds = max(
            both.stalled(*reasons, BARRIER), both.bound("l1_busy", "l2_busy", "dram_busy")
        )
        changes = (
            both.each(f"sectors a {what}", sectors, requests),
            both.of("bytes of DRAM", "dram_bytes", "B"),
        )
        yield Suspect("uncoalesced", f"{what.capitalize()}s are coalesced less", changes, seconds)


def _narrower(both: CounterPair) -> Iterator[Suspect]:
    for what, reasons in (("load", _LOADS), ("store", _STORES)):
        sectors, requests = f"{what}_sectors", f"{what}_requests"
        if not (both.is_more(requests) and both.growth_each(sectors, requests) < 1.0 - CACHED):
            continue
        if not both.is_same(sectors, CACHED) or not both.as_many_threads():
            continue
        seconds = max(
            both.stalled(*reasons, BARRIER),
            both.instructions("instructions"),
            both.bound("lsu_busy", "l1_busy"),
        )
        changes = both.of(f"{what}s", requests), both.each(f"sectors a {what}", sectors, requests)
        yield Suspect("narrower", f"{what.capitalize()}s are narrower, and more", changes, seconds)


def _bank_conflicts(both: CounterPair) -> Iterator[Suspect]:
    each = both.growth_each("shared_wavefronts", "shared_instructions")
    if not (both.is_more("bank_conflicts") and each > 1.0 + COUNTED):
        return
    more = both.after["bank_conflicts"] - both.before["bank_conflicts"]
    if more < CACHED * both.after["shared_wavefronts"]:  # may be other traffic of the L1
        return
    seconds = max(both.stalled(*_SHARED, BARRIER), both.bound("shared_busy", "l1_busy"))
    changes = (
        both.of("bank conflicts", "bank_conflicts"),
        both.each("wavefronts per shared access", "shared_wavefronts", "shared_instructions"),
    )
    yield Suspect("bank_conflicts", "Bank conflicts in shared memory", changes, seconds)


def _atomics(both: CounterPair) -> Iterator[Suspect]:
    # This is the busiest slice of the L2; contended addresses lie in one slice.
    if not both.is_busier("atomic_busy"):
        return
    seconds = max(both.bound("atomic_busy"), both.stalled(*_STORES))
    changes = (
        both.of("utilisation of the L2 atomic unit", "atomic_busy", "%"),
        both.of("sectors of atomics", "atomic_sectors"),
    )
    more = both.growth("atomic_sectors") > 1.0 + CACHED
    words = "More atomics" if more else "Atomics contend for the same addresses"
    yield Suspect("atomics", words, changes, seconds)


def _constants(both: CounterPair) -> Iterator[Suspect]:
    if not both.is_busier("constant_busy"):
        return
    seconds = max(both.bound("constant_busy"), both.stalled(*_SHARED, "imc_miss"))
    changes = (
        both.of("utilisation of the constant cache", "constant_busy", "%"),
        both.of("requests to constant memory", "constant_requests"),
    )
    words = "Constant memory is read at several addresses within a warp, one after the other"
    yield Suspect("constants", words, changes, seconds)


def _l2_misses(both: CounterPair) -> Iterator[Suspect]:
    if not (both.has("l2_hits") and both.growth("dram_bytes") > 1.0 + CACHED):
        return
    if both.after["l2_hits"] > both.before["l2_hits"] - COUNTED or both.is_more("local_sectors"):
        return
    if not all(both.is_same(f"{what}_sectors", CACHED) for what in ("load", "store")):
        return
    seconds = max(both.bound("dram_busy", "l2_busy"), both.stalled(*_STORES, BARRIER))
    changes = both.of("hits in the L2", "l2_hits", "%"), both.of("bytes of DRAM", "dram_bytes", "B")
    words = "The same accesses miss the L2: their order or stride no longer suits it"
    yield Suspect("l2_misses", words, changes, seconds)


def _traffic(both: CounterPair) -> Iterator[Suspect]:
    """More accesses of the same kind: more work, or work that is repeated."""
    requests, sectors = ("load_requests", "store_requests"), ("load_sectors", "store_sectors")
    if not both.has(*requests, *sectors) or both.growth(*sectors) <= 1.0 + CACHED:
        return
    used = ("load_efficiency", "store_efficiency")
    wider = both.has(*used) and all(both.growth(key) > 1.0 - CACHED for key in used)
    if not wider and both.growth(*requests) <= 1.0 + CACHED:
        return
    seconds = max(both.bound("l1_busy", "l2_busy", "dram_busy"), both.stalled(*_STORES, BARRIER))
    changes = tuple(both.of(key.replace("_", " "), key) for key in sectors)
    yield Suspect("traffic", "Kernels load or store more data", changes, seconds, 2)


def _occupancy(both: CounterPair) -> Iterator[Suspect]:
    """Fewer warps in flight (Little's law), minus the latency saved because fewer compete."""
    if both.growth("occupancy_limit") >= 1.0 - COUNTED or both.growth("warps") >= 1.0 - COUNTED:
        return
    kept = both.growth("warps") / min(both.growth("latency"), 1.0)
    changes = [both.of("occupancy that the launch allows", "occupancy_limit", "%")]
    changes += [
        both.of(words, key, unit)
        for key, words, unit in (
            ("registers", "registers per thread", ""),
            ("shared_bytes", "shared memory per block", "B"),
            ("block", "threads per block", ""),
        )
        if both.growth(key) != 1.0
    ]
    changes.append(both.of("warps in flight", "warps"))
    seconds = both.after["time"] * (1.0 - kept)
    yield Suspect("occupancy", "Fewer warps fit on a multiprocessor", (*changes,), seconds, 0)


def _tail(both: CounterPair) -> Iterator[Suspect]:
    """Multiprocessors with no or few blocks while others work on the last ones."""
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
        both.of("active multiprocessors", "active", "%"),
    )
    seconds = both.after["time"] * (1.0 - kept)
    words = "Another grid leaves multiprocessors idle, at the end or throughout"
    yield Suspect("tail", words, changes, seconds, 0)


def _fp64(both: CounterPair) -> Iterator[Suspect]:
    if not (both.is_more("fp64") and both.is_enough("fp64")):
        return
    seconds = max(
        both.instructions("fp64"),
        both.instructions("instructions"),
        both.stalled("math_pipe_throttle", "short_scoreboard", "wait"),
        both.bound("fp64_busy", "xu_busy"),
    )
    changes = (
        both.of("FP64 instructions", "fp64"),
        both.of("utilisation of the FP64 pipe", "fp64_busy", "%"),
    )
    yield Suspect("fp64", "Arithmetic in FP64", changes, seconds)


def _precise(both: CounterPair) -> Iterator[Suspect]:
    """More FP32 arithmetic, with as many or fewer special functions."""
    if (
        not both.has("xu", "fma", "fp64", "instructions")
        or both.is_more("fp64")
        or not both.same_accesses()
    ):
        return
    if not both.is_more("fma") or both.before["xu"] < LEAST * both.before["instructions"]:
        return
    if both.after["xu"] > both.before["xu"] * (1.0 + CACHED) or not both.as_many_threads():
        return
    seconds = max(
        both.instructions("instructions"), both.bound("fma_busy", "alu_busy", "issue_busy")
    )
    changes = (
        both.of("FP32 instructions", "fma"),
        both.of("special function instructions", "xu"),
        both.of("instructions", "instructions"),
    )
    # Some precise functions of CUDA, as expf() and division, still use the hardware's function.
    words = "More FP32 arithmetic and as many special functions, as precise functions have"
    if both.growth("xu") < 1.0 - COUNTED:
        words = "A precise function instead of an approximate one"
    yield Suspect("precise", words, changes, seconds)


def _unrolling(both: CounterPair) -> Iterator[Suspect]:
    """More branches around the same arithmetic and the same accesses."""
    if not both.has("control", "fma", "fp64") or not both.is_more("control"):
        return
    if not (both.same_work(COUNTED) and both.is_more("instructions")):
        return
    seconds = max(
        both.instructions("instructions"),
        both.stalled("branch_resolving", "no_instruction", "wait", "long_scoreboard"),
    )
    changes = both.of("control instructions", "control"), both.of("instructions", "instructions")
    yield Suspect("unrolling", "Loops are unrolled less", changes, seconds)


def _divergence(both: CounterPair) -> Iterator[Suspect]:
    if not both.has("threads") or both.as_many_threads() or not both.is_more("instructions"):
        return
    seconds = max(both.instructions("instructions"), both.stalled("branch_resolving", BARRIER))
    key, words = "divergence", "Threads of a warp take different branches"
    changes = [
        both.of("active threads per instruction", "threads"),
        both.of("instructions", "instructions"),
    ]
    if both.growth("block") != 1.0 and both.after["block"] % _WARP:
        key, words = "partial_warps", "Blocks do not fill their last warp"
        changes.insert(0, both.of("threads per block", "block"))
    yield Suspect(key, words, (*changes,), seconds)


def _instructions(both: CounterPair) -> Iterator[Suspect]:
    if not both.is_more("instructions"):
        return
    kinds = ("fma", "alu", "fp64", "xu", "lsu", "control", "tensor")
    grown = [key for key in kinds if both.has(key) and both.is_more(key)]
    most = sorted(grown, key=lambda key: both.before[key] - both.after[key])[:2]
    names = {"fma": "FP32", "alu": "integer and logic", "xu": "special function", "lsu": "memory"}
    changes = [both.of("instructions", "instructions")]
    changes += [both.of(f"{names.get(key, key)} instructions", key) for key in most]
    seconds = both.instructions("instructions")
    yield Suspect("instructions", "Kernels execute more instructions", (*changes,), seconds, 2)


_RULES: Sequence[Rule] = (
    _spills,
    _uncoalesced,
    _narrower,
    _bank_conflicts,
    _atomics,
    _constants,
    _l2_misses,
    _traffic,
    _occupancy,
    _tail,
    _fp64,
    _precise,
    _unrolling,
    _divergence,
    _instructions,
)
