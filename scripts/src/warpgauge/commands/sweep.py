# SPDX-License-Identifier: Apache-2.0
"""warpgauge sweep: measures benchmarks over an axis, and shows their variants side by side."""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from warpgauge.commands import measuring_lines
from warpgauge.commands.arguments import (
    MANIFEST,
    RUN,
    contradiction,
    files_among,
)
from warpgauge.commands.measuring_command import MeasuringCommand, Options, options_of
from warpgauge.external import plan
from warpgauge.external.plan import Case
from warpgauge.external.program import ExternalKernels, manifest_values
from warpgauge.measure import discovery, run_file
from warpgauge.measure.ab_run import AbRun
from warpgauge.measure.discovery import Binary
from warpgauge.measure.measuring import Measuring
from warpgauge.measure.options import QUICK_PROCESSES
from warpgauge.records import load
from warpgauge.records.model import Record
from warpgauge.records.names import FULL_SUITE
from warpgauge.reports import sweep as reports
from warpgauge.reports.format import TERMINAL, Format
from warpgauge.system.errors import ExitStatus, UserError
from warpgauge.system.text import plural
from warpgauge.verdict import sweep

_EXTERNAL = f"{plan.FAMILY}/"
_COLUMNS = ",".join(reports.COLUMNS).encode()
_FORMATS = {
    form.name: form
    for form in (
        Format(TERMINAL, reports.plain, "sweep in plain text", re.compile(rb"\Arun: ")),
        Format("csv", reports.csv_text, "CSV", re.compile(rb"\A" + _COLUMNS)),
        Format("svg", reports.svg, "SVG", re.compile(re.escape(reports.MARK.encode()))),
    )
}


def main(argv: Sequence[str], root: Path) -> ExitStatus:
    options = parse(argv)
    one = _SweepCommand(options, options.project or root, argv)
    measured = options.own.measured
    if measured is not None:
        options.formats.check(one.root / "baselines", [measured])
        record = load.load(measured)
        sweep.require_some(record.rows, one.what, one.axis)
        return one.show(record)
    with one.alone_in(one.work):
        return one.run()


def parse(argv: Sequence[str]) -> Options:
    """Parse `argv`. Raises UserError for bad usage."""
    given = measuring_lines.sweep().parse_args(argv)
    given.measured, given.file, given.what = files_among(given.what, len(given.what))
    given.axis, given.values = given.axis
    if given.measured is not None and given.values:
        raise contradiction(f"a run file (*{RUN})", f"values of --axis {given.axis}")
    return options_of(given, _FORMATS, suite=FULL_SUITE)


@dataclass(frozen=True)
class _SweepCommand(MeasuringCommand):
    """Benchmarks measured over the values of an axis."""

    command = "scripts/warpgauge sweep"

    @property
    def axis(self) -> str:
        return str(self.options.own.axis)

    @property
    def manifests(self) -> list[Path]:
        return [
            Path(word) for word in dict.fromkeys(self.options.own.what) if word.endswith(MANIFEST)
        ]

    @property
    def families(self) -> tuple[str, ...]:
        """The families or prefixes of names, without the manifests; of a file, by default all."""
        words = dict.fromkeys(self.options.own.what)
        prefixes = tuple(word for word in words if not word.endswith(MANIFEST))
        everything = self.options.file is not None or not words
        return prefixes or ("",) * everything

    @property
    def what(self) -> tuple[str, ...]:
        """Prefixes of all requested names."""
        return (*self.families, *((_EXTERNAL,) if self.manifests else ()))

    def show(self, record: Record) -> ExitStatus:
        """Show the sweep in all formats. Raises UserError for names without measurements."""
        found = sweep.of(record, self.what, self.axis)
        return self.options.formats.deliver(
            found, found.status, lambda: reports.print_table(found, self.results)
        )

    def run(self) -> ExitStatus:
        """Build, measure, write the run file, and show it. Raises UserError."""
        wanted, kernels = sweep.expression(self.what, self.axis), self._kernels()
        options = replace(self.options, filter=wanted)
        paths = self.run_paths()
        paths.check(options, self.root / "baselines", [paths.run])
        with self.begun(options, paths.log) as (measuring, held):
            measuring.require_gpu(self.families)
            built = measuring.built()
            # Keep the plan, so that logged commands can be repeated later.
            kept = self.runs / f"{paths.run.stem}-kernels"
            programs = self._programs(measuring, built.programs, kernels, kept)
            if not any(one.names for one in programs):
                measuring.require_built(programs)
                why = "; ".join(f"{one.path.name} {one.fault}" for one in programs)
                raise UserError(f"nothing can be measured: {why}", ExitStatus.NOT_MEASURED)
            suite = measuring.suite_of(programs)
            if suite.probe.no_gpu:
                measuring.note(f"GPU benchmarks are skipped: {suite.probe.no_gpu}.")
            held.enter_context(self.alone_in(self.runs))
            measuring = self.watched(measuring, suite.known.get("gpu_uuid", ""), held)
            processes = options.processes or QUICK_PROCESSES
            measuring.note(f"Measuring {suite.size} in {plural(processes, 'process', 'processes')}")
            content, tired = AbRun(measuring, suite, built.source).alone(processes)
            run_file.write({paths.run: content})
            measuring.note(f"run file: {os.path.relpath(paths.run)}")
            status = self.show(load.load(paths.run))
            if tired is not None:
                raise tired.after(status)
            return status

    def _programs(
        self, measuring: Measuring, folder: Path, kernels: ExternalKernels | None, kept: Path
    ) -> list[Binary]:
        """Return the programs with the requested benchmarks and axis values. Raises UserError.

        The plan for external kernels is written to the folder `kept`.
        """
        external = []
        if kernels is not None:
            measuring.inputs.require_unchanged(kernels.files)
            external = discovery.find(kernels.provide(folder, kept), measuring.scratch)
        if not self.families:
            return external
        what, axis = self.families, self.axis
        families, wanted = sweep.families(what), re.compile(measuring.options.filter)
        found = measuring.found(folder)
        names = [name for binary in found for name in binary.names]
        faulty = [its for its in found if its.fault is not None and families & {"", its.family}]
        if not faulty:
            sweep.require_some(names, what, axis)
        asked = [one for one in found if any(map(wanted.search, one.names))]
        if self.options.own.values:
            values = f"--axis={axis}={','.join(map(str, self.options.own.values))}"
            asked = [replace(one, arguments=(*one.arguments, values)) for one in asked]
            asked = discovery.listed(asked, measuring.scratch, measuring.options.suite)
        return discovery.with_own_names([*asked, *faulty, *external])

    def _kernels(self) -> ExternalKernels | None:
        """Return the kernels of the manifests, which get one program. Raises UserError."""
        if not self.manifests:
            return None
        values, cases = manifest_values(self.axis, self.options.own.values), list[Case]()
        for path in self.manifests:
            its = ExternalKernels.of(path, axes={self.axis: values} if values else None).cases
            sweep.require_some([case.name for case in its], (_EXTERNAL,), self.axis)
            cases += its
        return ExternalKernels(self.manifests[0], cases)
