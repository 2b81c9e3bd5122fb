# SPDX-License-Identifier: Apache-2.0
"""warpgauge fidelity: the engine's device times held against CUPTI's, benchmark by benchmark."""

from __future__ import annotations

import json
import re
import tempfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from rich.console import Console

import cupti_trace
from fidelity import finding, naive
from fidelity.finding import Finding
from fidelity.options import Options, parse
from warpgauge.commands.output import Formats
from warpgauge.external.program import ExternalKernels
from warpgauge.measure import (
    build,
    discovery,
    journal,
    machine_context,
    progress,
    python_file,
    run_file,
    runner,
    selection,
)
from warpgauge.measure.discovery import Binary
from warpgauge.measure.options import QUICK_PROCESSES
from warpgauge.measure.plan import Lane, Plan
from warpgauge.records.benchmark_filter import hint
from warpgauge.records.counters import TIME_ERROR, Clock
from warpgauge.records.row import Row
from warpgauge.reports.format import Format
from warpgauge.system import entry_point, environment, process
from warpgauge.system.errors import ExitStatus, UserError, of_system
from warpgauge.system.layout import Output, print_line
from warpgauge.system.text import plural, typed
from warpgauge.why import cupti

FORMAT = "fidelity/1"
_OWN = re.compile(rb'"warpgauge_format"\s*:\s*"fidelity/')
SOURCES = (".cu", ".cpp")  # of benchmarks; one file is one family


def _json(found: tuple[Mapping[str, str], Sequence[Finding]]) -> str:
    """The document of these findings, with its context."""
    context, findings = found
    document = {"context": context, "benchmarks": [one.as_json() for one in findings]}
    return json.dumps(document, indent=1, ensure_ascii=False) + "\n"


FORMATS = {"json": Format("json", _json, "file of warpgauge fidelity", _OWN)}


class _Silent:
    """A runner.Observer: one line a benchmark says enough."""

    def _nothing(self, *_: object) -> None: ...

    begins = runs = ended = repeated = _nothing


