# SPDX-License-Identifier: Apache-2.0
"""NVIDIA's profilers: how to call them, and why they refuse."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from warpgauge.system import process
from warpgauge.system.errors import ExitStatus, UserError
from warpgauge.why.calls import GRAPH, ONE

_NO_COUNTERS = "ERR_NVGPUCTRPERM"


@dataclass(frozen=True)
class Profiler:
    """A profiler that runs a program and writes a report for its own GUI."""

    name: str
    arguments: tuple[str, ...]
    suffix: str  # of its reports; the profiler appends it to other names
    own: re.Pattern[bytes]  # matches in each report

    def command(self, tool: str, report: Path, program: Sequence[str]) -> list[str]:
        """Return a command that profiles the program into `report`, which must not exist yet."""
        return [tool, *self.arguments, "-o", str(report), *program]


# ncu's options that select the verified operations: no eviction, and no timed replay.
OPERATIONS_ALONE = (
    "--nvtx",
    *(word for name in (ONE, GRAPH) for word in ("--nvtx-include", f"warpgauge@{name}/")),
)

# One operation is profiled, when it is first verified: a replay runs it thousands of times, and ncu
# takes seconds for each kernel. The clock is left alone, because ncu would lock it at a low one.
NCU = Profiler(
    "ncu",
    (
        *("--clock-control", "none", "--graph-profiling", "node", "--set", "full"),
        *("--import-source", "yes", *OPERATIONS_ALONE),
    ),
    ".ncu-rep",
    re.compile(rb"\ANVR\0"),
)
NSYS = Profiler(
    "nsys",
    (
        *("profile", "--trace=cuda,nvtx", "--cuda-graph-trace=node"),
        *("--sample=none", "--cpuctxsw=none"),
    ),
    ".nsys-rep",
    re.compile(rb"\0"),  # any binary file with that suffix
)


def require_report(profiler: Profiler, report: Path, ending: process.Ending, failure: str) -> None:
    """Raise UserError if a profiler's process left no report; `failure` is the row's error."""
    require_permission(ending)
    if not report.exists() or not report.stat().st_size:
        why = failure or ending.described()
        raise UserError(f"{profiler.name} wrote no report: {why}", ExitStatus.NOT_MEASURED)


def require_permission(ending: process.Ending) -> None:
    """Raise UserError if a process of ncu was not allowed to read the counters."""
    if _NO_COUNTERS in ending.stdout + ending.stderr:
        raise UserError(
            "the driver lets only administrators read GPU counters: run this as root, or load the "
            "driver module with NVreg_RestrictProfilingToAdminUsers=0",
            ExitStatus.NOT_MEASURED,
        )
