# SPDX-License-Identifier: Apache-2.0
"""What made kernels slower: the rules of rules.csv, over what is known of both sides.

A rule claims a cause only if all of its condition holds, which has words apart by spaces: "+key" is
a counter that must be more, "-key" less, "=key" the same, each beyond its noise; "#key" differs at
all; "@cause" is shown by the code; a bare word is a property of `Sides`. "!" negates, and "?" is
for counters that may be unknown. So no counter that moved the other way, or not at all, becomes a
cause.

Each rule estimates the seconds that it explains: the most of those in which warps wait for one of
its `stalls`, that its `instructions` take, and in which one of its `units` that bound the kernel is
busy. A rule `is_checked` if this was within a third of the truth in
tests/why/planted_causes_on_h200.json.gz, where its cause was the only one.

`facts` of the launch and the resources that differ are named first; `shown` are the counters that
follow. Of rules with the same cause the first that holds counts.
"""

from __future__ import annotations

import csv
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from warpgauge.records.counters import KERNELS, RESOURCES
from warpgauge.why.ncu import COUNTERS, Counter
from warpgauge.why.reason import OF_CODE, Cause, Change

_EXACT = 0.02  # noise of counts that are exact except for effects of the order of blocks
_CACHED = 0.05  # noise of ratios, and of counts that depend on the contents of caches
_OF_A_CACHE = frozenset(("dram_bytes", "l2_hits", "load_efficiency", "store_efficiency"))
_LEAST = 0.005  # share of all instructions; fewer do not make a kernel slower
# A unit that is busy for this part of the time bounds the kernel: others wait for it. (Nsight
# Compute calls more than 60 % high.)
BOUND = 0.5
_CLEAR = 0.8  # a busy unit explains no less than this part of the waits
_MOST_OFF = 1.5  # an estimate beyond this multiple of the kernels' own slowdown is wrong
_LAUNCH = ("block", "grid", "blocks_each")
_NAMES = {**COUNTERS, **{key: Counter("", words, "", ()) for key, words in RESOURCES.items()}}


Rule = Mapping[str, str]
_TABLE = Path(__file__).with_name("rules.csv").read_text().splitlines()
RULES: Sequence[Rule] = [*csv.DictReader(_TABLE)]


