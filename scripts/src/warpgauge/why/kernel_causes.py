# SPDX-License-Identifier: Apache-2.0
"""What made kernels slower, from the hardware counters of both sides.

Each rule needs a count that changed by more than its noise. Instructions, requests and sectors are
exact; counts that depend on a cache are not. The rule then states how many of the kernels' seconds
this explains: seconds in which a unit that bounds the kernel is busy, in which warps wait for it,
or that the instructions take. A change that explains no time is not a cause.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain

from warpgauge.why.ncu import COUNTERS
from warpgauge.why.reason import Cause, Change

COUNTED = 0.02  # noise of counts that are exact except for effects of the order of blocks
CACHED = 0.05  # noise of counts that depend on the contents of caches
_LEAST = 0.005  # share of all instructions; fewer do not make a kernel slower
# A unit that is busy for this part of the time bounds the kernel: others wait for it. (Nsight
# Compute calls more than 60 % high.)
BOUND = 0.5
_WARP = 32  # threads
# Neither counters nor a kernel's attributes distinguish the two.
LOCAL_MEMORY = "More local memory: registers are spilled, or an array has no fixed index"
# At a barrier, warps wait for other warps, which wait for something else.
_BARRIER = "barrier"
# Stall reasons of warps that wait for memory.
_LOADS = ("long_scoreboard", "lg_throttle")
_STORES = (*_LOADS, "drain", "membar")
_SHARED = ("short_scoreboard", "mio_throttle")
_MEMORY = ("l1_busy", "l2_busy", "dram_busy")


@dataclass(frozen=True)
class CounterPair:
    """Counters of both sides, and the part of the kernels' time that each explains.

    All times are seconds under the profiler, of one operation's kernels. A key "a/b" is a ratio of
    two counters.
    """

    before: Mapping[str, float]
    after: Mapping[str, float]

    def has(self, *keys: str) -> bool:
        """Return whether both sides have all of these counters."""
        parts = [part for key in keys for part in key.split("/")]
        return all(part in self.before and part in self.after for part in parts)

    @property
    def slower(self) -> float:
        """The additional seconds of an operation's kernels."""
        return self.after["time"] - self.before["time"]

    def causes(self) -> Sequence[Cause]:
        """Return all possible causes, each with the seconds that it explains, possibly zero."""
        return [*chain.from_iterable(rule(self) for rule in _RULES)]

    def cause(
        self,
        key: str,
        words: str,
        shown: Sequence[str],
        stalls: Sequence[str] = (),
        instructions: Sequence[str] = (),
        units: Sequence[str] = (),
        rank: int = 1,
    ) -> Cause:
        """Return a cause that explains the most of three: the seconds in which warps wait for one
        of these reasons, that additional instructions of one kind take, and in which one of the
        units that bound the kernel is busy.
        """
        instruction_seconds = (self._instructions(one) for one in instructions)
        busy_seconds = (self._busy(one) for one in units if self.after.get(one, 0.0) >= BOUND)
        seconds = max(0.0, self._stalled(stalls), *instruction_seconds, *busy_seconds)
        return Cause(key, words, self.changes(*shown), seconds, rank)

    def changes(self, *keys: str) -> tuple[Change, ...]:
        def change(key: str) -> Change:
            before, after = _value(self.before, key), _value(self.after, key)
            return Change(COUNTERS[key].words, before, after, COUNTERS[key].unit)

        return tuple(map(change, keys))

    def growth(self, *keys: str) -> float:
        """Return after over before, for a sum; 1 if a side is unknown, infinite from zero."""
        if not self.has(*keys):
            return 1.0
        before, after = (
            sum(_value(side, key) for key in keys) for side in (self.before, self.after)
        )
        if before <= 0.0:
            return math.inf if after > 0.0 else 1.0
        return after / before

    def is_more(self, *keys: str, noise: float = COUNTED) -> bool:
        return self.growth(*keys) > 1.0 + noise

    def is_less(self, *keys: str, noise: float = COUNTED) -> bool:
        return self.growth(*keys) < 1.0 - noise

    def is_same(self, *keys: str, noise: float = CACHED) -> bool:
        return all(abs(self.growth(key) - 1.0) <= noise for key in keys)

    def is_busier(self, key: str) -> bool:
        """Return whether a unit is busy longer, beyond its noise and by a relevant time."""
        was = self.before.get(key, 0.0) * self.before["time"]
        return self._busy(key) > CACHED * max(was, self.after["time"])

    def is_enough(self, key: str) -> bool:
        """Return whether the increase is large enough to matter if each costs an instruction."""
        return self.after[key] - self.before[key] > _LEAST * self.after.get("instructions", 0.0)

    def same_accesses(self) -> bool:
        same = self.is_same("load_requests", "store_requests", "shared_instructions")
        return same and not self.is_more("local_sectors")

    def same_work(self, noise: float) -> bool:
        """Return whether as many threads do the same arithmetic and the same accesses."""
        useful = self.is_same("fma", "fp64", "xu", noise=noise)
        return useful and self.same_accesses() and self.as_many_threads()

    def as_many_threads(self) -> bool:
        """Return whether as many threads of a warp are active as before."""
        return self.growth("threads") > 1.0 - COUNTED

    def _stalled(self, reasons: Sequence[str]) -> float:
        """Return the additional seconds in which warps wait for one of these reasons.

        Warps in flight = instructions issued per cycle x cycles that each takes (Little's law).
        Those cycles are the sum over all reasons: a reason's part of them is its part of the time.
        """
        keys = [f"stall_{reason}" for reason in reasons if self.has("latency", f"stall_{reason}")]
        before, after = (
            side["time"] * sum(side[key] for key in keys) / side["latency"]
            if side.get("latency", 0.0) > 0.0
            else 0.0
            for side in (self.before, self.after)
        )
        return after - before

    def _instructions(self, key: str) -> float:
        """Return the seconds of additional instructions of a kind, at the mean time of each."""
        if not self.has("instructions", key) or self.after["instructions"] <= 0.0:
            return 0.0
        more = self.after[key] - self.before[key]
        return self.after["time"] * more / self.after["instructions"]

    def _busy(self, key: str) -> float:
        """Return the additional seconds for which a unit is busy; `key` is its busy fraction."""
        if not self.has(key):
            return 0.0
        return self.after[key] * self.after["time"] - self.before[key] * self.before["time"]


