# SPDX-License-Identifier: Apache-2.0
"""scripts/bench: build, measure in fresh processes, write the run file, compare, exit truly."""

from __future__ import annotations

import os
import shlex
import signal
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from rich.console import Console

from warpgauge import (
    baseline,
    build,
    conclusion,
    discovery,
    load,
    machine_context,
    merge,
    output_file,
    progress,
    recordable,
    runfile,
    runner,
    selection,
    system_packages,
)
from warpgauge.discovery import Binary, Probe
from warpgauge.errors import ExitStatus, UserError
from warpgauge.formats import TERMINAL
from warpgauge.model import Record
from warpgauge.options import Options, parse
from warpgauge.output import Output


@dataclass(frozen=True)
class Bench:
    """One invocation: what was asked for, where the repository is, and where output goes."""

    options: Options
    root: Path
    results: Console
    notes: Console  # standard error: progress and remarks

    def run(self) -> ExitStatus:
        """The whole way; everything that can be refused is refused before the minutes of it."""
        options, now = self.options, datetime.now()
        baselines = self.root / "baselines"
        chosen = load.load(options.baseline) if options.baseline else None
        source = machine_context.source(self.root)
        if options.record:
            machine_context.require_committed(source)
        out = options.out or runfile.default_path(self.root, now)
        inputs = [options.baseline] if options.baseline else []
        output_file.check_run_file(out, baselines, inputs)
        options.formats.check(baselines, [*inputs, out])
        folder = self._built()
        with tempfile.TemporaryDirectory(prefix="warpgauge-") as name:
            scratch = Path(name)
            everything = discovery.find(folder, scratch)
            wanted = selection.wanted(everything, options.filter, scratch)
            probe = self._probe(everything, scratch)
            if probe.no_gpu and options.record:
                raise UserError(f"nothing to record: {probe.no_gpu}", ExitStatus.NOT_MEASURED)
            binaries = selection.runnable(wanted, probe.no_gpu)
            if options.inject:
                selection.require_injected(options.injected_regex, binaries)
            if probe.no_gpu:
                self._note(f"No GPU is measured here: {probe.no_gpu}. Only the host family runs.")
            known = {**machine_context.machine(), **probe.context}
            known |= machine_context.gpu(probe.context.get("gpu_uuid", ""))
            base = chosen or self._own_baseline(probe)
            if options.record:
                at = baseline.path_of(baselines, known["gpu_name"]) if base else baselines
                recordable.require_suite(known, binaries, probe.faults, at, base)
            outcomes = self._measure(binaries, scratch)
            context = runfile.context(binaries, outcomes, self._facts(source), known)
        rows = merge.rows(binaries, outcomes)
        return self._kept(out, context, rows, base, probe)

    def _kept(
        self,
        out: Path,
        context: runner.Report,
        rows: Sequence[merge.JsonRow],
        base: Record | None,
        probe: Probe,
    ) -> ExitStatus:
        """Write the run file and conclude from it; an interrupt says what became of the file."""
        shown = os.path.relpath(out)
        became = f"while {shown} was written: it is whole, or what it was before"
        try:
            runfile.write(out, context, rows)
            became = f"after {shown} was written"
            self._note(f"run file: {shown}")
            return self._concluded(base, load.load(out), probe, measured_all=not probe.no_gpu)
        except KeyboardInterrupt:
            raise KeyboardInterrupt(became) from None

    def _built(self) -> Path:
        if self.options.build:
            system_packages.provide(system_packages.BUILD, self._note)
            with progress.status(self.notes) as say:
                build.build(self.root, "release", say, self._echo)
        return self.root / "build" / "release" / "benchmarks"

    def _probe(self, everything: Sequence[Binary], scratch: Path) -> Probe:
        if not any(binary.needs_gpu for binary in everything):
            return Probe({}, "the GPU benchmarks are not built, for want of nvcc")
        return discovery.probe(everything, self._gpu_arguments, scratch)

    @property
    def _gpu_arguments(self) -> tuple[str, ...]:
        device = self.options.device
        return () if device is None else (f"--device={device}",)

    def _own_baseline(self, probe: Probe) -> Record | None:
        name = probe.context.get("gpu_name")
        path = baseline.find(self.root / "baselines", name) if name else None
        return load.load(path) if path else None

    def _measure(self, binaries: Sequence[Binary], scratch: Path) -> list[runner.Outcome]:
        options = self.options
        arguments = [f"--benchmark_filter={options.filter}"] if options.filter else []
        arguments += [f"--inject={options.inject}"] if options.inject else []
        plan = runner.Plan(
            binaries=tuple(binaries),
            processes=options.processes,
            seed=options.seed,
            folder=scratch,
            arguments=tuple(arguments),
            gpu_arguments=self._gpu_arguments,
            deadline_s=options.timeout_s,
        )
        for binary in binaries:
            self._echo(f"$ {shlex.join(runner.command(plan, binary))}")
            if binary.fault:
                self._note(f"{binary.path.name}: {binary.fault}")
        with progress.RunProgress(plan, self.notes) as observer:
            return runner.run(plan, observer)

    def _facts(self, source: dict[str, str]) -> dict[str, str]:
        options = self.options
        facts = {
            **source,
            "processes": str(options.processes),
            "order_seed": str(options.seed),
            "filter": options.filter,
        }
        return facts | ({"inject": options.inject} if options.inject else {})

    def _concluded(
        self, base: Record | None, run: Record, probe: Probe, measured_all: bool
    ) -> ExitStatus:
        """Show the result; with --record keep it too."""
        show = conclusion.Conclusion(
            self.results, self.options.filter or None, self.options.formats
        )
        status = show.compared(base, run) if base else show.values(run)
        if self.options.record:
            for line in baseline.record(run.path, self.root / "baselines").lines():
                self.results.print(line, markup=False, highlight=False, soft_wrap=True)
            return ExitStatus.OK
        if base is None:
            self._note(conclusion.without_baseline(probe))
            for line in self.options.formats.unwritten:
                self._note(line)
        if not measured_all:
            show.recorded(self.root / "baselines")
        if status is ExitStatus.OK and not measured_all:
            return ExitStatus.NOT_MEASURED
        return status

    def _note(self, line: str) -> None:
        self.notes.print(line, markup=False, highlight=False, soft_wrap=True)

    def _echo(self, line: str) -> None:
        if self.options.verbose:
            self._note(line.rstrip())


def main(argv: Sequence[str], root: Path) -> ExitStatus:
    """Raises UserError for what the user can mend, a full disk included."""
    options = parse(argv)
    # An exit and not a sudden death: the running benchmark is ended, too.
    signal.signal(signal.SIGTERM, lambda number, frame: sys.exit(128 + number))
    try:
        # What a program reads from standard output stands there alone.
        shown = Output(stderr=options.formats.shown is not TERMINAL)
        return Bench(options, root, shown, Output(stderr=True)).run()
    except OSError as fault:
        raise UserError(f"{fault.filename or 'the system'}: {fault.strerror or fault}") from fault