@dataclass(frozen=True)
class Sides:
    """What is known of both sides' kernels by name: resources of the row, and counters of ncu.

    All times are seconds under the profiler, of one operation's kernels. A key "a/b" is a ratio of
    two counters. `code` has the causes that the machine code shows, perhaps in words of their own.
    Launches are compared if the same `kernels_run`.
    """

    before: Mapping[str, float]
    after: Mapping[str, float]
    code: Mapping[str, Cause] = field(default_factory=dict)
    code_is_same: bool = False
    same_kernels_run: bool = True

    @property
    def is_counted(self) -> bool:
        return self.of("time") is not None

    @property
    def slower(self) -> float:
        """The additional seconds of an operation's kernels."""
        return self.after["time"] - self.before["time"]

    @property
    def relaunched(self) -> bool:
        """Return whether the same kernels are launched with another grid or other blocks."""
        same = self.same_kernels_run and self.growth(KERNELS) == 1.0
        return same and any(self.growth(key) != 1.0 for key in _LAUNCH)

    @property
    def is_mostly_local(self) -> bool:
        """Return whether most of the accesses are to local memory, as its units are then."""
        others = self.after.get("load_sectors", 0.0) + self.after.get("store_sectors", 0.0)
        return self.after.get("local_sectors", 0.0) > others

    def causes(self) -> Iterator[Cause]:
        """Yield all possible causes, each with the seconds that it may explain, if counted."""
        rules: dict[str, Rule] = {}
        for rule in RULES:
            shown = not self.is_counted and rule["cause"] in self.code
            if shown or all(map(self.holds, rule["condition"].split())):
                rules.setdefault(rule["cause"], rule)
        for cause, rule in rules.items():
            if not (self.code_is_same and cause in OF_CODE):
                yield self._cause(rule)

    def holds(self, condition: str) -> bool:
        sign, key = condition[0], condition[1:]
        if sign == "!":
            return not self.holds(key)
        if sign == "?":
            return self.of(key[1:]) is None or self.holds(key)
        if sign == "@":
            return key in self.code
        if sign.isalpha():
            return bool(getattr(self, condition))
        growth = self.growth(key)
        if sign == "#":
            return growth != 1.0
        if self.of(key) is None or ("/" in key and growth == math.inf):  # of none is no ratio
            return False
        if key.endswith("_busy"):  # longer, and by a relevant time
            was = self.before[key] * self.before["time"]
            return self._longer(key) > _CACHED * max(was, self.after["time"])
        noise = _CACHED if "/" in key or key in _OF_A_CACHE else _EXACT
        if sign == "=":
            return abs(growth - 1.0) <= noise
        return growth < 1.0 - noise if sign == "-" else growth > 1.0 + noise and self._matters(key)

    def _matters(self, key: str) -> bool:
        """Return whether a count grew enough to matter if each costs an instruction."""
        if key not in COUNTERS or COUNTERS[key].over != "sum":
            return True
        return self.after[key] - self.before[key] > _LEAST * self.after.get("instructions", 0.0)

    def _cause(self, rule: Rule) -> Cause:
        cause, rank = rule["cause"], int(rule["rank"])
        code = self.code.get(cause, Cause(cause, "", ()))
        facts = self._changes(key for key in rule["facts"].split() if self.growth(key) != 1.0)
        differs = ", ".join(one.text for one in facts)
        words = ": ".join(filter(None, (differs, code.words or rule["sentence"])))
        changes = (*code.changes, *self._changes(rule["shown"].split())) or facts
        if not (self.is_counted and rule["sentence"]):
            return Cause(cause, words, changes, None, rank)
        seconds, is_sound = self._estimate(rule)
        # Another launch changes counters, too. What the code does not show is its consequence.
        shown = cause in self.code or (cause == "spills" and self.growth("local_bytes") > 1.0)
        if self.relaunched and rank and not shown:
            seconds = 0.0
        checked = rule["is_checked"] == "yes" and seconds <= _MOST_OFF * self.slower
        return Cause(cause, words, changes, seconds, rank, is_sound and checked)

    def _estimate(self, rule: Rule) -> tuple[float, bool]:
        """Return the seconds that a rule explains, and whether the launch or busy units tell."""
        time = self.after["time"]
        if rule["cause"] == "tail":
            return time * (1.0 - self.growth("active")), True
        if rule["cause"] == "occupancy":
            # Little's law, minus the latency that is saved because fewer warps compete.
            kept = self.growth("warps") / min(self.growth("latency") or 1.0, 1.0)
            return time * (1.0 - kept), True
        stalled = (self._longer(f"stall_{reason}/latency") for reason in rule["stalls"].split())
        executed = map(self._executed, rule["instructions"].split())
        units = (key for key in rule["units"].split() if self.after.get(key, 0.0) >= BOUND)
        seconds, busy = max(0.0, sum(stalled), *executed), max((0.0, *map(self._longer, units)))
        return (busy, True) if busy >= _CLEAR * seconds else (seconds, False)

    def of(self, key: str) -> tuple[float, float] | None:
        """Return the values of both sides, None if one is unknown. A ratio to zero is zero."""
        name, _, per = key.partition("/")
        sides = self.before, self.after
        if not all(part in side for side in sides for part in (name, per or name)):
            return None
        before, after = (side[name] / ((side[per] or math.inf) if per else 1.0) for side in sides)
        return before, after

    def _changes(self, keys: Iterable[str]) -> tuple[Change, ...]:
        known = ((_NAMES[key], self.of(key)) for key in keys)
        return tuple(Change(one.words, *both, one.unit) for one, both in known if both)

    def growth(self, key: str) -> float:
        """Return after over before; 1 if a side is unknown, infinite from zero."""
        before, after = self.of(key) or (1.0, 1.0)
        if before <= 0.0:
            return math.inf if after > 0.0 else 1.0
        return after / before

    def _executed(self, key: str) -> float:
        """Return the seconds of additional instructions of a kind, at the mean time of each."""
        before, after = self.of(key) or (0.0, 0.0)
        return self.after["time"] * (after - before) / (self.after.get("instructions") or math.inf)

    def _longer(self, key: str) -> float:
        """Return the additional seconds of what takes a fraction `key` of the time.

        Such as a busy unit, or warps that wait: warps in flight = instructions issued per cycle x
        cycles that each takes (Little's law), and these are the sum over all reasons.
        """
        before, after = self.of(key) or (0.0, 0.0)
        return after * self.after["time"] - before * self.before["time"]
