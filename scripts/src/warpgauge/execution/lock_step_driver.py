# SPDX-License-Identifier: Apache-2.0
"""Drives two benchmark programs in lock-step: one works for a few milliseconds, the other sleeps.

A program of its own, of the standard library alone, so that whatever its sides do ends with it:

    python lock_step_driver.py PLAN

PLAN is a JSON object with the fields of `Plan`. What is found is written to `Plan.results`, a line
of JSON for each benchmark (`Finding`) as soon as it is known. fixtures/README.md has the protocol.
"""

from __future__ import annotations

import contextlib
import dataclasses
import json
import math
import os
import random
import selectors
import signal
import socket
import statistics
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

HELLO = "lock-step 1"

# A side that the driver is done with ends by itself: it has only a file to write.
_ENDING_S = 10.0

_LONGEST_LINE = 64 * 1024  # bytes; a name may be long


@dataclass(frozen=True)
class Plan:
    """Two commands, and what to measure of them. Index 0 is the base, 1 the candidate."""

    commands: list[list[str]]
    outputs: list[str]  # files that get what each side says on standard error
    names: list[str]  # that both have; a program is told to skip all others
    results: str
    cpu: int | None  # where both work; None for anywhere
    first: int  # the side that starts first
    seed: int
    deadline_s: float  # for a side to answer


@dataclass(frozen=True)
class Finding:
    """What became of a benchmark: the pair's log ratio of times, candidate over base, or faults.

    `fault` is why neither side could begin, `of` the side it is of, `status` how that side ended.
    """

    name: str
    log_ratio: float | None = None
    slices: int = 0
    error: float | None = None  # standard error of the log ratio, by what the slices scatter
    lowered: bool = False  # a slice at a lowered clock
    host: bool = False
    of: int | None = None
    fault: str = ""
    status: int | None = None


@dataclass(frozen=True)
class Enough:
    """When a pair of processes has measured a benchmark long enough.

    At least `fewest` pairs of slices; no more once their median is known to `error`, nor than
    `most`, nor after `seconds`.
    """

    fewest: int
    most: int
    error: float
    seconds: float = 1.0

    def reached(self, ratios: Sequence[float], seconds: float) -> bool:
        count = len(ratios)
        if count < self.fewest and seconds < 4 * self.seconds:
            return False
        return count >= self.most or seconds >= self.seconds or median_error(ratios) <= self.error


# A replayed operation repeats to a tenth of a percent, a call of the host to some percent.
DEVICE = Enough(fewest=5, most=20, error=5e-4)
HOST = Enough(fewest=12, most=60, error=2e-3)


def median_error(values: Sequence[float]) -> float:
    """Standard error of the median: half of the interval that holds it in two cases of three.

    Between order statistics, so that two states of a benchmark do not look like none.
    """
    if len(values) < 2:
        return math.inf
    ordered, last = sorted(values), len(values) - 1
    low = max(0, math.floor(last / 2 - math.sqrt(len(values)) / 2))
    return (ordered[last - low] - ordered[low]) / 2


class SideFault(Exception):
    """One side is of no use any more. What `hung_up` ends by itself."""

    def __init__(self, side: int, why: str, *, hung_up: bool = False) -> None:
        super().__init__(why)
        self.side, self.hung_up = side, hung_up


class Side:
    """One of the two programs, which runs only while it is asked something."""

    def __init__(self, plan: Plan, index: int) -> None:
        self.index, self._deadline_s = index, plan.deadline_s
        self._unread = b""
        self._socket, theirs = socket.socketpair()
        self._ready = selectors.DefaultSelector()
        self._ready.register(self._socket, selectors.EVENT_READ)
        with theirs, Path(plan.outputs[index]).open("ab") as output:
            self.process = subprocess.Popen(
                [*plan.commands[index], f"--lock-step={theirs.fileno()}"],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=output,
                pass_fds=[theirs.fileno()],
            )

    def say(self, line: str) -> None:
        """Tell it something while it waits. Raises SideFault where it does not."""
        if self._unread or (self._ready.select(0) and self._socket.recv(1, socket.MSG_PEEK)):
            raise self.fault("spoke out of turn")
        try:
            self._socket.sendall(line.encode() + b"\n")
        except OSError:
            raise SideFault(self.index, "ended", hung_up=True) from None

    def hear(self, *expected: str) -> str:
        """Its next line, which begins with one of these words. Raises SideFault."""
        until = time.monotonic() + self._deadline_s
        while b"\n" not in self._unread:
            if not self._ready.select(max(0.0, until - time.monotonic())):
                raise self.fault(f"said nothing for {self._deadline_s:g} s")
            part = self._socket.recv(4096)
            if not part:
                raise SideFault(self.index, "ended", hung_up=True)
            self._unread += part
            if len(self._unread) > _LONGEST_LINE:
                raise self.fault("spoke without end")
        line, _, self._unread = self._unread.partition(b"\n")
        text = line.decode(errors="replace")
        if text.split(" ", 1)[0] not in expected:
            raise self.fault(f"said {text[:80]!r} out of turn")
        return text

    def fault(self, why: str) -> SideFault:
        return SideFault(self.index, why)

    def ended(self, kill: bool) -> int:
        """Its exit status; ended by force where it does not end by itself."""
        self._ready.close()
        self._socket.close()
        if kill:
            self.process.kill()
        try:
            return self.process.wait(_ENDING_S)
        except subprocess.TimeoutExpired:
            self.process.kill()
            return self.process.wait()


