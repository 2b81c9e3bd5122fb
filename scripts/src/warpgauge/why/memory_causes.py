# SPDX-License-Identifier: Apache-2.0
"""What made kernels slower in their accesses to memory, by the counters of both sides."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from warpgauge.why.suspects import (
    BARRIER,
    CACHED,
    COUNTED,
    Both,
    Rule,
    Suspect,
    is_busier,
    is_enough,
    is_more,
    is_same,
)

_LOADS = ("long_scoreboard", "lg_throttle")
_STORES = (*_LOADS, "drain", "membar")
_SHARED = ("short_scoreboard", "mio_throttle")


def _spills(both: Both) -> Iterator[Suspect]:
    if not is_more(both, "local_sectors") or not is_enough(both, "local_sectors"):
        return
    seconds = max(
        both.stalled(*_LOADS, BARRIER),
        both.instructions("local_instructions"),
        both.bound("l1_busy", "l2_busy", "dram_busy"),
    )
    changes = both.of("local sectors", "local_sectors"), both.of("registers", "registers")
    yield Suspect("spills", "Registers are spilled to local memory", changes, seconds)


def _uncoalesced(both: Both) -> Iterator[Suspect]:
    for what, reasons in (("load", _LOADS), ("store", _STORES)):
        sectors, requests = f"{what}_sectors", f"{what}_requests"
        if not (is_more(both, sectors) and both.growth_each(sectors, requests) > 1.0 + CACHED):
            continue
        if both.growth(requests) < 1.0 - CACHED:  # wider: each asks for more, and there are fewer
            continue
        seconds = max(
            both.stalled(*reasons, BARRIER), both.bound("l1_busy", "l2_busy", "dram_busy")
        )
        changes = (
            both.each(f"sectors a {what}", sectors, requests),
            both.of("bytes of DRAM", "dram_bytes", "B"),
        )
        yield Suspect("uncoalesced", f"{what.capitalize()}s are coalesced less", changes, seconds)


def _narrower(both: Both) -> Iterator[Suspect]:
    for what, reasons in (("load", _LOADS), ("store", _STORES)):
        sectors, requests = f"{what}_sectors", f"{what}_requests"
        if not (is_more(both, requests) and both.growth_each(sectors, requests) < 1.0 - CACHED):
            continue
        if not is_same(both, sectors, CACHED):
            continue
        seconds = max(
            both.stalled(*reasons, BARRIER),
            both.instructions("instructions"),
            both.bound("lsu_busy", "l1_busy"),
        )
        changes = both.of(f"{what}s", requests), both.each(f"sectors a {what}", sectors, requests)
        yield Suspect("narrower", f"{what.capitalize()}s are narrower, and more", changes, seconds)


def _bank_conflicts(both: Both) -> Iterator[Suspect]:
    each = both.growth_each("shared_wavefronts", "shared_instructions")
    if not (is_more(both, "bank_conflicts") and each > 1.0 + COUNTED):
        return
    seconds = max(both.stalled(*_SHARED, BARRIER), both.bound("shared_busy", "l1_busy"))
    changes = (
        both.of("bank conflicts", "bank_conflicts"),
        both.each("wavefronts a shared access", "shared_wavefronts", "shared_instructions"),
    )
    yield Suspect("bank_conflicts", "Bank conflicts in shared memory", changes, seconds)


def _atomics(both: Both) -> Iterator[Suspect]:
    # Of the busiest slice of the L2: contended are the addresses of one.
    if not is_busier(both, "atomic_busy"):
        return
    seconds = max(both.bound("atomic_busy"), both.stalled(*_STORES))
    changes = (
        both.of("busy L2 atomic unit", "atomic_busy", "%"),
        both.of("sectors of atomics", "atomic_sectors"),
    )
    more = both.growth("atomic_sectors") > 1.0 + CACHED
    words = "More atomics" if more else "Atomics contend for the same addresses"
    yield Suspect("atomics", words, changes, seconds)


def _constants(both: Both) -> Iterator[Suspect]:
    if not is_busier(both, "constant_busy"):
        return
    seconds = max(both.bound("constant_busy"), both.stalled(*_SHARED, "imc_miss"))
    changes = (
        both.of("busy constant cache", "constant_busy", "%"),
        both.of("requests of constants", "constant_requests"),
    )
    words = "Constant memory is read at several addresses of a warp, one after the other"
    yield Suspect("constants", words, changes, seconds)


def _l2_misses(both: Both) -> Iterator[Suspect]:
    if not (both.has("l2_hits") and both.growth("dram_bytes") > 1.0 + CACHED):
        return
    if both.after["l2_hits"] > both.before["l2_hits"] - COUNTED or is_more(both, "local_sectors"):
        return
    if not all(is_same(both, f"{what}_sectors", CACHED) for what in ("load", "store")):
        return
    seconds = max(both.bound("dram_busy", "l2_busy"), both.stalled(*_STORES, BARRIER))
    changes = both.of("hits in the L2", "l2_hits", "%"), both.of("bytes of DRAM", "dram_bytes", "B")
    words = "The same accesses miss the L2: their order or stride no longer suits it"
    yield Suspect("l2_misses", words, changes, seconds)


def _traffic(both: Both) -> Iterator[Suspect]:
    """More accesses of the same kind: there is more work, or it is done again."""
    requests, sectors = ("load_requests", "store_requests"), ("load_sectors", "store_sectors")
    if not both.has(*requests, *sectors) or both.growth(*requests) <= 1.0 + CACHED:
        return
    if both.growth(*sectors) <= 1.0 + CACHED:
        return
    seconds = max(both.bound("l1_busy", "l2_busy", "dram_busy"), both.stalled(*_STORES, BARRIER))
    changes = tuple(both.of(key.replace("_", " "), key) for key in sectors)
    yield Suspect("traffic", "Kernels load or store more data", changes, seconds, 2)


MEMORY_RULES: Sequence[Rule] = (
    _spills,
    _uncoalesced,
    _narrower,
    _bank_conflicts,
    _atomics,
    _constants,
    _l2_misses,
    _traffic,
)