@dataclass(frozen=True)
class Fidelity:
    """One invocation: what was asked for, where the repository is, and where output goes."""

    options: Options
    root: Path
    results: Console
    notes: Console  # standard error: progress and remarks

    def run(self) -> ExitStatus:
        """The whole way; everything that can be refused is refused before the minutes of it."""
        options = self.options
        formats = Formats.parse(options.format, known=FORMATS)
        if options.naive and options.format:
            raise UserError("naive prints a table for people alone: omit --format")
        formats.check(self.root / "baselines", [])
        if options.kernels is None:
            self._require_family()
        folder = self._built()
        with tempfile.TemporaryDirectory(prefix="warpgauge-") as name:
            scratch = Path(name)
            self._require_program(folder / options.binary)
            library = cupti.trace_library(folder / options.binary, self.root)
            binary = self._binary(folder, scratch)
            timers = self._timers(folder, scratch, binary) if options.naive else None
            probe = discovery.probe([binary], (), scratch, {})
            if probe.no_gpu is not None:
                raise UserError(f"no GPU to measure: {probe.no_gpu}", ExitStatus.NOT_MEASURED)
            findings: list[Finding] = []
            with progress.status(self.notes) as say:
                try:
                    self._find(binary, library, scratch, say, findings)
                except KeyboardInterrupt:
                    finding.print_table(findings, self.results)
                    raise
                if timers is not None:
                    say(f"{timers.path.name}, without CUPTI")
                    rows = self._rows(timers, QUICK_PROCESSES, scratch)
        if timers is not None:
            lines = naive.joined(findings, rows)
            naive.print_table(lines, self.results)
            self._note(finding.summary(findings))  # it explains the exit status
            return naive.status(findings, lines)
        facts = {**machine_context.source(self.root), "processes": str(QUICK_PROCESSES)}
        context = {"warpgauge_format": FORMAT, **probe.context, **facts}
        return formats.deliver(
            (context, findings),
            finding.status(findings),
            lambda: finding.print_table(findings, self.results),
        )

    def _require_family(self) -> None:
        """Raise UserError for a program that a build will not make: none of its sources is so."""
        sources = (self.root / "benchmarks").rglob("*.c*")
        families = {path.stem for path in sources if path.suffix in SOURCES}
        family = self.options.binary.removeprefix("bench_")
        if families and family not in families:
            raise UserError(f"there is no family {typed(family)}{hint(family, families)}")

    def _built(self) -> Path:
        process.require_gpu()
        environment.provide(environment.BUILD, self._note)
        with progress.build_status(self.notes) as say:
            build.build(self.root, "release", say)
        return self.root / "build" / "release" / "benchmarks"

    def _binary(self, folder: Path, scratch: Path) -> Binary:
        """The program with the benchmarks that were asked for. Raises UserError."""
        path = folder / self.options.binary
        if self.options.file is not None:
            [all_of_it] = discovery.find(python_file.provide(self.options.file), scratch)
        elif self.options.kernels is None:
            [all_of_it] = discovery.listed([Binary(path)], scratch)
        else:
            kernels = ExternalKernels.of(self.options.kernels)
            (all_of_it,) = discovery.find(kernels.provide(folder.parent, scratch), scratch)
        (binary,) = selection.wanted([all_of_it], self.options.filter)
        if not self.options.naive:
            return binary
        names = tuple(name for name in binary.names if name.startswith(naive.KERNEL))
        if not names:
            raise UserError(f"naive times {naive.KERNEL}... alone: --filter leaves nothing of it")
        return replace(binary, names=names)

    def _require_program(self, path: Path) -> None:
        """Raise UserError for a program that is not there."""
        if path.exists():
            return
        no_compiler = build.cuda_compiler() is None
        typed_wrong = not (self.options.naive or no_compiler)
        status = ExitStatus.BAD_USAGE if typed_wrong else ExitStatus.NOT_MEASURED
        raise UserError(
            f"the build made no {path.name}: no family has this name, or nvcc, which the GPU "
            "benchmarks need, is missing",
            status,
        )

    def _timers(self, folder: Path, scratch: Path, kernels: Binary) -> Binary:
        """The program of the naive timers, with those of the sizes of `kernels`.

        Raises UserError where it is missing or cannot say what it has.
        """
        path = folder / naive.BINARY
        self._require_program(path)
        [timers] = discovery.listed([Binary(path)], scratch)
        if timers.fault is not None:
            raise UserError(f"{path.name} {timers.fault}", ExitStatus.NOT_MEASURED)
        wanted = naive.benchmarks(kernels.names)
        return replace(timers, names=tuple(name for name in timers.names if name in wanted))

    def _find(
        self,
        binary: Binary,
        library: Path,
        scratch: Path,
        say: Callable[[str], None],
        findings: list[Finding],
    ) -> None:
        """Append both times of each benchmark. Raises UserError where CUPTI cannot work.

        First all without CUPTI: what is traced takes a process of its own for each.
        """
        say(f"{plural(len(binary.names), 'benchmark')}, without CUPTI")
        plain = {row.name: row for row in self._rows(binary, QUICK_PROCESSES, scratch)}
        for name in binary.names:
            if fault := _fault(plain[name]):
                findings.append(Finding(name, error=fault))
                continue
            say(f"{name}, with CUPTI")
            traced = self._traced(replace(binary, names=(name,)), library, scratch)
            has_both = traced.error is None
            findings.append(_with_replay(traced, plain[name]) if has_both else traced)

    def _traced(self, binary: Binary, library: Path, scratch: Path) -> Finding:
        """What a process of the one benchmark of `binary` says, and what CUPTI says of it."""
        (name,) = binary.names
        file = scratch / "trace.json"
        file.unlink(missing_ok=True)
        environment = cupti.environment(library, file, calls=False)
        (row,) = self._rows(binary, 1, scratch, environment)
        if fault := _fault(row):
            return Finding(name, error=f"with CUPTI: {fault}")
        try:
            busy = cupti_trace.busy(cupti.read_trace(file), _work(row))
        except cupti.TraceFault as mismatch:
            return Finding(name, error=str(mismatch))
        return Finding(
            name,
            kernels=busy.kernels,
            traced_ns=1e9 * row.seconds,
            busy_ns=busy.nanoseconds,
            regions=busy.regions,
            stated_error_ns=1e9 * row.counters.get(TIME_ERROR, 0.0),
        )

    def _rows(
        self,
        binary: Binary,
        processes: int,
        scratch: Path,
        environment: Mapping[str, str] = {},
    ) -> list[Row]:
        """What fresh processes of these benchmarks say, merged."""
        plan = Plan(
            lanes=(Lane((binary,)),),
            rounds=range(1, processes + 1),
            seed=0,
            journal=journal.scratch(scratch),
            environment=environment,
        )
        return run_file.rows([binary], runner.run(plan, _Silent()))

    def _note(self, line: str) -> None:
        print_line(self.notes, line)


def _fault(row: Row) -> str:
    """Why a row holds no device time; empty where it does."""
    if row.error is not None:
        return row.fault
    by_host = "it is timed by the host's clock, of which CUPTI knows nothing"
    return by_host if row.clock is Clock.HOST else ""


def _with_replay(traced: Finding, plain: Row) -> Finding:
    (medians,) = plain.process_medians.values()
    return replace(
        traced,
        process_medians=[1e9 * seconds for seconds in medians],
        replay_ns=1e9 * plain.seconds,
    )


def _work(row: Row) -> cupti_trace.Work:
    counters = row.counters
    if "operations" not in counters or "samples" not in counters:
        raise cupti.TraceFault("it does not say how many operations and samples it timed")
    kernels = int(counters["kernels"]) if "kernels" in counters else None
    return cupti_trace.Work(
        int(counters["operations"]),
        int(counters["samples"]),
        kernels,
        has_gaps=TIME_ERROR in counters,
    )


def main(argv: Sequence[str], root: Path) -> ExitStatus:
    """Raises UserError for what the user can mend, a full disk included."""
    options = parse(argv)
    entry_point.exit_in_order()
    try:
        return Fidelity(options, root, Output(), Output(stderr=True)).run()
    except OSError as fault:
        raise of_system(fault) from fault
