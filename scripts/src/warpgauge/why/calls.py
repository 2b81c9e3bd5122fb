# SPDX-License-Identifier: Apache-2.0
"""The CUDA calls of an operation, and the host's time in them. Pure functions of a trace.

The engine marks where operations are issued by ranges of its NVTX domain (fixtures/cuda/range.hpp):
"operation" holds the calls of one operation; "launch" holds the launch of a graph that is one; and
"calls" holds those of a batch timed by the host's clock, whose mark "operations N" gives the count.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from warpgauge.why.trace_file import API, DEVICE, MARK, RANGE_END, RANGE_START, Activity, TraceFault

ONE, GRAPH, BATCH = "operation", "launch", "calls"
_OPERATIONS = re.compile(r"operations (\d+)")
# CUDA appends to a function's name the version that the program was compiled for.
_VERSION = re.compile(r"_v\d+$")


@dataclass(frozen=True)
class Call:
    """How often an operation makes a call, and the seconds that the host spends in it."""

    count: float
    seconds: float


Calls = Mapping[str, Call]


@dataclass(frozen=True)
class Range:
    """A benchmark, one of its phases, or a part of one, as marked by the engine."""

    name: str
    start_ns: int
    end_ns: int
    thread: int


def calls_of(trace: Iterable[Activity]) -> Calls:
    """Return the driver and runtime calls of one operation by name, without their versions.

    A call made by another call counts as part of that call. If the host's clock timed the
    operation, the values are means over all timed batches. Otherwise they are means over its
    "operation" ranges, the first of which may have loaded libraries and kernels. Raise TraceFault
    if the trace has no operation: the program lacks the ranges, or it failed.
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
    """Return the mangled names of the kernels that an operation runs, in order of first run."""
    everything = sorted(trace, key=lambda one: one.start_ns)
    around = [one for one in ranges(everything) if one.name in (ONE, GRAPH)]
    kernels = (one.name for one in device_work(around, everything) if one.kind == "kernel")
    return list(dict.fromkeys(kernels))


def device_of(trace: Iterable[Activity]) -> Calls:
    """Return the device's work in an operation, as its verification ran it.

    The keys are kind and name, for copies with their memory: "memcpy pinned to device".
    """
    everything = sorted(trace, key=lambda one: one.start_ns)
    found = ranges(everything)
    # For a captured operation, the device works in the launch of its graph.
    around = [one for one in found if one.name == GRAPH] or [
        one for one in found if one.name == ONE
    ]
    work = device_work(around, everything)
    return _per_operation(((f"{one.kind} {one.name}".rstrip(), one) for one in work), len(around))


def _per_operation(named: Iterable[tuple[str, Activity]], operations: int) -> Calls:
    """Return by name how many activities an operation has, and their seconds."""
    found: dict[str, list[int]] = {}
    for name, one in named:
        found.setdefault(name, []).append(one.end_ns - one.start_ns)
    return {
        name: Call(len(times) / operations, sum(times) * 1e-9 / operations)
        for name, times in sorted(found.items())
    }


def device_work(around: Iterable[Range], trace: Sequence[Activity]) -> list[Activity]:
    """Return the device's work for the calls in these ranges; `trace` is in order of time."""
    calls = inside(around, (one for one in trace if one.kind in API))
    made = {one.correlation for one in calls}
    return [one for one in trace if one.kind in DEVICE and one.correlation in made]


def call_name(call: Activity) -> str:
    """Return ``cudaLaunchKernel`` for ``cudaLaunchKernel_v7000``."""
    return _VERSION.sub("", call.name)


def outermost_calls(trace: Iterable[Activity]) -> Iterator[Activity]:
    """Yield calls in order of time, without those made by another call of the same thread."""
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
    """Return ranges by start; a start without an end, as in a failed process, is left out."""
    starts: dict[int, Activity] = {}
    found = []
    for one in sorted(trace, key=lambda one: one.start_ns):
        if one.kind == RANGE_START:
            starts[one.correlation] = one
        elif one.kind == RANGE_END and (start := starts.pop(one.correlation, None)):
            found.append(Range(start.name, start.start_ns, one.end_ns, start.thread))
    return sorted(found, key=lambda one: (one.start_ns, -one.end_ns))


def inside(around: Iterable[Range], activities: Iterable[Activity]) -> Iterator[Activity]:
    """Yield those of `activities`, in order of time, that lie in a range of their thread.

    The ranges of a thread must not overlap.
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
