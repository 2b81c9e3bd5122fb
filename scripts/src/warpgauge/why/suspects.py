# SPDX-License-Identifier: Apache-2.0
"""A possible cause, and how the counters of both sides support one."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from warpgauge.why.evidence import Change

COUNTED = 0.02  # the noise of counts that repeat exactly, but for what blocks do in another order
CACHED = 0.05  # of what depends on how the caches were filled
LEAST = 0.005  # of all instructions: fewer do not make a kernel slower
# A unit that is busy for this part of the time bounds the kernel: others wait for it. (What Nsight
# Compute calls high is above 60 %.)
BOUND = 0.5
# Neither counters nor a kernel's attributes distinguish the two.
LOCAL_MEMORY = "More local memory: registers are spilled, or an array has no fixed index"
# Warps wait at a barrier for those that wait for something else.
BARRIER = "barrier"


@dataclass(frozen=True)
class Suspect:
    """A possible cause. `seconds` of the slowdown go with it, None where that is unknown.

    `rank` 0 changed what runs and how it is launched, 1 how it works, 2 is a consequence of that or
    has no other name: what lower ranks explain is not explained again.
    """

    key: str
    words: str
    changes: tuple[Change, ...]
    seconds: float | None
    rank: int = 1


@dataclass(frozen=True)
class CounterPair:
    """Counters of both sides, and the part of the kernels' time that each explains.

    All times are those of the profiler, of an operation's kernels, in seconds.
    """

    before: Mapping[str, float]
    after: Mapping[str, float]

    def has(self, *keys: str) -> bool:
        """Whether both sides have them all."""
        return all(key in self.before and key in self.after for key in keys)

    @property
    def slower(self) -> float:
        """Seconds that an operation's kernels take longer."""
        return self.after["time"] - self.before["time"]

    def of(self, words: str, key: str, unit: str = "") -> Change:
        return Change(words, self.before.get(key, 0.0), self.after.get(key, 0.0), unit)

    def growth(self, *keys: str) -> float:
        """After over before, of a sum; 1 where a side does not tell, infinite from nothing."""
        if not self.has(*keys):
            return 1.0
        return _growth(*(sum(side[key] for key in keys) for side in (self.before, self.after)))

    def growth_each(self, key: str, per: str) -> float:
        """The same of `key` over `per`."""
        if not self.has(key, per):
            return 1.0
        sides = (self.before, self.after)
        return _growth(*(side[key] / side[per] if side[per] > 0.0 else 0.0 for side in sides))

    def each(self, words: str, key: str, per: str) -> Change:
        old, new = (
            side[key] / side[per] if side[per] > 0.0 else 0.0 for side in (self.before, self.after)
        )
        return Change(words, old, new)

    def stalled(self, *reasons: str) -> float:
        """Seconds more in which warps wait for one of these reasons.

        Warps in flight = instructions issued a cycle x cycles that each takes (Little's law), and
        those cycles are the sum over all reasons: so the time falls to the reasons by their part.
        """
        both = [reason for reason in reasons if self.has("latency", f"stall_{reason}")]
        return self._stalled(self.after, both) - self._stalled(self.before, both)

    def instructions(self, *keys: str) -> float:
        """Seconds that go with more instructions of these kinds, at the time each one takes."""
        if not self.has("instructions", *keys) or self.after["instructions"] <= 0.0:
            return 0.0
        more = sum(self.after[key] - self.before[key] for key in keys)
        return self.after["time"] * more / self.after["instructions"]

    def bound(self, *keys: str) -> float:
        """Seconds more for which one of these units is busy, where it bounds the kernel after."""
        return max(
            (self.busy(key) for key in keys if self.after.get(key, 0.0) >= BOUND), default=0.0
        )

    def busy(self, key: str) -> float:
        """Seconds more for which a unit is busy: `key` is the part of the time that it is."""
        if not self.has(key):
            return 0.0
        return self.after[key] * self.after["time"] - self.before[key] * self.before["time"]

    def is_more(self, key: str) -> bool:
        return self.growth(key) > 1.0 + COUNTED

    def is_busier(self, key: str) -> bool:
        """Whether a unit is busy for longer, by more than its noise and for a part that counts."""
        longer = self.busy(key)
        was = self.before.get(key, 0.0) * self.before["time"]
        return longer > CACHED * max(was, self.after["time"])

    def is_same(self, key: str, noise: float) -> bool:
        return abs(self.growth(key) - 1.0) <= noise

    def is_enough(self, key: str) -> bool:
        """Whether there are now enough of them, as for an instruction each."""
        return self.after[key] - self.before[key] > LEAST * self.after.get("instructions", 0.0)

    def same_accesses(self) -> bool:
        keys = ("load_requests", "store_requests", "shared_instructions")
        return all(self.is_same(key, CACHED) for key in keys) and not self.is_more("local_sectors")

    def same_work(self, noise: float) -> bool:
        """Whether as many threads do the same arithmetic and the same accesses."""
        useful = all(self.is_same(key, noise) for key in ("fma", "fp64", "xu"))
        return useful and self.same_accesses() and self.as_many_threads()

    def as_many_threads(self) -> bool:
        """Whether as many threads of a warp work as did before."""
        return self.growth("threads") > 1.0 - COUNTED

    @staticmethod
    def _stalled(side: Mapping[str, float], reasons: Sequence[str]) -> float:
        latency = side.get("latency", 0.0)
        waiting = sum(side[f"stall_{reason}"] for reason in reasons)
        return side["time"] * waiting / latency if latency > 0.0 else 0.0


def _growth(before: float, after: float) -> float:
    if before <= 0.0:
        return float("inf") if after > 0.0 else 1.0
    return after / before


Rule = Callable[[CounterPair], Iterator[Suspect]]
