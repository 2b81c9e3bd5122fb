# SPDX-License-Identifier: Apache-2.0
"""warpgauge ab: another project's Google Benchmark programs, two builds of them in pairs."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Mapping, Sequence
from contextlib import ExitStack, suppress
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path

from rich.console import Console

from warpgauge.commands import ab_options, preview, run_paths
from warpgauge.commands.bench_options import Options
from warpgauge.commands.one_gpu import waiting
from warpgauge.commands.run_paths import MEASURING, RunPaths
from warpgauge.commands.run_report import RunReport
from warpgauge.commands.show_results import Conclusion
from warpgauge.execution import gpu_watch, machine_context, program_folder, selection
from warpgauge.execution.discovery import Probe
from warpgauge.execution.gpu_watch import GpuWatch
from warpgauge.execution.plain_program import PlainProgram
from warpgauge.execution.program_folder import Programs
from warpgauge.measurement.ab_run import AbRun
from warpgauge.measurement.budget import Budget
from warpgauge.measurement.looks import Looks, open_rows
from warpgauge.measurement.measuring import Measuring, Suite
from warpgauge.measurement.paired import Side
from warpgauge.records.benchmark_filter import hint
from warpgauge.reports import provenance
from warpgauge.reports.formats import TERMINAL
from warpgauge.system.command_log import CommandLog
from warpgauge.system.errors import ExitStatus, UserError
from warpgauge.system.layout import Output
from warpgauge.system.locks import alone, of_gpu
from warpgauge.system.text import inert, typed
from warpgauge.verdict import policy
from warpgauge.verdict.comparison import Comparison
from warpgauge.verdict.context import PROGRAMS
from warpgauge.verdict.note import Kind, Note
from warpgauge.why import regressions
from warpgauge.why.regressions import Sides

COMMAND = "scripts/warpgauge ab"
_MEASURES = "command that measures"  # which others are


@dataclass(frozen=True)
class _Invocation:
    """Base and candidate, what was asked for, where the runs are kept, where output goes."""

    folders: tuple[Path, Path]
    commits: tuple[str, str]  # what they were built from, "" unless told
    base_policy: Path | None
    options: Options
    root: Path
    results: Console
    notes: Console
    argv: Sequence[str]

    def run(self) -> ExitStatus:
        """The whole way; everything that can be refused is refused before the minutes of it."""
        options, show = self.options, self.show
        paths = run_paths.chosen(options, self.root / MEASURING)
        paths.check(options, self.root / "baselines", paths.pair)
        gpu = gpu_watch.chosen(options.device)
        uuid = gpu.get("gpu_uuid", "")
        with tempfile.TemporaryDirectory(prefix="warpgauge-") as scratch, ExitStack() as held:
            measuring = Measuring(
                # An index is the driver's, and CUDA counts in an order of its own.
                replace(options, device=uuid if options.device is not None else None),
                self.root,
                Path(scratch),
                self.notes,
                self.notes,
                Budget(options.budget_s),
            )
            report = RunReport(paths.report, self.root / "baselines", self.results)
            held.callback(report.tell)
            log = CommandLog(paths.log, self.argv, goes_on=False, command=COMMAND)
            held.callback(lambda: measuring.note(f"commands: {os.path.relpath(log.path)}"))
            held.enter_context(log.used())
            if uuid:
                held.enter_context(
                    alone(of_gpu(uuid), waiting(options, f"{_MEASURES} on this GPU", self.notes))
                )
                measuring = replace(measuring, watch=GpuWatch(uuid, measuring.note))
            measuring.wait_for_gpu()
            base, candidate = self._sides(measuring)
            known = {**machine_context.machine(), **gpu, **machine_context.gpu(uuid)}
            suite = Suite(candidate.binaries, Probe({}), known)
            measuring.note(f"Measuring {suite.size} in pairs")
            beside = AbRun(measuring, suite, {})
            both = beside.compared(
                base, candidate, options.filter, paths.pair, show.judged, open_rows
            )
            found = self._noted(both)
            if options.why and both.stop is None:
                sides = Sides((base, candidate), (both.found.baseline, both.found.candidate))
                found = regressions.explained(found, lambda: sides, measuring, paths.why)
            status = replace(show, report=report).compared(found)
            measuring.tell_budget()
            if both.stop is not None:
                raise both.stop
            return status

    def preview(self) -> ExitStatus:
        """--list or --dry-run: what there is, and what would be done. Raises UserError."""
        options = self.options
        with tempfile.TemporaryDirectory(prefix="warpgauge-") as scratch:
            measuring = Measuring(options, self.root, Path(scratch), self.notes, self.notes)
            sides = self._sides(measuring)
        programs = [one for side in sides for one in side.binaries]
        if options.list:
            return preview.names(programs, measuring.warn)
        named = RunPaths(options.out or self.root / MEASURING / preview.ANY_TIME)
        files = [*named.pair, named.log, named.report, *preview.reports(options)]
        return preview.show(
            [
                ("base", _shown(self.folders[0])),
                ("candidate", _shown(self.folders[1])),
                *preview.sizes(sides[1].binaries, options.schedule[0], 2),
                *preview.budget(options),
                ("files", ", ".join(map(_shown, files))),
            ]
        )

    @cached_property
    def show(self) -> Conclusion:
        """How results are judged and shown, by no policy of this project. Raises UserError."""
        options = self.options
        named = policy.load(options.policy) if options.policy is not None else None
        if named is not None and self.base_policy is not None and self.base_policy.exists():
            with suppress(UserError):  # one of a warpgauge of that time
                named = named.without(named.used_up(policy.load(self.base_policy)))
        # The files of both sides tell by themselves what they were asked for.
        return Conclusion.of(replace(options, filter=""), named, self.results)

    def _sides(self, measuring: Measuring) -> tuple[Side, Side]:
        """Base and candidate, with what is asked for. Raises UserError where a side has nothing."""
        filter, visible = self.options.filter, measuring.options.device
        environment = {gpu_watch.VARIABLE: str(visible)} if visible is not None else {}
        found = program_folder.both(self.folders, measuring.scratch, environment)
        asked = [programs.asked(filter) for programs in found]
        if not any(asked):
            names = [name for side in found for one in side.everything for name in one.names]
            raise UserError(f"no benchmark matches --filter {typed(filter)}{hint(filter, names)}")
        for programs, left in zip(found, asked, strict=True):
            if not left:
                raise UserError(
                    f"{programs.folder}: has nothing that matches --filter {typed(filter)}, which "
                    "the other folder has: there is nothing to compare",
                    ExitStatus.NOT_MEASURED,
                )
        base, candidate = (
            Side(tuple(left), _facts(programs.folder, commit), filters=_filters(programs, left))
            for programs, left, commit in zip(found, asked, self.commits, strict=True)
        )
        return base, candidate

    def _noted(self, both: Looks[Comparison]) -> Comparison:
        base, candidate = (str(provenance.nearby(folder)) for folder in self.folders)
        method = Note(Kind.PAIRED_FOLDERS, base=base, candidate=candidate, **both.rounds)
        return replace(both.found, method=method)


def _shown(folder: Path) -> str:
    return inert(str(provenance.nearby(folder)))


def _facts(folder: Path, commit: str) -> dict[str, str]:
    """What a side's context says of it alone."""
    return {PROGRAMS: _shown(folder), **({"commit": commit} if commit else {})}


def _filters(programs: Programs, asked: Sequence[PlainProgram]) -> Mapping[str, str]:
    """By program, for what is not asked for all that it has."""
    whole = {one.family: one.names for one in programs.everything}
    parts = [one for one in asked if one.names != whole[one.family]]
    return {one.family: selection.exactly(one.own(one.names)) for one in parts}


def main(argv: Sequence[str], root: Path) -> ExitStatus:
    """Raises UserError for what the user can mend."""
    folders, commits, base_policy, options = ab_options.parse(argv)
    # What a program reads from standard output stands there alone.
    results, notes = Output(stderr=options.formats.shown is not TERMINAL), Output(stderr=True)
    invocation = _Invocation(folders, commits, base_policy, options, root, results, notes, argv)
    if options.list or options.dry_run:
        return invocation.preview()
    # A build of this tree is nothing to it: only who measures is waited for.
    with alone(root / MEASURING, waiting(options, f"{_MEASURES} in this tree", notes)):
        return invocation.run()
