# SPDX-License-Identifier: Apache-2.0
"""Drives benchmark programs in lock-step: one works for a few milliseconds, the others sleep.

It runs in its own process (`command`), so that its sides cannot outlive it. Its argument is a JSON
file with the fields of `Plan`. It writes one line of JSON (`Finding`) to `Plan.results` as soon as
a benchmark's result is known; for a repeated name the last line counts. fixtures/README.md
describes the protocol.
"""

from __future__ import annotations

import contextlib
import dataclasses
import itertools
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


@dataclass(frozen=True)
class Plan:
    """The sides' commands, and what to measure. Index 0 is the base.

    Start number k of a side reports to its prefix and ``<k>.json``; its standard error goes to
    ``<k>.err``. Nothing overwrites the output of an earlier process.
    """

    commands: list[list[str]]
    reports: list[str]  # prefixes
    names: list[list[str]]  # per side; the base has all; a side is told to skip any others
    results: str
    cpu: int | None  # core for all sides; None for any
    order: list[int]  # in which the sides start
    seed: int
    deadline_s: float  # for each answer of a side


@dataclass(frozen=True)
class Finding:
    """The result of a benchmark: each side's log ratio of times to the base, or a fault.

    `log_ratios` has one entry per side: None for a side that was not asked. It is empty if a side
    could not measure the benchmark; that side's row says why. A fault is that of side `of`: the
    driver ended it because of `ended_for`, or it ended by itself with `status`, `after_last` if its
    last benchmark was over. If `began` is false, no benchmark was running, so none is to blame,
    and none can be measured in lock-step.
    """

    name: str
    log_ratios: list[float | None] = field(default_factory=list)
    slices: int = 0
    of: int | None = None
    ended_for: str = ""
    status: int | None = None
    after_last: bool = False
    began: bool = True
    start: int = 1  # start number of the sides' processes


@dataclass(frozen=True)
class Rule:
    """When to stop: as soon as the median ratio has this standard error, within these limits."""

    fewest: int
    most: int
    error: float
    slice_s: float | None = None  # None: as long as the programs choose


# The errors are half of the typical variation of the ratio from pair to pair: 0.2 % of device time
# and 0.8 % of host time on three H200 hosts. More slices would not predict the next pair better.
DEVICE = Rule(3, 9, 0.001)
# By hello, oldest first. The scatter of the ratio falls with the number of slices, and one of 4 ms,
# the length that programs of version 1 choose, tells no more than one of 1 ms.
HOST = {"lock-step 1": Rule(5, 25, 0.004), "lock-step 2": Rule(5, 40, 0.004, 0.001)}
# Long slices stop earlier: after this many seconds per side, or four times as many for few slices.
# Long calls differ from pair to pair, too: further pairs tell more than further slices.
_FEWEST_SLICES, _LONG_S = 3, 0.25


def is_enough(ratios: Sequence[Sequence[float]], rule: Rule, seconds: float) -> bool:
    """Return whether the sides' log ratios are precise enough after `seconds` per side."""
    slices = len(ratios[0])
    if seconds >= (_LONG_S if slices >= _FEWEST_SLICES else 4 * _LONG_S):
        return slices > 0
    if not rule.fewest <= slices < rule.most:
        return slices >= rule.most
    scatter = max(map(statistics.stdev, ratios))
    # The standard error of a normal sample's median is sqrt(pi / 2) times that of its mean.
    return scatter * math.sqrt(math.pi / 2 / slices) <= rule.error


