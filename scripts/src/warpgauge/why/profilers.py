# SPDX-License-Identifier: Apache-2.0
"""NVIDIA's profilers and disassembler: where they are, how to call them, what they refuse."""

from __future__ import annotations

import re
import shutil
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from warpgauge.execution import build
from warpgauge.system import process
from warpgauge.system.errors import ExitStatus, UserError
from warpgauge.why.calls import GRAPH, ONE

_DISASSEMBLY_S = 300.0
_NO_COUNTERS = "ERR_NVGPUCTRPERM"
_PACKAGES = {
    "ncu": "Nsight Compute (cuda-nsight-compute-13-0 and the like)",
    "nsys": "Nsight Systems (cuda-nsight-systems-13-0 and the like)",
    "cuobjdump": "the CUDA toolkit's cuobjdump (cuda-cuobjdump-13-0 and the like)",
}


@dataclass(frozen=True)
class Profiler:
    """One that runs a program and writes a report, which its own GUI opens."""

    name: str
    arguments: tuple[str, ...]
    suffix: str  # of its reports; it appends it to other names
    own: re.Pattern[bytes]  # found in each

    def command(self, tool: str, report: Path, program: Sequence[str]) -> list[str]:
        """That has the program's process profiled into `report`, which is not there yet."""
        return [tool, *self.arguments, "-o", str(report), *program]


# One operation is profiled, where it is verified for the first time: a replay takes it thousands of
# times, and ncu seconds for each kernel. The clock stays as it is: ncu would hold it low.
NCU = Profiler(
    "ncu",
    (
        *("--clock-control", "none", "--graph-profiling", "node", "--set", "full"),
        *("--import-source", "yes", "--nvtx"),
        *(word for name in (ONE, GRAPH) for word in ("--nvtx-include", f"warpgauge@{name}/")),
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
    re.compile(rb"\0"),  # any binary file of that suffix
)


def found(tool: str) -> str:
    """The path of a tool on PATH or of the toolkit. Raises UserError."""
    nvcc = build.cuda_compiler()
    beside = str(Path(nvcc).parent) if nvcc else None
    path = shutil.which(tool) or (beside and shutil.which(tool, path=beside))
    if not path:
        raise UserError(f"{tool} is missing: install {_PACKAGES[tool]}", ExitStatus.NOT_MEASURED)
    return path


def require_report(profiler: Profiler, report: Path, ending: process.Ending, failure: str) -> None:
    """Raise UserError where a process of the profiler left no report; `failure` is its row's."""
    require_permission(ending)
    if not report.exists() or not report.stat().st_size:
        why = failure or ending.described()
        raise UserError(f"{profiler.name} made no report: {why}", ExitStatus.NOT_MEASURED)


def require_permission(ending: process.Ending) -> None:
    """Raise UserError where a process of ncu was not allowed to read the counters."""
    if _NO_COUNTERS in ending.stdout + ending.stderr:
        raise UserError(
            "the driver lets only administrators read the GPU's counters here: run this as root, "
            "or load its module with NVreg_RestrictProfilingToAdminUsers=0",
            ExitStatus.NOT_MEASURED,
        )


def machine_code(program: Path, kernels: Sequence[str], scratch: Path) -> str:
    """The SASS of these kernels, by their mangled names, or of all. Raises UserError."""
    only = ["-fun", ",".join(kernels)] if kernels else []
    command = [found("cuobjdump"), "-sass", *only, str(program)]
    ending = process.run(command, _DISASSEMBLY_S, scratch)
    if ending.status:
        raise UserError(ending.described(), ExitStatus.NOT_MEASURED)
    return ending.stdout
