# SPDX-License-Identifier: Apache-2.0
"""Drives benchmark programs in lock-step: one works for a few milliseconds, the others sleep.

A process of its own (`command`), so that whatever its sides do ends with it. It is given a
file: a JSON object with the fields of `Plan`. What is found is written to `Plan.results`, a line of
JSON for each benchmark (`Finding`) as soon as it is known; of a name the last holds.
fixtures/README.md has the protocol.
"""

from __future__ import annotations

import contextlib
import dataclasses
import json
import math
import os
import random
import statistics
import sys
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from warpgauge.execution.lock_step_side import Side, SideFault

HELLO = "lock-step 1"


@dataclass(frozen=True)
class Plan:
    """The sides' commands, and what to measure of them. Index 0 is the base.

    Start number k of a side reports to its prefix and ``<k>.json``, and says on standard error what
    goes to ``<k>.err``: nothing overwrites what an earlier process wrote.
    """

    commands: list[list[str]]
    reports: list[str]  # prefixes
    names: list[str]  # that all have; a program is told to skip all others
    results: str
    cpu: int | None  # where all work; None for anywhere
    order: list[int]  # the sides as they start
    seed: int
    deadline_s: float  # for a side to answer


@dataclass(frozen=True)
class Finding:
    """What became of a benchmark: each side's log ratio of times over the base, or a fault.

    `log_ratios` are by side, and empty where a side could not measure: its row tells. A fault is
    that of the side `of`: the driver ended it because of `ended_for`, or it ended by itself with
    `status`; `after_last` where that was behind its last benchmark. Not `began`: while no benchmark
    ran, so that none is to blame, and none can be measured in lock-step.
    """

    name: str
    log_ratios: list[float] = field(default_factory=list)
    slices: int = 0
    of: int | None = None
    ended_for: str = ""
    status: int | None = None
    after_last: bool = False
    began: bool = True
    start: int = 1  # number of the sides' processes


@dataclass(frozen=True)
class _Rule:
    """How many rounds of slices a pair measures: until the median ratio has this standard error."""

    fewest: int
    most: int
    error: float


# Half of what the ratio moves from pair to pair, typically: 0.2 % of device time and 0.8 % of host
# time on two H200 hosts. More slices than that tell nothing of the next pair.
_RULES = {"device": _Rule(3, 9, 0.001), "host": _Rule(5, 25, 0.004)}
# Long slices end earlier: after so many seconds of each side, and then after four times as many.
_FEWEST_SLICES, _LONG_S = 3, 0.5


def is_enough(ratios: Sequence[Sequence[float]], clock: str, seconds: float) -> bool:
    """Whether the sides' log ratios are known well enough, after `seconds` of each side."""
    rule, slices = _RULES[clock], len(ratios[0])
    if seconds >= (_LONG_S if slices >= _FEWEST_SLICES else 4 * _LONG_S):
        return slices > 0
    if not rule.fewest <= slices < rule.most:
        return slices >= rule.most
    scatter = max(map(statistics.stdev, ratios))
    # The median of a normal sample errs by sqrt(pi / 2) times as much as its mean.
    return scatter * math.sqrt(math.pi / 2 / slices) <= rule.error


