# SPDX-License-Identifier: Apache-2.0
"""Runs one benchmark under a profiler, each time in a process of its own."""

from __future__ import annotations

import os
import re
import tempfile
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from pathlib import Path

from warpgauge.measure import drive_lines, machine_context, progress, toolkit
from warpgauge.measure.discovery import Binary
from warpgauge.measure.measuring import Measuring
from warpgauge.measure.plan import Lane, command, gpu_arguments, gpu_environment
from warpgauge.records import program_report
from warpgauge.system import process
from warpgauge.system.errors import ExitStatus, UserError
from warpgauge.system.process import Ending
from warpgauge.system.text import inert
from warpgauge.why import cupti, machine_code, ncu
from warpgauge.why.cupti import Activity
from warpgauge.why.machine_code import Kernel


@dataclass(frozen=True)
class Profiler:
    """A profiler that runs a program and writes a report for its own GUI, `*.<name>-rep`."""

    name: str
    arguments: tuple[str, ...]
    own: re.Pattern[bytes]  # matches in each report


# One operation is profiled, when it is first verified: a replay runs it thousands of times, and ncu
# takes seconds for each kernel.
NCU = Profiler(
    "ncu",
    (*ncu.OPERATIONS_ALONE, "--set", "full", "--import-source", "yes"),
    re.compile(rb"\ANVR\0"),
)
NSYS = Profiler(
    "nsys",
    (
        *("profile", "--trace=cuda,nvtx", "--cuda-graph-trace=node"),
        *("--sample=none", "--cpuctxsw=none"),
    ),
    re.compile(rb"\0"),  # any binary file with that suffix
)
_LOADED = re.compile(rb"calling init: (/.+)$", re.MULTILINE)  # with LD_DEBUG=files


@dataclass(frozen=True)
class Profiling:
    """One benchmark under profilers; `left_s` returns the time limit of its next process."""

    measuring: Measuring
    binary: Binary  # with only this benchmark
    left_s: Callable[[], float]

    def trace(self, library: Path) -> Sequence[Activity]:
        """Return the activities of a process, which CUPTI records. Raises UserError."""
        scratch, isolate, failure = self.measuring.scratch, self.measuring.isolates, ""
        file = scratch / "trace.json"
        file.unlink(missing_ok=True)
        # An isolated program can write only its report, which the trace replaces as it ends.
        to = Path(drive_lines.INHERITED) if isolate else file
        variables = {**self._environment, **cupti.environment(library, to)}
        if isolate:
            program = drive_lines.Program([self._words], "plain", ["trace"])
            where = (self.left_s(), scratch, variables)
            [ending] = drive_lines.answers([program], *where, told="trace", isolate=True)
            file.write_text(ending.stdout)
        else:
            ending, failure = self._run((), variables)
        if failure or ending.status:
            raise UserError(failure or ending.described(), ExitStatus.NOT_MEASURED)
        return cupti.read_trace(file)

    def counted(self, kernels: float | None) -> Mapping[str, float]:
        """Return the counters of an operation, which has so many kernels. Raises UserError."""
        if self.measuring.isolates:
            raise UserError("ncu cannot profile isolated programs", ExitStatus.NOT_MEASURED)
        scratch, limit_s = self.measuring.scratch, self.left_s()
        return ncu.counted(self._words, scratch, limit_s, kernels, self._environment)

    def libraries(self) -> set[Path]:
        """Return the libraries that the process loads, as glibc's loader lists them.

        Raises UserError.
        """
        with tempfile.TemporaryDirectory(dir=self.measuring.scratch) as folder:
            variables = {"LD_DEBUG": "files", "LD_DEBUG_OUTPUT": f"{folder}/loaded"}
            ending, failure = self._run((), {**self._environment, **variables}, "the loader")
            if failure or ending.status:
                raise UserError(failure or ending.described(), ExitStatus.NOT_MEASURED)
            lists = [path.read_bytes() for path in Path(folder).iterdir()]  # of its children, too
        return {Path(os.fsdecode(one)) for one in chain.from_iterable(map(_LOADED.findall, lists))}

    def report(self, profiler: Profiler) -> bytes:
        """Return a profiler's report. Raises UserError."""
        report = self.measuring.scratch / f"report.{profiler.name}-rep"
        words = (toolkit.tool(profiler.name), *profiler.arguments, "-o", str(report))
        ending, failure = self._run(words, self._environment)
        ncu.require_permission(ending)
        if not report.exists() or not report.stat().st_size:
            why = failure or ending.described()
            raise UserError(f"{profiler.name} wrote no report: {why}", ExitStatus.NOT_MEASURED)
        if failure:  # a profiler may slow down the host too much for the timing
            self.measuring.note(f"{failure}: the report is incomplete")
        return report.read_bytes()

    def code(self, kernels: Collection[str]) -> dict[str, Kernel]:
        """Return the machine code of these kernels. Raises UserError or OSError."""
        return machine_code.kernels_of(self.binary.file, kernels, self.architecture)

    @property
    def architecture(self) -> int:
        """The GPU's, 90 for sm_90; 0 if nvidia-smi fails."""
        device = str(self.measuring.options.device or 0)
        return max(machine_context.architectures(device), default=0)

    @property
    def _words(self) -> list[str]:
        arguments = gpu_arguments(self.measuring.options.device)
        return [*command(Lane((self.binary,)), self.binary, arguments, self.binary.names)]

    @property
    def _environment(self) -> Mapping[str, str]:
        return gpu_environment(self.measuring.options.device)

    def _run(
        self, prefix: Sequence[str], variables: Mapping[str, str], under: str = "CUPTI"
    ) -> tuple[Ending, str]:
        """Run the benchmark once under `prefix`; return how it ended and why it has no result."""
        out = self.measuring.scratch / "row.json"
        words = [*prefix, *self._words, f"--benchmark_out={out}", "--benchmark_out_format=json"]
        name, under = inert(self.binary.names[0]), Path(prefix[0]).name if prefix else under
        with progress.status(self.measuring.notes) as say:
            say(f"{name} under {under}")
            ending = process.run(words, self.left_s(), self.measuring.scratch, variables)
        report = program_report.read(out)
        failures = (row.fault for row in report.rows.values() if row.error) if report else ()
        return ending, next((f"{name} under {under}: {why}" for why in failures), "")