def _value(side: Mapping[str, float], key: str) -> float:
    key, _, per = key.partition("/")
    if not per:
        return side.get(key, 0.0)
    return side[key] / side[per] if side.get(per, 0.0) > 0.0 else 0.0


def _spills(both: CounterPair) -> Iterator[Cause]:
    if both.is_more("local_sectors") and both.is_enough("local_sectors"):
        yield both.cause(
            *("spills", LOCAL_MEMORY, ("local_sectors", "registers")),
            stalls=(*_LOADS, _BARRIER),
            instructions=("local_instructions",),
            units=_MEMORY,
        )


def _accesses(both: CounterPair) -> Iterator[Cause]:
    """Uncoalesced accesses need more sectors, narrower ones more requests for the same sectors."""
    for what, stalls in (("load", (*_LOADS, _BARRIER)), ("store", (*_STORES, _BARRIER))):
        sectors, requests = f"{what}_sectors", f"{what}_requests"
        each, used = f"{sectors}/{requests}", f"{what}_efficiency"
        # Wider accesses are fewer, or use the fetched bytes.
        is_wider = both.is_less(requests, noise=CACHED) or (
            both.has(used) and both.growth(used) > 1.0 - CACHED
        )
        if both.is_more(sectors) and both.is_more(each, noise=CACHED) and not is_wider:
            words = f"{what.capitalize()}s are coalesced less"
            yield both.cause("uncoalesced", words, (each, "dram_bytes"), stalls, units=_MEMORY)
        is_narrower = both.is_more(requests) and both.is_less(each, noise=CACHED)
        if is_narrower and both.is_same(sectors) and both.as_many_threads():
            words, units = f"{what.capitalize()}s are narrower, and more", ("lsu_busy", "l1_busy")
            yield both.cause("narrower", words, (requests, each), stalls, ("instructions",), units)


def _bank_conflicts(both: CounterPair) -> Iterator[Cause]:
    each = "shared_wavefronts/shared_instructions"
    if not (both.is_more("bank_conflicts") and both.is_more(each)):
        return
    more = both.after["bank_conflicts"] - both.before["bank_conflicts"]
    if more >= CACHED * both.after["shared_wavefronts"]:  # less may be other traffic of the L1
        yield both.cause(
            *("bank_conflicts", "Bank conflicts in shared memory", ("bank_conflicts", each)),
            stalls=(*_SHARED, _BARRIER),
            units=("shared_busy", "l1_busy"),
        )


def _units(both: CounterPair) -> Iterator[Cause]:
    # This is the busiest slice of the L2; contended addresses lie in one slice.
    if both.is_busier("atomic_busy"):
        more = both.is_more("atomic_sectors", noise=CACHED)
        words = "More atomics" if more else "Atomics contend for the same addresses"
        shown = "atomic_busy", "atomic_sectors"
        yield both.cause("atomics", words, shown, _STORES, units=("atomic_busy",))
    if both.is_busier("constant_busy"):
        words = "Constant memory is read at several addresses within a warp, one after the other"
        shown, stalls = ("constant_busy", "constant_requests"), (*_SHARED, "imc_miss")
        yield both.cause("constants", words, shown, stalls, units=("constant_busy",))


def _l2_misses(both: CounterPair) -> Iterator[Cause]:
    if not both.has("l2_hits") or both.after["l2_hits"] > both.before["l2_hits"] - COUNTED:
        return
    same = both.is_same("load_sectors", "store_sectors") and not both.is_more("local_sectors")
    if same and both.is_more("dram_bytes", noise=CACHED):
        words = "The same accesses miss the L2: their order or stride no longer suits it"
        stalls, units = (*_STORES, _BARRIER), ("dram_busy", "l2_busy")
        yield both.cause("l2_misses", words, ("l2_hits", "dram_bytes"), stalls, units=units)


