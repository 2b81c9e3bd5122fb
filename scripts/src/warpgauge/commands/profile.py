# SPDX-License-Identifier: Apache-2.0
"""warpgauge profile: runs one benchmark under a profiler, or prints its machine code."""

from __future__ import annotations

import os
import re
import shlex
from argparse import Namespace
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path

from rich.console import Console

from warpgauge.commands import measuring_lines, output_file
from warpgauge.commands.arguments import FILE, MANIFEST, contradiction, file_among
from warpgauge.commands.measuring_command import MeasuringCommand, Options, options_of
from warpgauge.commands.output_file import check_report
from warpgauge.external.program import ExternalKernels
from warpgauge.measure import progress, selection, toolkit
from warpgauge.measure.discovery import Binary
from warpgauge.measure.measuring import Measuring
from warpgauge.measure.plan import Lane, command, gpu_arguments, gpu_environment
from warpgauge.records import program_report
from warpgauge.records.benchmark_filter import hint, matches
from warpgauge.records.names import FULL_SUITE
from warpgauge.system import process, streams
from warpgauge.system.errors import ExitStatus, UserError, of_system
from warpgauge.system.layout import print_line
from warpgauge.system.process import Ending
from warpgauge.system.text import inert, named, typed
from warpgauge.why import cupti, ncu, trace_views
from warpgauge.why.cupti import Activity
from warpgauge.why.machine_code import architecture_of, kernels_of, listing


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


def main(argv: Sequence[str], root: Path) -> ExitStatus:
    options = parse(argv)
    one, own = MeasuringCommand(options, options.project or root, argv), options.own
    asked = ((NCU, own.ncu), (NSYS, own.nsys))
    reports = {profiler: path for profiler, path in asked if path is not None}
    _check(own, reports, one.root / "baselines")
    needs_gpu = own.table or own.trace is not None or bool(reports)
    with one.begun(options) as (measuring, held):
        if needs_gpu:
            measuring.require_gpu()
        held.enter_context(one.alone_in(one.work))
        programs = measuring.built().programs
        if own.external is not None:
            programs = own.external.provide(programs, measuring.scratch / "kernels")
        binary = _only(own.name, programs, measuring)
        held.enter_context(one.alone_in(one.runs))
        try:
            suite = measuring.suite_of([binary])
        except UserError:
            if needs_gpu:
                raise
            unknown = f"without a GPU it is unknown which of them {inert(own.name)} runs"
            measuring.note(f"These are all kernels of {binary.path.name}: {unknown}.")
            _print_machine_code(binary, None)
            return ExitStatus.OK
        held.enter_context(one.alone_on(suite.known.get("gpu_uuid", "")))
        return _Profiling(options, measuring, binary, one.results, suite.known).run(reports)


def parse(argv: Sequence[str]) -> Options:
    """Parse `argv`. Raises UserError for bad usage."""
    given = measuring_lines.profile().parse_args(argv)
    given.file, names = file_among(given.name, 1)
    given.name = names[0] if names else ""  # the only benchmark of the file
    given.external = ExternalKernels.single(given.name)
    if given.external is not None:
        given.name = given.external.cases[0].name
    if given.sass and (given.file or given.external):
        what = f"a manifest (*{MANIFEST})" if given.external else FILE
        raise contradiction("--sass", f"{what}: its program holds no machine code of its kernels")
    matches(given.name, "", "NAME")
    for option, path in (("ncu", given.ncu), ("nsys", given.nsys)):
        suffix = f".{option}-rep"
        if path is not None and path.suffix != suffix:
            raise UserError(
                f"--{option} {typed(str(path))}: its GUI opens only *{suffix}: use this suffix"
            )
    if not any((given.ncu, given.nsys, given.trace, given.sass)):
        given.table = True
    files = [output_file.resolved(path) for path in (given.ncu, given.nsys, given.trace) if path]
    if len(set(files)) < len(files):
        raise UserError("two of the reports would go to the same file: name another one")
    return options_of(given, suite=FULL_SUITE)


def _check(own: Namespace, reports: Mapping[Profiler, Path], baselines: Path) -> None:
    """Raise UserError if a report may not be written, or a tool is missing."""
    for profiler, path in reports.items():
        check_report(path, baselines, [], profiler.own, f"report of {profiler.name}")
    if own.trace is not None:
        check_report(own.trace, baselines, [], trace_views.OWN, "trace of warpgauge profile")
    for name in (*(("cuobjdump", "nvdisasm") if own.sass else ()), *(p.name for p in reports)):
        toolkit.tool(name)


