# SPDX-License-Identifier: Apache-2.0
"""The trace that libwarpgauge_trace.so writes for a process: device work, calls and ranges.

The format is in fixtures/trace/trace.hpp. Calls and ranges are only recorded if the process ran
with WARPGAUGE_TRACE_CALLS=1.
"""

from __future__ import annotations

import contextlib
import ctypes
import re
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Annotated

import msgspec

from warpgauge.system.errors import ExitStatus, UserError
from warpgauge.system.text import inert, plural

LIBRARY = "libwarpgauge_trace.so"
# Values of a record's kind.
COPY = "memcpy"
DEVICE = frozenset({"kernel", COPY, "memset"})
API = frozenset({"runtime", "driver"})
RANGE_START, RANGE_END, MARK = "range_start", "range_end", "mark"


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
    def seconds(self) -> float:
        return (self.end_ns - self.start_ns) * 1e-9

    @property
    def work(self) -> str:
        """The device work: a kernel's readable name, or ``memcpy pageable to device``."""
        return readable(self.name) if self.kind == "kernel" else f"{self.kind} {self.name}".strip()


class _Head(msgspec.Struct):
    warpgauge_trace: int  # identifies the format
    activities: _Count
    dropped: _Count
    faults: list[str]


_HEAD, _ACTIVITY = msgspec.json.Decoder(_Head), msgspec.json.Decoder(Activity)


class TraceFault(UserError):
    """A trace that contradicts the benchmark, or is damaged.

    The fault concerns one benchmark; others may still be traced.
    """

    def __init__(self, sentence: str) -> None:
        super().__init__(sentence, ExitStatus.NOT_MEASURED)


def trace_library(program: Path, root: Path) -> Path:
    """Return the trace library beside `program`, or that of the tree `root`. Raises UserError."""
    for folder in (program.parent, root / "build" / "release" / "benchmarks"):
        if (folder / LIBRARY).exists():
            return folder / LIBRARY
    raise UserError(
        f"there is no {LIBRARY} beside {program.name} or in build/release/benchmarks: install "
        "CUPTI (e.g. cuda-cupti-dev-13-0), and the build makes it",
        ExitStatus.NOT_MEASURED,
    )


def environment(library: Path, trace: Path, *, calls: bool) -> dict[str, str]:
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
        head = _HEAD.decode(lines[0] if lines else b"")
    except msgspec.MsgspecError:
        raise TraceFault("its trace is damaged: the header is wrong") from None
    if head.faults:
        told = inert("; ".join(head.faults))
        if head.activities == 0:
            raise UserError(f"nothing could be traced: {told}", ExitStatus.NOT_MEASURED)
        raise TraceFault(f"its trace is incomplete: {told}")
    if head.dropped:
        raise TraceFault(f"its trace is incomplete: CUPTI dropped {plural(head.dropped, 'record')}")
    count = len(lines) - 1
    if count != head.activities:
        raise TraceFault(f"its trace is truncated: {count} of {head.activities} records are there")
    found: list[Activity] = []
    try:
        found.extend(map(_ACTIVITY.decode, lines[1:]))
    except (msgspec.MsgspecError, UnicodeDecodeError):
        number = len(found) + 1
        raise TraceFault(f"its trace is damaged: record {number} cannot be read") from None
    return found


@cache
def readable(kernel: str) -> str:
    """Return a kernel's name as in its source, without parameters; `kernel` if that is unknown.

    The same as readable_kernel_name() in fixtures/core/operation_facts.hpp.
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
            return name[: _parameters_begin(name)]
    return kernel


def without_arguments(kernel: str) -> str:
    """Return the readable name without template arguments, common to a template's kernels."""
    name, shorter = "", readable(kernel)
    while shorter != name:
        name, shorter = shorter, re.sub(r"<[^<>]*>", "", shorter)
    return name


def _parameters_begin(name: str) -> int:
    depth = 0
    for found in re.finditer("[<>(]", name):
        if found[0] == "(" and depth == 0:
            return found.start()
        depth += {"<": 1, ">": -1}.get(found[0], 0)
    return len(name)
