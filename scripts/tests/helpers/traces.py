# SPDX-License-Identifier: Apache-2.0
"""Traces as CUPTI would give them, of made-up times."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence

import msgspec

from warpgauge.why.cupti import Activity

DELAY = "_ZN9warpgauge44_GLOBAL__N__49088f0a_11_patterns_cu_30579f8d12delay_kernelEm"
READ = "_ZN9warpgauge44_GLOBAL__N__49088f0a_11_patterns_cu_30579f8d11read_kernelEPK5uint4mPj"
_STAMP = (
    "_ZN9warpgauge44_GLOBAL__N__8e1af3b0_11_sm_clock_cu_30579f8d"
    "19clock_sample_kernelILNS_11SamplePointE"
)
BEFORE_LEAD, BEFORE_WORK, AFTER_WORK, AFTER_TAIL = (
    f"{_STAMP}{place}EEEvPNS_10ClockStampE" for place in range(4)
)
WORK = "_ZN9warpgauge7kernels6squareEPKfPfm"

# The work of an operation: how long each part runs, and of which kind it is.
Part = tuple[str, int]
KERNEL: Part = ("kernel", 1000)
GAP_NS = 300  # from one record to the next


class Tape:
    """Records one after the other, as on one stream."""

    def __init__(self) -> None:
        self.activities: list[Activity] = []
        self._now = 1_000_000

    def add(self, kind: str, name: str, nanoseconds: int) -> None:
        end = self._now + nanoseconds
        self.activities.append(Activity(kind, name, self._now, end))
        self._now = end + GAP_NS

    def region(self, copies: int, parts: Sequence[Part] = (KERNEL,)) -> None:
        """A timed region: cache emptied, device held back, the work, and a short tail."""
        self.look()
        for _ in range(copies):
            for kind, nanoseconds in parts:
                self.add(kind, WORK if kind == "kernel" else "", nanoseconds)
        for name in (AFTER_WORK, DELAY, AFTER_TAIL):
            self.add("kernel", name, 700)

    def look(self) -> None:
        """The clock is looked at while it comes up: two stamps and no work."""
        for name in (READ, BEFORE_LEAD, DELAY, BEFORE_WORK):
            self.add("kernel", name, 5000)


def tape(copies: int, regions: int, parts: Sequence[Part] = (KERNEL,)) -> Tape:
    """A whole benchmark: verified, calibrated with 1 and 8 copies, timed, and verified again."""
    made = Tape()
    made.look()
    made.look()
    made.add("memset", "", 90)
    made.add("kernel", WORK, 40_000)
    made.region(1, parts)
    made.region(8, parts)
    for _ in range(regions):
        made.region(copies, parts)
    made.add("kernel", WORK, 40_000)
    return made


def text(records: Sequence[Activity], **head: object) -> str:
    """The file that libwarpgauge_trace.so writes of them; `head` overrides its first line."""
    first = {"warpgauge_trace": 1, "activities": len(records), "dropped": 0, "faults": []}
    rows = [msgspec.structs.asdict(record) for record in records]
    lines = [{**first, **head}, *rows]
    return "".join(json.dumps(line, separators=(",", ":")) + "\n" for line in lines)


_THREAD = 4711


def call(
    name: str,
    start_ns: int,
    end_ns: int,
    *,
    kind: str = "runtime",
    thread: int = _THREAD,
    correlation: int = 0,
) -> Activity:
    """A call of CUDA by the host."""
    return Activity(kind, name, start_ns, end_ns, thread=thread, correlation=correlation)


def range_of(name: str, start_ns: int, end_ns: int, thread: int = _THREAD) -> list[Activity]:
    """Both ends of a range of the engine's, which no other range may share its times with."""
    ends = (("range_start", name, start_ns), ("range_end", "", end_ns))
    number = start_ns << 32 | end_ns
    return [Activity(k, n, at, at, thread=thread, correlation=number) for k, n, at in ends]


def marks(name: str, at_ns: int) -> Activity:
    return Activity("mark", name, at_ns, at_ns, thread=_THREAD)


def process(
    benchmark: str, *, replays: int = 0, batches: int = 0, kernels: int = 1
) -> list[Activity]:
    """A whole process with its calls and ranges, that verifies an operation and times it.

    An operation is so many `kernels` and a memset, of which some run at once. It is timed in so
    many `replays` by the device's clock, or in `batches` of 10 by the host's.
    """
    made: list[Activity] = []
    now, correlation = 1_000_000, 0
    launch = "cudaGraphLaunch_v10000" if replays else "cudaLaunchKernel_v7000"

    def issue(name: str, names: Sequence[str]) -> None:
        nonlocal now, correlation
        correlation += 1
        made.append(call(name, now, now + 1800, correlation=correlation))
        driver = name.partition("_")[0].replace("cuda", "cu")
        made.append(call(driver, now + 200, now + 1600, kind="driver", correlation=correlation))
        begin = now + 5000
        for index, work in enumerate(names):
            kind = "kernel" if work else "memset"
            end = begin + 1000
            row = Activity(kind, work, begin, end, stream=7, correlation=correlation, bytes=64)
            made.append(row)
            begin = end + 100 if index % 2 else begin + 300  # every second one overlaps
        now += 2000

    def synchronize() -> None:
        nonlocal now
        made.append(call("cudaStreamSynchronize_v3020", now, now + 20_000))
        now += 21_000

    def within(name: str, contents: Callable[[], None]) -> None:
        nonlocal now
        begin, now = now, now + 10
        contents()
        made.extend(range_of(name, begin, now := now + 10))
        now += 10

    work = [*[WORK] * kernels, ""]

    def verify() -> None:
        within("operation", lambda: issue("cudaLaunchKernel_v7000", [] if replays else work))
        if replays:
            within("launch", lambda: issue(launch, work))
        synchronize()

    def replay() -> None:
        for own in (READ, BEFORE_LEAD, DELAY, BEFORE_WORK):
            issue("cudaLaunchKernel_v7000", [own])
        issue(launch, work)
        synchronize()

    def batch() -> None:
        for _ in range(10):
            issue(launch, work)
        made.append(marks("operations 10", now))

    def measure() -> None:
        for _ in range(replays):
            within("replay", replay)
        for _ in range(batches):
            within("calls", batch)
            synchronize()

    def whole() -> None:
        within("prepare", synchronize)
        within("verify", verify)
        within("measure", measure)

    within(benchmark, whole)
    return made
