# SPDX-License-Identifier: Apache-2.0
"""Which CUDA calls an operation makes, and how long the host is in them. Pure functions of a trace.

The engine says where operations are issued by ranges of its NVTX domain (fixtures/cuda/range.hpp):
the range "operation" holds the calls of one; "launch" the launch of a graph that is one; and
"calls" those of a batch that the host's clock timed, whose mark "operations N" says how many.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from warpgauge.why.trace_file import API, DEVICE, MARK, RANGE_END, RANGE_START, Activity, TraceFault

ONE, GRAPH, BATCH = "operation", "launch", "calls"
_OPERATIONS = re.compile(r"operations (\d+)")
# What CUDA appends to a function's name: the version that the program was compiled for.
_VERSION = re.compile(r"_v\d+$")


@dataclass(frozen=True)
class Call:
    """How often an operation makes a call, and how long the host is in it."""

    count: float
    seconds: float


Calls = Mapping[str, Call]


@dataclass(frozen=True)
class Range:
    """A benchmark, one of its phases, or a part of one, as the engine said."""

    name: str
    start_ns: int
    end_ns: int
    thread: int


def calls_of(trace: Iterable[Activity]) -> Calls:
    """Of one operation: its driver and runtime calls by name, without their versions.

    A call that another one makes on its behalf counts as part of that. Of an operation that the
    host's clock timed it is the mean over all timed batches, else what the first operation did,
    which may have had libraries and kernels to load. Raises TraceFault where no operation is in the
    trace: of a program without the ranges, or one that failed.
    """
    everything = sorted(trace, key=lambda one: (one.start_ns, -one.end_ns))
    found = ranges(everything)
    batches = [one for one in found if one.name == BATCH]
    marks = [one for one in everything if one.kind == MARK]
    operations = sum(
        int(count[1])
        for mark in inside(batches, marks)
        if (count := _OPERATIONS.fullmatch(mark.name))
    )
    if not operations:
        batches = [one for one in found if one.name == ONE]
        operations = len(batches)
    if not operations:
        raise TraceFault(
            "its trace shows no operation: the program has no NVTX ranges, or it failed"
        )
    calls = inside(batches, outermost_calls(everything))
    return _per_operation(((call_name(call), call) for call in calls), operations)


def kernels_of(trace: Iterable[Activity]) -> Sequence[str]:
    """The mangled names of the kernels that an operation runs, in order of their first run."""
    everything = sorted(trace, key=lambda one: one.start_ns)
    around = [one for one in ranges(everything) if one.name in (ONE, GRAPH)]
    kernels = (one.name for one in device_work(around, everything) if one.kind == "kernel")
    return list(dict.fromkeys(kernels))


def device_of(trace: Iterable[Activity]) -> Calls:
    """What the device does in an operation, as its verification ran it.

    By kind and name, of copies their memory: "memcpy pinned to device".
    """
    everything = sorted(trace, key=lambda one: one.start_ns)
    found = ranges(everything)
    # Of a captured operation the launch of its graph, in which the device works.
    around = [one for one in found if one.name == GRAPH] or [
        one for one in found if one.name == ONE
    ]
    work = device_work(around, everything)
    return _per_operation(((f"{one.kind} {one.name}".rstrip(), one) for one in work), len(around))


def _per_operation(named: Iterable[tuple[str, Activity]], operations: int) -> Calls:
    """By name, how many activities an operation has, and their time."""
    found: dict[str, list[int]] = {}
    for name, one in named:
        found.setdefault(name, []).append(one.end_ns - one.start_ns)
    return {
        name: Call(len(times) / operations, sum(times) * 1e-9 / operations)
        for name, times in sorted(found.items())
    }


def device_work(around: Iterable[Range], trace: Sequence[Activity]) -> list[Activity]:
    """What the device did for the calls in these ranges; `trace` is in order of time."""
    calls = inside(around, (one for one in trace if one.kind in API))
    made = {one.correlation for one in calls}
    return [one for one in trace if one.kind in DEVICE and one.correlation in made]


def call_name(call: Activity) -> str:
    """``cudaLaunchKernel`` of ``cudaLaunchKernel_v7000``."""
    return _VERSION.sub("", call.name)


def outermost_calls(trace: Iterable[Activity]) -> Iterator[Activity]:
    """Calls in order of time, without those that another call of the same thread makes."""
    until: dict[int, int] = {}
    ordered = sorted(
        (one for one in trace if one.kind in API),
        key=lambda one: (one.start_ns, -one.end_ns, one.kind == "driver"),
    )
    for one in ordered:
        if one.end_ns > until.get(one.thread, 0):
            until[one.thread] = one.end_ns
            yield one


def ranges(trace: Iterable[Activity]) -> Sequence[Range]:
    """In order of their starts; a start without an end, as of a failed process, is left out."""
    starts: dict[int, Activity] = {}
    found = []
    for one in sorted(trace, key=lambda one: one.start_ns):
        if one.kind == RANGE_START:
            starts[one.correlation] = one
        elif one.kind == RANGE_END and (start := starts.pop(one.correlation, None)):
            found.append(Range(start.name, start.start_ns, one.end_ns, start.thread))
    return sorted(found, key=lambda one: (one.start_ns, -one.end_ns))


def inside(around: Iterable[Range], activities: Iterable[Activity]) -> Iterator[Activity]:
    """Those of `activities`, in order of time, that lie in a range of their thread.

    The ranges of a thread follow each other.
    """
    of_thread: dict[int, list[Range]] = {}
    for one in sorted(around, key=lambda one: -one.start_ns):
        of_thread.setdefault(one.thread, []).append(one)
    for activity in activities:
        left = of_thread.get(activity.thread, [])
        while left and left[-1].end_ns < activity.start_ns:
            left.pop()
        if left and left[-1].start_ns <= activity.start_ns and activity.end_ns <= left[-1].end_ns:
            yield activity