def _only(name: str, folder: Path, measuring: Measuring) -> Binary:
    """Return the program in `folder`, with only the requested benchmark. Raises UserError."""
    programs = measuring.found(folder)
    for binary in programs:
        if name in binary.names:
            return replace(binary, names=(name,))
    left = [one for one in selection.chosen(programs, name, "NAME") if one.names]
    names = [own for binary in left for own in binary.names]
    if len(names) == 1:
        return left[0]
    if names:
        raise UserError(f"{typed(name)} matches {named(names)}: name only one")
    known = [own for binary in programs for own in binary.names]
    if faults := [f"{one.path.name} {one.fault}" for one in programs if one.fault is not None]:
        raise UserError(f"nobody knows {typed(name)}: {faults[0]}", ExitStatus.NOT_MEASURED)
    raise UserError(f"no benchmark matches {typed(name)}{hint(name, known)}")


@dataclass(frozen=True)
class _Profiling:
    options: Options
    measuring: Measuring
    binary: Binary  # with only this benchmark
    results: Console
    known: Mapping[str, str]  # context of the machine

    def run(self, reports: Mapping[Profiler, Path]) -> ExitStatus:
        name, own = self.binary.names[0], self.options.own
        if not self.binary.needs_gpu:
            raise UserError(f"{name} runs only on the host: there is nothing to profile on a GPU")
        if own.trace is not None:
            context = {"benchmark": name, "gpu_name": self.known.get("gpu_name", "")}
            self._write(own.trace, trace_views.chrome_trace(self.trace, context))
        for profiler, path in reports.items():
            self._write(path, self._report(profiler))
        if own.table:
            trace_views.print_table(trace_views.key_averages(self.trace), self.results)
        if own.sass:
            kernels = cupti.kernels_in(cupti.device_of(self.trace))
            if not kernels:
                raise UserError(f"{name} runs no kernel", ExitStatus.NOT_MEASURED)
            _print_machine_code(self.binary, kernels, architecture_of(self.options.device))
        return ExitStatus.OK

    @cached_property
    def trace(self) -> Sequence[Activity]:
        """The activities of one process, recorded by CUPTI."""
        file = self.measuring.scratch / "trace.json"
        library = cupti.trace_library(self.binary.path, self.measuring.tree)
        ending, failure = self._process((), cupti.environment(library, file))
        if failure or ending.status:
            raise UserError(failure or ending.described(), ExitStatus.NOT_MEASURED)
        return cupti.read_trace(file)

    def _report(self, profiler: Profiler) -> bytes:
        report = self.measuring.scratch / f"report.{profiler.name}-rep"
        command = toolkit.tool(profiler.name), *profiler.arguments, "-o", str(report)
        ending, failure = self._process(command, {})
        ncu.require_permission(ending)
        if not report.exists() or not report.stat().st_size:
            why = failure or ending.described()
            raise UserError(f"{profiler.name} wrote no report: {why}", ExitStatus.NOT_MEASURED)
        if failure:  # a profiler may slow down the host too much for the timing
            self.measuring.note(f"{failure}: the report is incomplete")
        return report.read_bytes()

    def _process(self, prefix: Sequence[str], environment: Mapping[str, str]) -> tuple[Ending, str]:
        """Run the benchmark once under `prefix`; return how it ended and why it has no result."""
        device, scratch = self.options.device, self.measuring.scratch
        lane = Lane((self.binary,))
        out = scratch / "row.json"
        words = [
            *(*prefix, *command(lane, self.binary, gpu_arguments(device), self.binary.names)),
            *(f"--benchmark_out={out}", "--benchmark_out_format=json"),
        ]
        variables = {**gpu_environment(device), **environment}
        told = [f"{key}={value}" for key, value in variables.items()]
        self.measuring.echo(f"$ {shlex.join([*told, *words])}")
        with progress.status(self.measuring.notes) as say:
            under = Path(prefix[0]).name if prefix else "CUPTI"
            say(f"{self.binary.names[0]}, with {under}")
            deadline = self.options.timeout_s
            ending = process.run(words, deadline, scratch, variables)
        report = program_report.read(out)
        name = inert(self.binary.names[0])
        failures = (row.fault for row in report.rows.values() if row.error) if report else ()
        return ending, next((f"{name} under {under}: {why}" for why in failures), "")

    def _write(self, path: Path, content: bytes) -> None:
        output_file.write(path, content)
        if not output_file.is_stream(path):
            print_line(self.measuring.notes, f"written: {os.path.relpath(path)}")


def _print_machine_code(
    binary: Binary, kernels: Collection[str] | None, architecture: int = 0
) -> None:
    """Print the code of these kernels, by mangled name, or of all. Raises UserError."""
    try:
        found = kernels_of(binary.path, kernels, architecture)
    except OSError as fault:
        raise of_system(fault) from fault
    if not found:
        why = "they belong to a library, or are compiled at run time"
        told = f"{binary.path.name} holds no machine code of its kernels: {why}"
        raise UserError(told, ExitStatus.NOT_MEASURED)
    streams.write("\n".join(map(listing, found.values())))