@dataclass
class Group:
    """The live processes of all sides with something left to measure; the base always runs."""

    plan: Plan
    left: Sequence[list[str]]  # per side
    random: random.Random
    start: int
    sides: list[Side] = field(default_factory=list)
    at: dict[int, str] = field(default_factory=dict)  # benchmark each waits at; "" if it has ended
    measured: dict[str, list[int]] = field(default_factory=dict)  # benchmark -> sides
    hellos: set[str] = field(default_factory=set)

    def begin(self) -> None:
        """Start all sides at once, as they mostly wait for the GPU driver; then set their core."""
        plan = self.plan
        for index in plan.order:
            if index > 0 and not self.left[index]:
                continue
            output = f"{plan.reports[index]}{self.start}"
            try:
                side = Side(index, plan.commands[index], output, plan.deadline_s)
            except OSError as why:
                raise SideFault(index, f"cannot be started ({why.strerror})") from None
            self.sides.append(side)
        for side in self.sides:
            hello = " ".join(side.hear("lock-step"))
            if hello not in HOST:
                raise SideFault(side.index, "speaks another version of the protocol")
            self.hellos.add(hello)
            if plan.cpu is not None:
                with contextlib.suppress(OSError):  # if not permitted, it stays where it is
                    os.sched_setaffinity(side.process.pid, {plan.cpu})
        self.sides.sort(key=lambda side: side.index)

    def next_case(self) -> str:
        """Advance all sides; return the benchmark that the base has reached, "" after its last.

        Sides that are not to measure it wait at the one they have reached.
        """
        for side in self.sides:
            if side.index not in self.at:
                self.at[side.index] = self._next_of(side)
        base = self.at[0]
        for side in self.sides:
            case = self.at[side.index]
            if case != base and (not base or base in self.left[side.index]):
                came = f"reached {case or 'its end'} when the base reached {base or 'its end'}"
                raise SideFault(side.index, came)
            if case and case == base:
                side.require_silence()  # a side that died while waiting has not begun this one
        return base

    def _next_of(self, side: Side) -> str:
        while True:
            try:
                words = side.hear("case")
            except SideFault as fault:
                if not fault.ended_for and side.ended() in (0, 1):  # 1: some rows failed
                    return ""
                raise
            if (name := " ".join(words[1:])) in self.left[side.index]:
                return name
            side.say("skip")
            side.hear("done")

    def measure(self, name: str) -> Finding:
        """Prepare a benchmark on all sides that have it, measure it in slices, and finish it."""
        alive = sum(map(bool, self.at.values()))
        asked = [side for side in self.sides if self.at[side.index] == name]
        calls, clocks, able = [1.0], {"device"}, list[Side]()
        for side in self.in_turns(asked):
            del self.at[side.index]
            side.say(f"go {alive - 1}")
            words = side.hear("ready", "done")
            if words[0] == "ready":
                clocks.update(words[1:2])
                calls.append(side.number(words, 2))
                able.append(side)
        # A side that knows no length gets none, and then no other side does.
        oldest = next(hello for hello in HOST if hello in self.hellos)
        rule = HOST[oldest] if "host" in clocks else DEVICE
        length = "" if rule.slice_s is None else f" {rule.slice_s:g}"
        ratios: dict[int, list[float]] = {side.index: [] for side in asked}
        began = time.monotonic()
        while len(able) == len(asked):
            times = {}
            for side in self.in_turns(asked):
                side.say(f"slice {max(calls):.0f}{length}")
                times[side.index] = side.number(side.hear("slice"), 1)
            for index, seconds in times.items():
                ratios[index].append(math.log(seconds / times[0]))
            seconds_a_side = (time.monotonic() - began) / len(asked)
            if is_enough([*ratios.values()], rule, seconds_a_side):
                break
        for side in able:
            side.say("finish")
            side.hear("done")
        self.measured[name] = [*ratios]
        middles = {index: statistics.median(own) for index, own in ratios.items() if own}
        by_side = [middles.get(index) for index in range(len(self.left))] if middles else []
        return Finding(name, by_side, len(ratios[0]), start=self.start)

    def in_turns(self, sides: Sequence[Side]) -> list[Side]:
        """Return the sides in a new random order."""
        return self.random.sample(sides, len(sides))

    def end_for(self, fault: SideFault) -> int:
        """End all sides, and return the exit status of the one at fault."""
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
    """Yield at least one finding for each benchmark, in the order of measurement.

    A fault costs the benchmark that was running; all sides then start again with the rest.
    """
    left, generator, start = [[*names] for names in plan.names], random.Random(plan.seed), 0

    def settle(name: str) -> None:
        for names in left:
            names[:] = [one for one in names if one != name]

    while any(left):
        start += 1
        group, name = Group(plan, left, generator, start), ""
        try:
            group.begin()
            while name := group.next_case():
                found = group.measure(name)
                settle(name)
                name = ""
                yield found
            if not any(left):
                return
            lacks = next(index for index, names in enumerate(left) if names)
            raise SideFault(lacks, "never reached it")
        except SideFault as caught:
            fault, status = caught, group.end_for(caught)
        told = Finding(name, of=fault.side, ended_for=fault.ended_for, status=status, start=start)
        if name:
            settle(name)
            yield told
        elif not left[fault.side]:  # after its last: results of a side that fails are not trusted
            for one, sides in group.measured.items():
                if fault.side in sides:
                    yield dataclasses.replace(told, name=one, after_last=True)
        elif not group.measured:  # starting again would fail again
            for one in dict.fromkeys(itertools.chain(*left)):
                yield dataclasses.replace(told, name=one, began=False)
            return


def command(plan: Path) -> list[str]:
    """Return the command that runs the plan in a file."""
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