def _traffic(both: CounterPair) -> Iterator[Cause]:
    """More accesses of the same kind: more work, or work that is repeated."""
    requests, sectors = ("load_requests", "store_requests"), ("load_sectors", "store_sectors")
    used = ("load_efficiency", "store_efficiency")
    if both.has(*requests) and both.is_more(*sectors, noise=CACHED):
        wider = both.has(*used) and all(both.growth(key) > 1.0 - CACHED for key in used)
        if wider or both.is_more(*requests, noise=CACHED):
            words, stalls = "Kernels load or store more data", (*_STORES, _BARRIER)
            yield both.cause("traffic", words, sectors, stalls, units=_MEMORY, rank=2)


def _parallelism(both: CounterPair) -> Iterator[Cause]:
    """Fewer warps in flight (Little's law), minus the latency saved because fewer compete."""
    in_flight = both.growth("warps") / min(both.growth("latency"), 1.0)
    if both.is_less("occupancy_limit"):
        if both.growth("warps") < 1.0 - COUNTED:
            moved = [k for k in ("registers", "shared_bytes", "block") if both.growth(k) != 1.0]
            changes = both.changes("occupancy_limit", *moved, "warps")
            seconds = both.after["time"] * (1.0 - in_flight)
            words = "Fewer warps fit on a multiprocessor"
            yield Cause("occupancy", words, changes, seconds, 0)
    elif both.has("active", "warps") and (both.growth("grid"), both.growth("block")) != (1.0, 1.0):
        # Multiprocessors with no or few blocks while others work on the last ones.
        kept = both.growth("active") * min(in_flight, 1.0)
        if kept < 1.0 - COUNTED:
            words = "Another grid leaves multiprocessors idle, at the end or throughout"
            changes = both.changes("grid", "waves", "active")
            yield Cause("tail", words, changes, both.after["time"] * (1.0 - kept), 0)


def _fp64(both: CounterPair) -> Iterator[Cause]:
    if both.is_more("fp64") and both.is_enough("fp64"):
        yield both.cause(
            *("fp64", "Arithmetic in FP64", ("fp64", "fp64_busy")),
            stalls=("math_pipe_throttle", "short_scoreboard", "wait"),
            instructions=("fp64", "instructions"),
            units=("fp64_busy", "xu_busy"),
        )


def _precise(both: CounterPair) -> Iterator[Cause]:
    """More FP32 arithmetic, with as many or fewer special functions."""
    if not both.has("xu", "fma", "fp64", "instructions") or not both.is_more("fma"):
        return
    if both.before["xu"] < _LEAST * both.before["instructions"] or both.is_more("fp64"):
        return
    # Some precise functions of CUDA, as expf() and division, still use the hardware's function.
    as_many = both.after["xu"] <= both.before["xu"] * (1.0 + CACHED)
    if as_many and both.same_accesses() and both.as_many_threads():
        words = "More FP32 arithmetic and as many special functions, as precise functions have"
        if both.is_less("xu"):
            words = "A precise function instead of an approximate one"
        units, shown = ("fma_busy", "alu_busy", "issue_busy"), ("fma", "xu", "instructions")
        yield both.cause("precise", words, shown, (), ("instructions",), units)


def _unrolling(both: CounterPair) -> Iterator[Cause]:
    """More branches around the same arithmetic and the same accesses."""
    known = both.has("control", "fma", "fp64") and both.same_work(COUNTED)
    if known and both.is_more("control") and both.is_more("instructions"):
        stalls = "branch_resolving", "no_instruction", "wait", "long_scoreboard"
        shown = "control", "instructions"
        yield both.cause("unrolling", "Loops are unrolled less", shown, stalls, ("instructions",))


def _divergence(both: CounterPair) -> Iterator[Cause]:
    if not both.has("threads") or both.as_many_threads() or not both.is_more("instructions"):
        return
    key, words = "divergence", "Threads of a warp take different branches"
    shown = ["threads", "instructions"]
    if both.growth("block") != 1.0 and both.after["block"] % _WARP:
        key, words = "partial_warps", "Blocks do not fill their last warp"
        shown = ["block", *shown]
    yield both.cause(key, words, shown, ("branch_resolving", _BARRIER), ("instructions",))


def _instructions(both: CounterPair) -> Iterator[Cause]:
    if both.is_more("instructions"):
        kinds = ("fma", "alu", "fp64", "xu", "lsu", "control", "tensor")
        grown = [key for key in kinds if both.is_more(key)]
        most = sorted(grown, key=lambda key: both.before[key] - both.after[key])[:2]
        words, shown = "Kernels execute more instructions", ("instructions", *most)
        yield both.cause("instructions", words, shown, (), ("instructions",), rank=2)


_RULES = (
    *(_spills, _accesses, _bank_conflicts, _units, _l2_misses, _traffic, _parallelism),
    *(_fp64, _precise, _unrolling, _divergence, _instructions),
)
