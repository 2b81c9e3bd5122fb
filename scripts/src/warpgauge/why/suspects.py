# SPDX-License-Identifier: Apache-2.0
"""A possible cause, and how the counters of both sides support it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from warpgauge.why.evidence import Change

COUNTED = 0.02  # noise of counts that are exact except for effects of the order of blocks
CACHED = 0.05  # noise of counts that depend on the contents of caches
LEAST = 0.005  # share of all instructions; fewer do not make a kernel slower
# A unit that is busy for this part of the time bounds the kernel: others wait for it. (Nsight
# Compute calls more than 60 % high.)
BOUND = 0.5
# Neither counters nor a kernel's attributes distinguish the two.
LOCAL_MEMORY = "More local memory: registers are spilled, or an array has no fixed index"
# At a barrier, warps wait for other warps, which wait for something else.
BARRIER = "barrier"


@dataclass(frozen=True)
class Suspect:
    """A possible cause. `seconds` is the part of the slowdown it explains, None if unknown.

    `rank` 0 changes what runs and how it is launched, 1 how it works; 2 is a consequence of these
    or has no other name. Time explained by a lower rank is not explained again.
    """

    key: str
    words: str
    changes: tuple[Change, ...]
    seconds: float | None
    rank: int = 1


@dataclass(frozen=True)
class CounterPair:
    """Counters of both sides, and the part of the kernels' time that each explains.

    All times are seconds under the profiler, of one operation's kernels.
    """

    before: Mapping[str, float]
    after: Mapping[str, float]

    def has(self, *keys: str) -> bool:
        """Return whether both sides have all of these counters."""
        return all(key in self.before and key in self.after for key in keys)

    @property
    def slower(self) -> float:
        """The additional seconds of an operation's kernels."""
        return self.after["time"] - self.before["time"]

    def of(self, words: str, key: str, unit: str = "") -> Change:
        return Change(words, self.before.get(key, 0.0), self.after.get(key, 0.0), unit)

    def growth(self, *keys: str) -> float:
        """Return after over before, for a sum; 1 if a side is unknown, infinite from zero."""
        if not self.has(*keys):
            return 1.0
        return _growth(*(sum(side[key] for key in keys) for side in (self.before, self.after)))

    def growth_each(self, key: str, per: str) -> float:
        """Return the growth of `key` over `per`."""
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
        """Return the additional seconds in which warps wait for one of these reasons.

        Warps in flight = instructions issued per cycle x cycles that each takes (Little's law).
        Those cycles are the sum over all reasons: a reason's part of them is its part of the time.
        """
        both = [reason for reason in reasons if self.has("latency", f"stall_{reason}")]
        return self._stalled(self.after, both) - self._stalled(self.before, both)

    def instructions(self, *keys: str) -> float:
        """Return the seconds of additional instructions of these kinds, at the mean time of one."""
        if not self.has("instructions", *keys) or self.after["instructions"] <= 0.0:
            return 0.0
        more = sum(self.after[key] - self.before[key] for key in keys)
        return self.after["time"] * more / self.after["instructions"]

    def bound(self, *keys: str) -> float:
        """Return the most additional busy seconds of a unit that bounds the kernel after."""
        return max(
            (self.busy(key) for key in keys if self.after.get(key, 0.0) >= BOUND), default=0.0
        )

    def busy(self, key: str) -> float:
        """Return the additional seconds for which a unit is busy; `key` is its busy fraction."""
        if not self.has(key):
            return 0.0
        return self.after[key] * self.after["time"] - self.before[key] * self.before["time"]

    def is_more(self, key: str) -> bool:
        return self.growth(key) > 1.0 + COUNTED

    def is_busier(self, key: str) -> bool:
        """Return whether a unit is busy longer, beyond its noise and by a relevant time."""
        longer = self.busy(key)
        was = self.before.get(key, 0.0) * self.before["time"]
        return longer > CACHED * max(was, self.after["time"])

    def is_same(self, key: str, noise: float) -> bool:
        return abs(self.growth(key) - 1.0) <= noise

    def is_enough(self, key: str) -> bool:
        """Return whether the increase is large enough to matter if each costs an instruction."""
        return self.after[key] - self.before[key] > LEAST * self.after.get("instructions", 0.0)

    def same_accesses(self) -> bool:
        keys = ("load_requests", "store_requests", "shared_instructions")
        return all(self.is_same(key, CACHED) for key in keys) and not self.is_more("local_sectors")

    def same_work(self, noise: float) -> bool:
        """Return whether as many threads do the same arithmetic and the same accesses."""
        useful = all(self.is_same(key, noise) for key in ("fma", "fp64", "xu"))
        return useful and self.same_accesses() and self.as_many_threads()

    def as_many_threads(self) -> bool:
        """Return whether as many threads of a warp are active as before."""
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
