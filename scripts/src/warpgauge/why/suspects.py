# SPDX-License-Identifier: Apache-2.0
"""A possible cause within kernels, and what of the counters of both sides speaks for one."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from warpgauge.why.evidence import Change

COUNTED = 0.02  # the noise of counts that repeat exactly, but for what blocks do in another order
CACHED = 0.05  # of what depends on how the caches were filled
LEAST = 0.005  # of all instructions: fewer do not make a kernel slower
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
class Both:
    """Counters of both sides, and by what of the kernels' time they can be held accountable.

    All times are those of the profiler, of an operation's kernels, in seconds.
    """

    before: Mapping[str, float]
    after: Mapping[str, float]

    def has(self, *keys: str) -> bool:
        """Whether both sides tell them all."""
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
            (self.busy(key) for key in keys if self.after.get(key, 0.0) >= _BOUND), default=0.0
        )

    def busy(self, key: str) -> float:
        """Seconds more for which a unit is busy: `key` is the part of the time that it is."""
        if not self.has(key):
            return 0.0
        return self.after[key] * self.after["time"] - self.before[key] * self.before["time"]

    @staticmethod
    def _stalled(side: Mapping[str, float], reasons: Sequence[str]) -> float:
        latency = side.get("latency", 0.0)
        waiting = sum(side[f"stall_{reason}"] for reason in reasons)
        return side["time"] * waiting / latency if latency > 0.0 else 0.0


def _growth(before: float, after: float) -> float:
    if before <= 0.0:
        return float("inf") if after > 0.0 else 1.0
    return after / before


# A unit that is busy for this part of the time bounds the kernel: others wait for it. (What Nsight
# Compute calls high is above 60 %.)
_BOUND = 0.5


Rule = Callable[[Both], Iterator[Suspect]]


def is_more(both: Both, key: str) -> bool:
    return both.growth(key) > 1.0 + COUNTED


def is_busier(both: Both, key: str) -> bool:
    """Whether a unit is busy for longer, by more than its noise and for a part that counts."""
    longer = both.busy(key)
    was = both.before.get(key, 0.0) * both.before["time"]
    return longer > CACHED * max(was, both.after["time"])


def is_same(both: Both, key: str, noise: float) -> bool:
    return abs(both.growth(key) - 1.0) <= noise


def is_enough(both: Both, key: str) -> bool:
    """Whether there are now enough of them, as for an instruction each."""
    return both.after[key] - both.before[key] > LEAST * both.after.get("instructions", 0.0)


def same_accesses(both: Both) -> bool:
    keys = ("load_requests", "store_requests", "shared_instructions")
    return all(is_same(both, key, CACHED) for key in keys) and not is_more(both, "local_sectors")


def as_many_threads(both: Both) -> bool:
    """Whether as many threads of a warp work as did before."""
    return both.growth("threads") > 1.0 - COUNTED
