# SPDX-License-Identifier: Apache-2.0
"""A process as CUPTI traced it: the device's work and the host's calls of an operation.

libwarpgauge_trace.so writes the trace; its format is in fixtures/trace/trace.hpp. Calls and ranges
are only recorded if the process ran with WARPGAUGE_TRACE_CALLS=1.

The engine marks where operations are issued by ranges of its NVTX domain (fixtures/cuda/range.hpp):
"operation" holds the calls of one operation; "launch" holds the launch of a graph that is one; and
"calls" holds those of a batch timed by the host's clock, whose mark "operations N" gives the count.
"""

from __future__ import annotations

import contextlib
import ctypes
import re
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Annotated

import msgspec

from warpgauge.system.errors import ExitStatus, UserError
from warpgauge.system.text import inert, plural

LIBRARY = "libwarpgauge_trace.so"
# Values of a record's kind.
KERNEL, COPY, MARK = "kernel", "memcpy", "mark"
DEVICE, API = frozenset((KERNEL, COPY, "memset")), frozenset(("runtime", "driver"))
# Names of ranges.
OPERATION, GRAPH, BATCH = "operation", "launch", "calls"

_OPERATIONS = re.compile(r"operations (\d+)")
# CUDA appends to a function's name the version that the program was compiled for.
_VERSION = re.compile(r"_v\d+$")
# The parameters at the end of a demangled name; those of a function pointer have their own.
_PARAMETERS = re.compile(r"\((?:[^()]|\([^()]*\))*\)(?: const)?$")
_Count = Annotated[int, msgspec.Meta(ge=0)]


class Activity(msgspec.Struct, frozen=True):
    """An event with times of CUPTI's clock: a kernel, a call, the start of a range.

    `correlation` links a call to the device work that it issued, and both ends of a range. Device
    work has a `stream`, all other events a `thread`.
    """

    kind: str
    name: str  # mangled for a kernel; "pageable to device" and the like for a copy
    start_ns: _Count
    end_ns: _Count
    stream: _Count = 0
    thread: _Count = 0
    correlation: _Count = 0
    bytes: _Count = 0  # of a copy or a memset

    @property
    def work(self) -> str:
        """The device work: a kernel's readable name, or ``memcpy pageable to device``."""
        return readable(self.name) if self.kind == KERNEL else f"{self.kind} {self.name}".strip()

    @property
    def call(self) -> str:
        """The called function without its version: ``cudaLaunchKernel``."""
        return _VERSION.sub("", self.name)


class _Head(msgspec.Struct):
    warpgauge_trace: int  # identifies the format
    activities: _Count
    dropped: _Count
    faults: list[str]


@dataclass(frozen=True)
class Call:
    """How often an operation does something, and how many seconds that takes it in all."""

    count: float
    seconds: float

    @property
    def each(self) -> float:
        return self.seconds / self.count if self.count else 0.0


Calls = Mapping[str, Call]  # by name


class TraceFault(UserError):
    """A trace that contradicts the benchmark, or is damaged. Others may still be traced."""

    def __init__(self, sentence: str) -> None:
        super().__init__(sentence, ExitStatus.NOT_MEASURED)


def trace_library(program: Path, root: Path) -> Path:
    """Return the trace library beside `program`, or that of the tree `root`. Raises UserError."""
    for folder in (program.parent, root / "build" / "release" / "benchmarks"):
        if (folder / LIBRARY).exists():
            return folder / LIBRARY
    raise UserError(
        f"there is no {LIBRARY} beside {program.name} or in {folder}: install CUPTI (e.g. "
        "cuda-cupti-dev-13-0), and build warpgauge (cmake --preset release, then --build)",
        ExitStatus.NOT_MEASURED,
    )


def environment(library: Path, trace: Path, *, calls: bool = True) -> dict[str, str]:
    """Return variables that make a process write `trace`, with its API calls if `calls`."""
    variables = {"CUDA_INJECTION64_PATH": str(library), "WARPGAUGE_TRACE": str(trace)}
    if calls:
        variables |= {"NVTX_INJECTION64_PATH": str(library), "WARPGAUGE_TRACE_CALLS": "1"}
    return variables


def read_trace(path: Path) -> Sequence[Activity]:
    """Return all events. Raise UserError if nothing was traced, which affects all benchmarks, and
    TraceFault if something is missing.
    """
    try:
        lines = path.read_bytes().splitlines()
    except OSError as fault:
        why = "there is none" if isinstance(fault, FileNotFoundError) else str(fault.strerror)
        raise UserError(
            f"CUPTI left no trace ({why}): the driver could not load {LIBRARY}, perhaps because "
            "the CUPTI that it was built with was removed; build again, in an empty build/release",
            ExitStatus.NOT_MEASURED,
        ) from None
    try:
        head = msgspec.json.decode(lines[0] if lines else b"", type=_Head)
        found = [*map(msgspec.json.Decoder(Activity).decode, lines[1:])]
    except (msgspec.MsgspecError, UnicodeDecodeError) as fault:
        raise TraceFault(f"its trace is damaged: {inert(str(fault))}") from None
    faults = inert("; ".join(head.faults))
    if faults and not head.activities:
        raise UserError(f"nothing could be traced: {faults}", ExitStatus.NOT_MEASURED)
    if faults or head.dropped:
        faults = faults or f"CUPTI dropped {plural(head.dropped, 'record')}"
        raise TraceFault(f"its trace is incomplete: {faults}")
    if len(found) != head.activities:
        number = f"{len(found)} of {head.activities}"
        raise TraceFault(f"its trace is truncated: {number} records are there")
    return found


