# SPDX-License-Identifier: Apache-2.0
"""One run of scripts/bench on one GPU: build, measure, write the run file, compare."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from functools import cached_property, partial
from pathlib import Path

from rich.console import Console

from warpgauge.baselines import recordable, store
from warpgauge.commands import against, resume, run_paths, self_check
from warpgauge.commands.bench_options import Options
from warpgauge.commands.external_kernels import ExternalKernels
from warpgauge.commands.resume import Interrupted
from warpgauge.commands.run_paths import MEASURING, RunPaths
from warpgauge.commands.run_report import RunReport
from warpgauge.commands.show_results import Conclusion, without_baseline, without_gpu
from warpgauge.execution.gpu_watch import GpuWatch
from warpgauge.measurement import confirm, run_file
from warpgauge.measurement.ab_run import AbRun
from warpgauge.measurement.baseline_run import BaselineRun
from warpgauge.measurement.budget import Budget
from warpgauge.measurement.combination import unconfirmed
from warpgauge.measurement.measuring import Built, Measuring
from warpgauge.measurement.self_check import of_files
from warpgauge.records import load
from warpgauge.records.model import Record, Session
from warpgauge.system import interrupts, worktree
from warpgauge.system.command_log import CommandLog
from warpgauge.system.errors import ExitStatus, UserError
from warpgauge.system.layout import print_line
from warpgauge.system.locks import Holder, alone, of_gpu
from warpgauge.system.text import plural
from warpgauge.verdict import policy
from warpgauge.verdict.comparison import Comparison
from warpgauge.why import regressions
from warpgauge.why.regressions import Sides


@dataclass(frozen=True)
class Share:
    """What the run of one GPU has in common with those of the others."""

    built: Built
    at_once: int  # so many are measured at the same time
    whole: Path  # the folder of the journal of all
    journal: Path  # of its own


@dataclass(frozen=True)
class Bench:
    """One invocation: what was asked for, where the repository is, and where output goes."""

    options: Options
    root: Path
    results: Console
    notes: Console  # standard error: progress and remarks
    faults: Console  # the same, where that is not to be quiet
    argv: Sequence[str] = ()
    before: Interrupted | None = None  # a run that goes on
    share: Share | None = None  # where this GPU is one of several

    def run(self) -> ExitStatus:
        """The whole way; everything that can be refused is refused before the minutes of it."""
        options, share = self.options, self.share
        chosen, commit = self.inputs()
        paths = run_paths.chosen(options, self.runs)
        paths.check(options, self.baselines, paths.measured(options))
        with tempfile.TemporaryDirectory(prefix="warpgauge-") as scratch, ExitStack() as held:
            at_once = share.at_once if share else 1
            measuring = Measuring(
                options, self.root, Path(scratch), self.notes, self.faults, at_once=at_once
            )
            report = RunReport(paths.report, self.baselines, self.results)
            held.callback(report.tell)
            log = CommandLog(paths.log, self.argv, goes_on=self.before is not None)
            held.callback(lambda: measuring.note(f"commands: {os.path.relpath(log.path)}"))
            held.enter_context(log.used())
            built = share.built if share else self.built(measuring)
            suite = measuring.suite(built.programs)
            if share is None:
                held.enter_context(alone(self.runs, waiting(options, BENCH_HERE, self.notes)))
            if uuid := suite.known.get("gpu_uuid", ""):
                on_it = waiting(options, "scripts/bench on this GPU", self.notes)
                held.enter_context(alone(of_gpu(uuid), on_it))
            facts = resume.facts(
                self.argv, options.seed, paths.run, suite, built.source, measuring.inputs
            )
            folder = share.journal if share else paths.journal
            journal = resume.journal_of(folder, facts, self.before)
            if self.before:
                kept = plural(journal.size, "process is", "processes are")
                measuring.note(f"Going on with {os.path.relpath(paths.run)}: {kept} there.")
            watch = GpuWatch(uuid, measuring.note) if uuid else None
            budget = Budget(options.budget_s)
            measuring = replace(measuring, journal=journal, watch=watch, budget=budget)
            measuring.wait_for_gpu()
            sides = AbRun(measuring, suite, built.source)
            with resume.goes_on(journal, measuring.warn, share.whole if share else None):
                gpu_name = suite.probe.context.get("gpu_name")
                base = chosen or self._baseline_of(gpu_name)
                show = replace(self.show, report=report)
                if commit:
                    status = against.run(sides, commit, paths, show, base)
                else:
                    status = self._by_itself(sides, base, paths, show)
            measuring.tell_budget()
            return status

    def built(self, measuring: Measuring) -> Built:
        """What is measured, up to date. Raises UserError."""
        return measuring.built() if self.kernels is None else self.kernels.built(measuring)

    @cached_property
    def kernels(self) -> ExternalKernels | None:
        """Those from elsewhere, where they are asked for. Raises UserError."""
        path = self.options.kernels
        return None if path is None else ExternalKernels.of(path)

    @property
    def baselines(self) -> Path:
        """Of this tree, of the project that --build-dir names, or of the manifest of --kernels."""
        named = self.options.baselines
        return self.root / "baselines" if named is None else named.absolute()

    @property
    def work(self) -> Path:
        """What one command at a time uses, and where its runs are kept."""
        named = self.options.build_dir
        return self.root / "build" if named is None else named.resolve()

    @property
    def runs(self) -> Path:
        """Where runs are kept; held by who measures."""
        return self.work / MEASURING.name

    def inputs(self) -> tuple[Record | None, str]:
        """The baseline and the commit that are named; None, "" where none is. Raises UserError."""
        options = self.options
        _ = self.show, self.kernels  # the policy and the manifest are read before the minutes, too
        chosen = load.load(options.baseline) if options.baseline else None
        ref = options.against
        return chosen, worktree.commit_of(self.root, ref) if ref else ""

    def judge_self_check(self, folder: Path) -> ExitStatus:
        """What an earlier self-check measured, judged by today's rule. Raises UserError."""
        chosen, _ = self.inputs()
        check = of_files(folder, self.show.judged)
        base = chosen or self._baseline_of(self_check.context_of(check)["gpu_name"])
        say = partial(print_line, self.faults)
        return self_check.concluded(check, base, self.show, self.baselines, say)

    def _by_itself(
        self, beside: AbRun, base: Record | None, paths: RunPaths, show: Conclusion
    ) -> ExitStatus:
        """This build, against a baseline where there is one, confirmed beside its commit."""
        options, suite, measuring = self.options, beside.suite, beside.measuring
        if options.self_check:
            return self_check.run(beside, base, paths.folder, show, self.baselines)
        commit = why = ""
        if options.record:
            known, at = suite.known, self.baselines
            at = store.path_of(at, known["gpu_name"]) if base else at
            recordable.require_suite(known, suite.binaries, suite.probe.faults, at, base)
        elif base is not None:
            measuring.note(f"Screening {suite.size} against {os.path.relpath(base.path)}")
            try:
                commit = confirm.commit_for(measuring, base, Session("now", suite.known))
            except UserError as fault:
                why = str(fault)
        alone = BaselineRun(beside, options.screening(confirms=bool(commit)))
        side, tired = alone.measured()
        if tired is not None and options.record:
            raise tired

        def settled(found: Comparison) -> Comparison:
            if options.record:
                return found
            if tired is not None or not commit:
                return unconfirmed(found, why if tired is None else "the GPU stays slow")
            # The files of the pair tell by themselves what they were asked for.
            settings = replace(show.settings, filter=None)
            judge = replace(show, settings=settings).judged
            found = confirm.confirmed(found, beside, commit, paths.confirming, judge)
            if not options.why:
                return found

            def sides() -> Sides:
                base, run = map(load.load, paths.confirming)
                return Sides((beside.base(commit), beside.candidate), (base, run))

            return regressions.explained(found, sides, measuring, paths.why)

        shown = os.path.relpath(paths.run)
        became = f"while {shown} was written: it is whole, or what it was before"
        try:
            run_file.write(paths.run, *alone.document(side))
            became = f"after {shown} was written"
            measuring.note(f"run file: {shown}")
            status = self._concluded(base, load.load(paths.run), beside, settled, show)
        except KeyboardInterrupt as stop:
            raise interrupts.told(stop, became) from None
        if tired is not None:
            raise tired.after(status)
        return status

    @cached_property
    def show(self) -> Conclusion:
        """How results are judged and shown. Raises UserError for a policy that is wrong."""
        rules = policy.named_or_in(self.baselines, self.options.policy)
        if rules is not None and self.options.self_check:  # changes are made on purpose there
            rules = replace(rules, expected=(), required=())
        return Conclusion.of(self.options, rules, self.results)

    def _baseline_of(self, gpu_name: str | None) -> Record | None:
        path = store.find(self.baselines, gpu_name) if gpu_name else None
        return load.load(path) if path else None

    def _concluded(
        self,
        base: Record | None,
        run: Record,
        beside: AbRun,
        settled: Callable[[Comparison], Comparison],
        show: Conclusion,
    ) -> ExitStatus:
        """Judge, settle what needs it, and show the result; with --record keep it too."""
        warn, probe = beside.measuring.warn, beside.suite.probe
        if base is None:
            status = show.values(run)
        else:
            status = show.compared(without_gpu(settled(show.judged(base, run)), probe))
        if self.options.record:
            for line in store.record(run.path, self.baselines).lines():
                print_line(self.results, line)
            return ExitStatus.OK
        if base is None:
            warn(without_baseline(probe))
            for line in self.options.formats.unwritten:
                warn(line)
        if probe.no_gpu:
            if not self.options.quiet:
                show.recorded(self.baselines)
            status = ExitStatus.NOT_MEASURED if status is ExitStatus.OK else status
            warn(f"No GPU was measured, so that this is no pass: exit status {status:d}.")
        return status


BENCH_HERE = "scripts/bench of this tree"


def waiting(options: Options, what: str, notes: Console) -> Callable[[Holder], None]:
    """What to do while another of `what` holds what this one needs: tell, or refuse to wait."""

    def wait(holder: Holder) -> None:
        who = f"another {what}" + (f" (pid {holder})" if holder else "")
        if not options.wait:
            raise UserError(
                f"{who} is running: let it end, or leave out --no-wait", ExitStatus.NOT_MEASURED
            )
        print_line(notes, f"Waiting for {who} to end ...")

    return wait