@dataclass
class Group:
    """All sides, alive together, and what they have measured."""

    plan: Plan
    random: random.Random
    start: int
    sides: list[Side] = field(default_factory=list)
    measured: list[str] = field(default_factory=list)

    def begin(self) -> None:
        """All at once: much of a start is waiting for the GPU's driver. Then each on its CPU."""
        plan = self.plan
        for index in plan.order:
            output = f"{plan.reports[index]}{self.start}"
            try:
                side = Side(index, plan.commands[index], output, plan.deadline_s)
            except OSError as why:
                raise SideFault(index, f"cannot be started ({why.strerror})") from None
            self.sides.append(side)
        for side in self.sides:
            if " ".join(side.hear("lock-step")) != HELLO:
                raise SideFault(side.index, "speaks another version of the protocol")
            if plan.cpu is not None:
                with contextlib.suppress(OSError):  # not allowed: it stays where it is
                    os.sched_setaffinity(side.process.pid, {plan.cpu})
        self.sides.sort(key=lambda side: side.index)

    def next_case(self, wanted: Sequence[str]) -> str:
        """The next benchmark of `wanted` that all have come to; "" behind the last."""
        base, *others = (self._next_of(side, wanted) for side in self.sides)
        for index, case in enumerate(others, 1):
            if case != base:
                came = f"came to {case or 'its end'} when the base came to {base or 'its end'}"
                raise SideFault(index, came)
        return base

    def _next_of(self, side: Side, wanted: Sequence[str]) -> str:
        while True:
            try:
                words = side.hear("case")
            except SideFault as fault:
                if not fault.ended_for and side.ended() in (0, 1):  # 1 tells of rows that failed
                    return ""
                raise
            if (name := " ".join(words[1:])) in wanted:
                return name
            side.say("skip")
            side.hear("done")

    def measure(self, name: str) -> Finding:
        """Prepares a benchmark on all sides, measures it in slices, and ends it on all."""
        calls, clocks, able = [1.0], {"device"}, list[Side]()
        for side in self.in_turns():
            side.say(f"go {len(self.sides) - 1}")
            words = side.hear("ready", "done")
            if words[0] == "ready":
                clocks.update(words[1:2])
                calls.append(side.number(words, 2))
                able.append(side)
        clock = "host" if "host" in clocks else "device"
        ratios: list[list[float]] = [[] for _ in self.sides]
        began = time.monotonic()
        while len(able) == len(self.sides):
            times = [0.0] * len(ratios)
            for side in self.in_turns():
                side.say(f"slice {max(calls):.0f}")
                times[side.index] = side.number(side.hear("slice"), 1)
            for seconds, of_side in zip(times, ratios, strict=True):
                of_side.append(math.log(seconds / times[0]))
            seconds_a_side = (time.monotonic() - began) / len(ratios)
            if is_enough(ratios, clock, seconds_a_side):
                break
        for side in able:
            side.say("finish")
            side.hear("done")
        self.measured.append(name)
        middles = [*map(statistics.median, ratios)] if ratios[0] else []
        return Finding(name, middles, len(ratios[0]), start=self.start)

    def in_turns(self) -> list[Side]:
        """All sides, in an order that is drawn anew."""
        return self.random.sample(self.sides, len(self.sides))

    def end_for(self, fault: SideFault) -> int:
        """All of them, and the exit status of the one at fault."""
        status = 0
        for side in self.sides:
            by_force = side.index == fault.side and fault.ended_for
            with contextlib.suppress(SideFault):
                if not by_force:
                    side.ended()
            ended = side.killed()
            status = ended if side.index == fault.side else status
        return status


def findings(plan: Plan) -> Iterator[Finding]:
    """At least one for each benchmark, in the order in which they were measured.

    A side that fails costs the benchmark it was at; all start anew for what is left.
    """
    left, generator, start = list(plan.names), random.Random(plan.seed), 0
    while left:
        start += 1
        group, name = Group(plan, generator, start), ""
        try:
            group.begin()
            while name := group.next_case(left):
                found = group.measure(name)
                left.remove(name)
                name = ""
                yield found
            if not left:
                return
            raise SideFault(0, "never came to it")
        except SideFault as caught:
            fault, status = caught, group.end_for(caught)
        told = Finding(name, of=fault.side, ended_for=fault.ended_for, status=status, start=start)
        if name:
            left.remove(name)
            yield told
        elif not left:  # behind the last: who ends badly cannot be trusted
            for one in group.measured:
                yield dataclasses.replace(told, name=one, after_last=True)
        elif not group.measured:  # more of the same would follow
            for one in left:
                yield dataclasses.replace(told, name=one, began=False)
            return


def command(plan: Path) -> list[str]:
    """Runs what is planned in that file."""
    package = str(Path(__file__).parents[2])
    words = (
        f"import sys; sys.path.insert(0, {package!r}); "
        "from warpgauge.execution import lock_step_driver as driver; "
        "sys.exit(driver.main(sys.argv[1]))"
    )
    return [sys.executable, "-I", "-c", words, str(plan)]


def main(path: str) -> int:
    plan = Plan(**json.loads(Path(path).read_text(encoding="utf-8")))
    with Path(plan.results).open("a", encoding="utf-8") as results:
        for found in findings(plan):
            results.write(json.dumps(dataclasses.asdict(found)) + "\n")
            results.flush()
    return 0
