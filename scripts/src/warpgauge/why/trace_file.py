# SPDX-License-Identifier: Apache-2.0
"""What libwarpgauge_trace.so wrote of a process: its work on the device, its calls, its ranges.

The format is in fixtures/trace/trace.hpp. Of calls and ranges there is nothing unless the process
ran with WARPGAUGE_TRACE_CALLS=1.
"""

from __future__ import annotations

import contextlib
import ctypes
import json
import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TypeGuard

from warpgauge.files.json_file import Object
from warpgauge.system.errors import ExitStatus, UserError
from warpgauge.system.text import inert, plural

LIBRARY = "libwarpgauge_trace.so"
NO_LIBRARY = (
    f"the build made no {LIBRARY}, for the CUDA toolkit has no CUPTI: install it "
    "(cuda-cupti-dev-13-0 and the like)"
)
# Of a record's kind.
DEVICE = frozenset({"kernel", "memcpy", "memset"})
API = frozenset({"runtime", "driver"})
RANGE_START, RANGE_END, MARK = "range_start", "range_end", "mark"
_MARK = "warpgauge_trace"


@dataclass(frozen=True)
class Activity:
    """One thing that happened, and when by CUPTI's clock: a kernel, a call, the start of a range.

    `correlation` is shared by a call and by what it had the device do, and by the two ends of a
    range. Of the device's work `stream` is told, of all other things `thread`.
    """

    kind: str
    name: str  # of a kernel mangled; of a copy its direction
    start_ns: int
    end_ns: int
    stream: int = 0
    thread: int = 0
    correlation: int = 0
    bytes: int = 0  # of a copy or a memset


class TraceFault(UserError):
    """The trace and what the benchmark says do not go together, so that neither proves the other.

    Its sentence is of one benchmark; others may do.
    """

    def __init__(self, sentence: str) -> None:
        super().__init__(sentence, ExitStatus.NOT_MEASURED)


def environment(library: Path, trace: Path, *, calls: bool) -> dict[str, str]:
    """What has a process write the file `trace`; with its API calls and ranges for `calls`."""
    variables = {"CUDA_INJECTION64_PATH": str(library), "WARPGAUGE_TRACE": str(trace)}
    if calls:
        variables |= {"NVTX_INJECTION64_PATH": str(library), "WARPGAUGE_TRACE_CALLS": "1"}
    return variables


def read_trace(path: Path) -> Sequence[Activity]:
    """All that happened. Raises UserError when nothing was traced at all, which no other benchmark
    will mend, and TraceFault when something is missing.
    """
    try:
        lines = path.read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError as fault:
        why = "there is none" if isinstance(fault, FileNotFoundError) else str(fault.strerror)
        raise UserError(
            f"CUPTI left no trace ({why}): the driver could not load {LIBRARY}, as "
            "when the CUPTI that it was built with is gone; build again, in an empty build/release",
            ExitStatus.NOT_MEASURED,
        ) from None
    head = _object(lines[0] if lines else "")
    count, dropped, faults = (head.get(key) for key in ("activities", "dropped", "faults"))
    if _MARK not in head or not _is_count(count) or not _is_count(dropped):
        raise TraceFault("its trace is damaged: it does not begin as one")
    if not isinstance(faults, list):
        raise TraceFault("its trace is damaged: it has no list of faults")
    if faults:
        told = inert("; ".join(map(str, faults)))
        if count == 0:
            raise UserError(f"nothing could be traced: {told}", ExitStatus.NOT_MEASURED)
        raise TraceFault(f"its trace is incomplete: {told}")
    if dropped:
        raise TraceFault(f"its trace is incomplete: CUPTI dropped {plural(int(dropped), 'record')}")
    if len(lines) - 1 != count:
        raise TraceFault(f"its trace breaks off: {len(lines) - 1} of {count} records are there")
    return [_activity(line, number) for number, line in enumerate(lines[1:], start=1)]


@cache
def readable(kernel: str) -> str:
    """A kernel's name as its source has it, without its parameters; `kernel` where nobody can tell.

    As readable_kernel_name() of fixtures/core/operation_facts.hpp.
    """
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


def _parameters_begin(name: str) -> int:
    depth = 0
    for found in re.finditer("[<>(]", name):
        if found[0] == "(" and depth == 0:
            return found.start()
        depth += {"<": 1, ">": -1}.get(found[0], 0)
    return len(name)


def _activity(line: str, number: int) -> Activity:
    told = _object(line)
    kind, name = told.get("kind"), told.get("name")
    start, end = told.get("start_ns"), told.get("end_ns")
    others = [told.get(key, 0) for key in ("stream", "thread", "correlation", "bytes")]
    if isinstance(kind, str) and isinstance(name, str):
        numbers = [value for value in (start, end, *others) if _is_count(value)]
        if len(numbers) == 2 + len(others):
            return Activity(kind, name, *numbers)
    raise TraceFault(f"its trace is damaged: record {number} cannot be read")


def _object(line: str) -> Object:
    try:
        told = json.loads(line)
    except ValueError:
        return {}
    return told if isinstance(told, dict) else {}


def _is_count(value: object) -> TypeGuard[int]:
    return isinstance(value, int) and not isinstance(value, bool) and value >= 0