def calls_of(trace: Sequence[Activity]) -> Calls:
    """Return the driver and runtime calls of one operation.

    A call made by another call counts as part of that call. If the host's clock timed the
    operation, the values are means over all timed batches. Otherwise they are means over its
    "operation" ranges, the first of which may have loaded libraries and kernels. Raise TraceFault
    if the trace has no operation: the program lacks the ranges, or it failed.
    """
    around = ranges(trace, BATCH)
    marks = inside(around, (one for one in trace if one.kind == MARK))
    counts = (_OPERATIONS.fullmatch(mark.name) for mark in marks)
    operations = sum(int(count[1]) for count in counts if count)
    if not operations:
        around = ranges(trace, OPERATION)
        operations = len(around)
    if not operations:
        raise TraceFault(
            "its trace shows no operation: the program has no NVTX ranges, or it failed"
        )
    calls = inside(around, outermost_calls(trace))
    return dict(sorted(totals(((one.call, one) for one in calls), operations).items()))


def device_of(trace: Sequence[Activity]) -> Calls:
    """Return the device's work in an operation, as its verification ran it, in order of first run.

    The keys are kind and name, for copies with their memory: "memcpy pinned to device".
    """
    # For a captured operation, the device works in the launch of its graph.
    around = ranges(trace, GRAPH) or ranges(trace, OPERATION)
    work = sorted(device_work(around, trace), key=lambda one: one.start_ns)
    return totals(((f"{one.kind} {one.name}".rstrip(), one) for one in work), len(around))


def kernels_in(device: Calls) -> Calls:
    """Return the kernels among the device's work, by mangled name."""
    works = ((work.partition(" "), one) for work, one in device.items())
    return {name: one for (kind, _, name), one in works if kind == KERNEL}


def totals(named: Iterable[tuple[str, Activity]], operations: int = 1) -> Calls:
    """Return by name how many of these activities an operation has, and their seconds."""
    found: dict[str, list[int]] = {}
    for name, one in named:
        found.setdefault(name, []).append(one.end_ns - one.start_ns)
    return {
        name: Call(len(times) / operations, sum(times) * 1e-9 / operations)
        for name, times in found.items()
    }


def device_work(around: Iterable[Activity], trace: Iterable[Activity]) -> list[Activity]:
    """Return the device's work for the calls in these ranges."""
    everything = list(trace)
    calls = inside(around, (one for one in everything if one.kind in API))
    made = {one.correlation for one in calls}
    return [one for one in everything if one.kind in DEVICE and one.correlation in made]


def outermost_calls(trace: Iterable[Activity]) -> Iterator[Activity]:
    """Yield calls in order of time, without those made by another call of the same thread."""
    until: dict[int, int] = {}
    for one in sorted((one for one in trace if one.kind in API), key=outer_first):
        if one.end_ns > until.get(one.thread, 0):
            until[one.thread] = one.end_ns
            yield one


def outer_first(one: Activity) -> tuple[int, int, bool]:
    """Sort by time, outer events before inner ones, and a runtime call before its driver call."""
    return one.start_ns, -one.end_ns, one.kind == "driver"


def ranges(trace: Iterable[Activity], name: str = "") -> Sequence[Activity]:
    """Return the engine's ranges by start, optionally only those of a name.

    They are benchmarks, their phases, and parts of these. A start without an end, as in a failed
    process, is left out.
    """
    starts: dict[int, Activity] = {}
    found = []
    for one in sorted(trace, key=lambda one: one.start_ns):
        if one.kind == "range_start":
            starts[one.correlation] = one
        elif one.kind == "range_end" and (start := starts.pop(one.correlation, None)):
            found.append(msgspec.structs.replace(start, end_ns=one.end_ns))
    found.sort(key=lambda one: (one.start_ns, -one.end_ns))
    return [one for one in found if not name or one.name == name]


def inside(around: Iterable[Activity], activities: Iterable[Activity]) -> Iterator[Activity]:
    """Yield those of `activities` that lie in a range of their thread, which must not overlap."""
    of_thread: dict[int, list[Activity]] = {}
    for one in sorted(around, key=lambda one: one.start_ns):
        of_thread.setdefault(one.thread, []).append(one)
    for activity in activities:
        own = of_thread.get(activity.thread, [])
        before = bisect_right(own, activity.start_ns, key=lambda one: one.start_ns)
        if before and activity.end_ns <= own[before - 1].end_ns:
            yield activity


@cache
def readable(kernel: str) -> str:
    """Return a kernel's name as in its source, without parameters; `kernel` if that is unknown.

    For a kernel the same as readable_kernel_name() in fixtures/core/operation_facts.hpp.
    """
    if not kernel.startswith("_Z"):  # extern "C"; "f" would demangle to the type float
        return kernel
    with contextlib.suppress(OSError, AttributeError):
        demangle = ctypes.CDLL("libstdc++.so.6").__cxa_demangle
        demangle.restype = ctypes.c_void_p
        buffer = demangle(kernel.encode(), None, None, ctypes.byref(ctypes.c_int()))
        if buffer:
            name = (ctypes.string_at(buffer) or b"").decode(errors="replace")
            ctypes.CDLL(None).free(ctypes.c_void_p(buffer))
            name = name.replace("(anonymous namespace)::", "").removeprefix("void ")
            return _PARAMETERS.sub("", name)
    return kernel


def without_arguments(kernel: str) -> str:
    """Return the readable name without template arguments, common to a template's kernels."""
    name, shorter = "", readable(kernel)
    while shorter != name:
        name, shorter = shorter, re.sub(r"<[^<>]*>", "", shorter)
    return name
