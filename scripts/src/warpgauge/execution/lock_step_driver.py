# SPDX-License-Identifier: Apache-2.0
"""Drives both builds of benchmark programs in lock-step: one works for a moment, the other sleeps.

It runs in its own process (`command`), so that its sides cannot outlive it. Its argument is a JSON
file with the fields of `Plan`. It writes one line of JSON (`Finding`) to `Plan.results` as soon as
a benchmark's result is known; for a repeated name of a program the last line counts.
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
from collections.abc import Generator, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from warpgauge.execution.lock_step_protocol import Finding, Plan, Side, SideFault


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


def is_enough(ratios: Sequence[float], rule: Rule, seconds: float) -> bool:
    """Return whether the slices' log ratios are precise enough after `seconds` per side."""
    slices = len(ratios)
    if seconds >= (_LONG_S if slices >= _FEWEST_SLICES else 4 * _LONG_S):
        return slices > 0
    if not rule.fewest <= slices < rule.most:
        return slices >= rule.most
    # The standard error of a normal sample's median is sqrt(pi / 2) times that of its mean.
    return statistics.stdev(ratios) * math.sqrt(math.pi / 2 / slices) <= rule.error


class Pair:
    """The live processes of both sides of a program, which measure the benchmarks in `left`."""

    def __init__(self, plan: Plan, number: int, left: list[str], start: int = 1) -> None:
        self.plan, self.number, self.left, self.start = plan, number, left, start
        self.sides: list[Side] = []
        self.measured: list[str] = []
        self._random = random.Random(f"{plan.seed} {start}")
        self._hellos: set[str] = set()

    def begin(self) -> None:
        """Start both sides, unless they have been started, and set their core. Raises SideFault.

        One after the other: some benchmarks depend on whose CUDA context was first (1.8 % of
        `reduce/sum/f32/n:65536` on an H200). The pairs' order then cancels that.
        """
        if self.sides:
            return
        for index in self.plan.order:
            self._start(index)
        self.sides.sort(key=lambda side: side.index)

    def begin_early(self) -> None:
        """Start both sides while another program is alive. If that fails, `begin` tries again."""
        try:
            self.begin()
        except SideFault:
            self.end()

    def _start(self, index: int) -> None:
        program = self.plan.programs[self.number]
        output = f"{program.reports[index]}{self.start}"
        try:
            side = Side(index, program.commands[index], output, self.plan.deadline_s)
        except OSError as why:
            raise SideFault(index, f"cannot be started ({why.strerror})") from None
        self.sides.append(side)
        hello = " ".join(side.hear("lock-step"))
        if hello not in HOST:
            raise SideFault(side.index, "speaks another version of the protocol")
        self._hellos.add(hello)
        if program.cpu is not None:
            with contextlib.suppress(OSError):  # if not permitted, it stays where it is
                os.sched_setaffinity(side.process.pid, {program.cpu})

    def end(self) -> None:
        """End both sides; they have measured nothing, and may start again."""
        for side in self.sides:
            side.killed()
            side.left_behind()
        self.sides.clear()
        self.start += 1

    def next_case(self) -> str:
        """Advance both sides; return the benchmark that they have reached, "" after the last."""
        base, case = map(self._next_of, self.sides)
        if case != base:
            case, base = case or "its end", base or "its end"
            raise SideFault(1, f"reached {case} when the base reached {base}")
        if base:
            for side in self.sides:
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
            if (name := " ".join(words[1:])) in self.left:
                return name
            side.say("skip")
            side.hear("done")

    def measure(self, name: str) -> Finding:
        """Prepare a benchmark on both sides, measure it in slices, and finish it."""
        calls, clocks, able = [1.0], {"device"}, list[Side]()
        for side in self.in_turns():
            side.say("go 1")
            words = side.hear("ready", "done")
            if words[0] == "ready":
                clocks.update(words[1:2])
                calls.append(side.number(words, 2))
                able.append(side)
        # A side that knows no length gets none, and then the other side gets none, either.
        oldest = next(hello for hello in HOST if hello in self._hellos)
        rule = HOST[oldest] if "host" in clocks else DEVICE
        length = "" if rule.slice_s is None else f" {rule.slice_s:g}"
        ratios, began = list[float](), time.monotonic()
        while len(able) == len(self.sides):
            times = {}
            for side in self.in_turns():
                side.say(f"slice {max(calls):.0f}{length}")
                times[side.index] = side.number(side.hear("slice"), 1)
            ratios.append(math.log(times[1] / times[0]))
            if is_enough(ratios, rule, (time.monotonic() - began) / len(able)):
                break
        for side in able:
            side.say("finish")
            side.hear("done")
        self.measured.append(name)
        middle = statistics.median(ratios) if ratios else None
        return Finding(self.number, name, middle, len(ratios), start=self.start)

    def in_turns(self) -> list[Side]:
        """Return the sides in a new random order."""
        return self._random.sample(self.sides, len(self.sides))

    def end_for(self, fault: SideFault, name: str) -> Finding:
        """End both sides, and return that a fault cost the benchmark `name`."""
        status, left_behind = 0, False
        for side in self.sides:
            by_force = side.index == fault.side and fault.ended_for
            with contextlib.suppress(SideFault):
                if not by_force:
                    side.ended()
            ended = side.killed()
            status = ended if side.index == fault.side else status
            left_behind |= side.left_behind()
        return Finding(
            self.number,
            name,
            of=fault.side,
            ended_for=fault.ended_for,
            status=status,
            start=self.start,
            left_behind=left_behind,
        )