@dataclass
class Pair:
    """Both sides, alive together."""

    plan: Plan
    random: random.Random
    sides: list[Side] = field(default_factory=list)

    def start(self) -> None:
        """One after the other, so that neither looks at the machine while the other works."""
        for index in (self.plan.first, 1 - self.plan.first):
            side = Side(self.plan, index)
            self.sides.append(side)
            if side.hear("lock-step") != HELLO:
                raise side.fault("speaks another version of the protocol")
            if self.plan.cpu is not None:
                with contextlib.suppress(OSError):  # not allowed: it stays where it is
                    os.sched_setaffinity(side.process.pid, {self.plan.cpu})
        self.sides.sort(key=lambda side: side.index)

    def next_case(self, wanted: Sequence[str]) -> str | None:
        """The next benchmark of `wanted` that both have come to; None behind the last."""
        cases = [self._next_of(side, wanted) for side in self.sides]
        if cases[0] != cases[1]:
            raise self.sides[1].fault(f"came to {cases[1]} when the base came to {cases[0]}")
        return cases[0]

    def _next_of(self, side: Side, wanted: Sequence[str]) -> str | None:
        while True:
            try:
                line = side.hear("case")
            except SideFault:
                if side.process.poll() in (0, 1) or side.ended(kill=False) in (0, 1):
                    return None  # 1 tells of rows that failed
                raise
            name = line.removeprefix("case ")
            if name in wanted:
                return name
            side.say("skip")
            side.hear("done")

    def measure(self, name: str) -> Finding:
        """Prepares a benchmark on both sides, measures it in slices, and ends it on both."""
        calls, host, able = [1], False, []
        for side in self.order():
            side.say("go")
            words = side.hear("ready", "done").split()
            if words[0] == "ready":
                host = words[1] == "host"
                calls.append(int(words[2]))
                able.append(side)
        ratios: list[float] = []
        lowered = False
        enough, began = HOST if host else DEVICE, time.monotonic()
        while len(able) == 2 and not enough.reached(ratios, time.monotonic() - began):
            times = [0.0, 0.0]
            for side in self.order():
                side.say(f"slice {max(calls)}")
                _, seconds, clock = side.hear("slice").split()
                times[side.index] = float(seconds)
                lowered = lowered or clock == "lowered"
            if not all(0.0 < seconds < math.inf for seconds in times):
                raise self.sides[0 if not 0.0 < times[0] < math.inf else 1].fault("told no time")
            ratios.append(math.log(times[1] / times[0]))
        for side in able:
            side.say("finish")
            side.hear("done")
        if not ratios:
            return Finding(name, host=host)
        middle, error = statistics.median(ratios), median_error(ratios)
        return Finding(name, middle, len(ratios), error, lowered, host)

    def order(self) -> list[Side]:
        """Both sides, whichever first."""
        return self.random.sample(self.sides, 2)

    def end(self, fault: SideFault | None = None) -> dict[int, int]:
        """Exit statuses by side; one that does not end by itself is killed."""
        stuck = fault.side if fault is not None and not fault.hung_up else None
        return {side.index: side.ended(kill=side.index == stuck) for side in self.sides}


def findings(plan: Plan) -> Iterator[Finding]:
    """One for each benchmark, in the order in which they were measured.

    A side that fails costs the benchmark it was at; both start anew for what is left.
    """
    left, generator = list(plan.names), random.Random(plan.seed)
    while left:
        pair, name = Pair(plan, generator), None
        try:
            pair.start()
            while (name := pair.next_case(left)) is not None:
                found = pair.measure(name)
                left.remove(name)
                yield found
            pair.end()
            for missed in left:
                yield Finding(missed, of=1, fault="never came to it")
            return
        except SideFault as fault:
            status = pair.end(fault).get(fault.side)
            if name is None:  # no benchmark was running: more of the same would follow
                for missed in left:
                    yield Finding(missed, of=fault.side, fault=str(fault), status=status)
                return
            left.remove(name)
            yield Finding(name, of=fault.side, fault=str(fault), status=status)


def main(path: str) -> int:
    # Whoever hangs up on us is told by the socket, and not by a signal.
    signal.signal(signal.SIGPIPE, signal.SIG_IGN)
    plan = Plan(**json.loads(Path(path).read_text(encoding="utf-8")))
    with Path(plan.results).open("a", encoding="utf-8") as results:
        for found in findings(plan):
            results.write(json.dumps(dataclasses.asdict(found)) + "\n")
            results.flush()
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
