# SPDX-License-Identifier: Apache-2.0
"""warpgauge sweep: measures benchmarks over an axis, and shows their variants side by side."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from warpgauge.commands import measuring_lines
from warpgauge.commands.arguments import MANIFEST, RUN, contradiction, files_among
from warpgauge.commands.measuring_command import MeasuringCommand, Options, options_of
from warpgauge.external import plan
from warpgauge.external.plan import Case
from warpgauge.external.program import ExternalKernels, manifest_values
from warpgauge.measure import discovery
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
from warpgauge.verdict import sweep

_EXTERNAL = f"{plan.FAMILY}/"
_MEASURING = ("--device", "--build-dir")
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
    command = _SweepCommand(options, options.project or root, argv)
    measured = options.own.measured
    if measured is None:
        with command.alone_in(command.work):
            return command.run()
    options.formats.check(command.baselines, [measured])
    record = load.load(measured)
    sweep.require_some(record.rows, options.own.what, options.own.axis)
    return command.shown(record)


def parse(argv: Sequence[str]) -> Options:
    """Parse `argv`. Raises UserError for bad usage."""
    parser = measuring_lines.sweep()
    given = parser.parse_args(argv)
    is_given = {*parser.given(given)}
    given.measured, given.file, words = files_among(given.what, len(given.what))
    given.axis, given.values = given.axis
    if given.measured is not None:
        others = [option for option in _MEASURING if option in is_given]
        if others or given.values:
            option = others[0] if others else f"values of --axis {given.axis}"
            raise contradiction(f"a run file (*{RUN})", option)
    if "" in words:
        raise UserError("'' names no benchmarks: name a family, e.g. reduce, or a longer prefix")
    given.manifests = [Path(word) for word in dict.fromkeys(words) if word.endswith(MANIFEST)]
    prefixes = [word for word in dict.fromkeys(words) if not word.endswith(MANIFEST)]
    everything = given.file is not None or not words  # of that file, or of the run file
    given.families = prefixes or ([""] if everything else [])
    given.what = [*given.families, *([_EXTERNAL] if given.manifests else [])]
    filter = sweep.expression(given.what, given.axis)
    return options_of(given, _FORMATS, suite=FULL_SUITE, filter=filter)


@dataclass(frozen=True)
class _SweepCommand(MeasuringCommand):
    """Benchmarks measured over the values of an axis."""

    command = "sweep"

    def run(self) -> ExitStatus:
        """Check all arguments first, then build, measure and show. Raises UserError."""
        own, kernels = self.options.own, self._kernels()
        self.check([self.paths.run])
        self.require_families(own.families)
        with self.begun() as (measuring, held):
            measuring.require_gpu(own.families)
            built = measuring.built()
            programs = self._programs(measuring, built.programs, kernels)
            if not any(program.names for program in programs):
                measuring.require_built(programs)
                why = "; ".join(f"{program.path.name} {program.fault}" for program in programs)
                raise UserError(f"nothing can be measured: {why}", ExitStatus.NOT_MEASURED)
            suite = measuring.suite_of(programs)
            if suite.probe.no_gpu:
                measuring.note(f"GPU benchmarks are skipped: {suite.probe.no_gpu}.")
            measuring = self.ready(measuring, suite.known.get("gpu_uuid", ""), held)
            measuring.note(f"Measuring {suite.size} in {QUICK_PROCESSES} processes")
            run = AbRun(measuring, suite, built.source)
            record, tired = self.measured(run, QUICK_PROCESSES)
            status = self.shown(record)
            if tired is not None:
                raise tired.after(status)
            return status

    def shown(self, record: Record) -> ExitStatus:
        """Show the sweep in all formats. Raises UserError for names without measurements."""
        found = sweep.of(record, self.options.own.what, self.options.own.axis)
        return self.options.formats.deliver(
            found, found.status, lambda: reports.print_table(found, self.results)
        )

    def _programs(
        self, measuring: Measuring, folder: Path, kernels: ExternalKernels | None
    ) -> list[Binary]:
        """Return the programs with the requested benchmarks and axis values. Raises UserError."""
        own, external = self.options.own, list[Binary]()
        if kernels is not None:
            measuring.inputs.require_unchanged(kernels.files)
            # Keep the plan, so that logged commands can be repeated later.
            where = self.runs / f"{self.paths.run.stem}-kernels"
            external = discovery.find(kernels.provide(folder, where), measuring.scratch)
        if not own.families:
            return external
        families, wanted = sweep.families(own.families), re.compile(self.options.filter)
        found = measuring.found(folder)
        names = [name for binary in found for name in binary.names]
        faulty = [its for its in found if its.fault is not None and families & {"", its.family}]
        if not faulty:
            sweep.require_some(names, own.families, own.axis)
        asked = [binary for binary in found if any(map(wanted.search, binary.names))]
        if own.values:
            values = f"--axis={own.axis}={','.join(map(str, own.values))}"
            asked = [replace(its, arguments=(*its.arguments, values)) for its in asked]
            asked = discovery.listed(asked, measuring.scratch, FULL_SUITE)
        return discovery.with_own_names([*asked, *faulty, *external])

    def _kernels(self) -> ExternalKernels | None:
        """Return the kernels of the manifests, which get one program. Raises UserError."""
        own = self.options.own
        if not own.manifests:
            return None
        values, cases = manifest_values(own.axis, own.values), list[Case]()
        for path in own.manifests:
            its = ExternalKernels.of(path, axes={own.axis: values} if values else None).cases
            sweep.require_some([case.name for case in its], (_EXTERNAL,), own.axis)
            cases += its
        return ExternalKernels(own.manifests[0], cases)