def findings(plan: Plan) -> Iterator[Finding]:
    """Yield at least one finding for each benchmark, in the order of measurement.

    A program starts while the one before ends, which saves half of the time that ending takes.
    After a program of which a side failed, the others are not measured: what that side left on the
    GPU would disturb them.
    """
    pairs = [Pair(plan, number, [*one.names]) for number, one in enumerate(plan.programs)]
    for pair, following in itertools.zip_longest(pairs, pairs[1:]):
        sound = yield from _of_program(pair, following)
        if not sound:
            if following is not None:
                following.end()
            return


def _of_program(pair: Pair, following: Pair | None) -> Generator[Finding, None, bool]:
    """Measure a program; start the `following` one as soon as nothing is left to measure.

    A fault costs the benchmark that was running; both sides then start again with the rest. Return
    whether there was none.
    """
    sound = True
    while True:
        name = ""
        try:
            pair.begin()
            while name := pair.next_case():
                found = pair.measure(name)
                pair.left.remove(name)
                name = ""
                yield found
                if following is not None and sound and not pair.left:
                    following.begin_early()
            if not pair.left:
                left_behind = [side.left_behind() for side in pair.sides]
                yield dataclasses.replace(found, ended=True, left_behind=any(left_behind))
                return sound
            raise SideFault(0)  # neither side has them
        except SideFault as fault:
            told, sound = pair.end_for(fault, name), False
        if name:
            pair.left.remove(name)
            yield told
        elif not pair.left:  # after its last: results of a side that fails are not trusted
            for one in pair.measured:
                yield dataclasses.replace(told, name=one, after_last=True)
        elif not pair.measured:  # starting again would fail again
            for one in pair.left:
                yield dataclasses.replace(told, name=one, began=False)
            return False
        if not pair.left:
            return False
        pair = Pair(pair.plan, pair.number, pair.left, pair.start + 1)


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
    plan, before = Plan.read(Path(path)), time.monotonic()
    with Path(plan.results).open("w", buffering=1, encoding="utf-8") as results:
        for found in findings(plan):
            now = time.monotonic()
            told = dataclasses.replace(found, seconds=now - before)
            results.write(json.dumps(dataclasses.asdict(told)) + "\n")
            before = now
    return 0
