# SPDX-License-Identifier: Apache-2.0
"""One run of scripts/bench on one GPU, or several together: build, measure, write, compare."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from pathlib import Path

from warpgauge.baselines import recordable, store
from warpgauge.commands import against, resume, self_check
from warpgauge.commands.measuring_command import MeasuringCommand, RunPaths
from warpgauge.commands.resume import Interrupted
from warpgauge.commands.show_results import Conclusion, RunReport, without_baseline
from warpgauge.external.program import ExternalKernels
from warpgauge.measure import confirm, run_file
from warpgauge.measure.ab_run import AbRun, Looks
from warpgauge.measure.confirm import unconfirmed
from warpgauge.measure.journal import Journal
from warpgauge.measure.measuring import Built, Measuring
from warpgauge.measure.self_check import of_folders
from warpgauge.records import load
from warpgauge.records.model import Record, Session
from warpgauge.system import interrupts, process, worktree
from warpgauge.system.errors import ExitStatus, UserError
from warpgauge.system.git import short
from warpgauge.system.layout import print_line
from warpgauge.verdict import policy
from warpgauge.verdict.comparison import Comparison
from warpgauge.why import explain
from warpgauge.why.explain import Sides


@dataclass(frozen=True)
class Share:
    """What the runs of several GPUs share."""

    built: Built
    at_once: int  # number of GPUs measured at the same time
    whole: Path  # folder of the journal of all GPUs
    journal: Path  # journal of this GPU


@dataclass(frozen=True)
class Bench(MeasuringCommand):
    """One invocation of scripts/bench on one GPU, or several together."""

    before: Interrupted | None = None  # the run to resume
    share: Share | None = None  # set if this GPU is one of several

    command = "scripts/bench"
    in_tree = "scripts/bench of this tree"
    on_gpu = "scripts/bench on this GPU"

    def run(self) -> ExitStatus:
        """Check all arguments first, then build, measure, judge and show."""
        options, share = self.options, self.share
        commit = self.commit
        paths = self.run_paths()
        paths.check(options, self.baselines, paths.measured(options))
        resumed = self.before is not None
        with self.begun(options, paths.log, resumed=resumed) as (measuring, held):
            at_once = share.at_once if share else 1
            measuring = replace(measuring, at_once=at_once)
            report = RunReport(paths.report, self.baselines, self.results)
            held.callback(report.tell)
            built = share.built if share else self.built(measuring)
            suite = measuring.suite(built.programs)
            if share is None:
                held.enter_context(self.alone_in(self.runs))
            uuid = suite.known.get("gpu_uuid", "")
            measuring = self.watched(measuring, uuid, held)
            if suite.probe.gpus > 1:
                measuring = replace(measuring, options=replace(options, device=uuid))
            facts = resume.facts(
                self.argv, options.seed, paths.run, suite, built.source, measuring.inputs
            )
            folder = share.journal if share else paths.journal
            journal = resume.journal_of(folder, facts, self.before)
            if self.before:
                measuring.note(f"Resuming {os.path.relpath(paths.run)}.")
            measuring = replace(measuring, journal=journal)
            sides = AbRun(measuring, suite, built.source)
            with resume.goes_on(journal, measuring.note, share.whole if share else None):
                base = self._baseline_of(suite.probe.context.get("gpu_name"))
                show = replace(self.show, report=report)
                if commit:
                    status = against.run(sides, commit, paths, show, base)
                else:
                    status = self._by_itself(sides, base, paths, show)
                if share:  # before its own journal goes, or --resume would measure it again
                    Journal(share.whole).keep(["gpu", str(options.device)], status)
            measuring.tell_budget()
            return status

    def built(self, measuring: Measuring) -> Built:
        """Build what is measured. Raises UserError."""
        options = self.options
        named = options.every_gpu or isinstance(options.device, str)
        needs_gpu = named or options.record or options.self_check or self.kernels is not None
        if needs_gpu and not options.list:
            measuring.require_gpu()
        if self.kernels is not None:
            return self.kernels.built(measuring)
        is_able = options.list or process.has_gpu()
        return measuring.built(() if is_able else measuring.host_programs())

    @cached_property
    def kernels(self) -> ExternalKernels | None:
        """The external kernels, with --kernels. Raises UserError."""
        path = self.options.kernels
        return None if path is None else ExternalKernels.of(path)

    @property
    def baselines(self) -> Path:
        """The baselines of this tree, of the --build-dir project, or of the --kernels manifest."""
        named = self.options.baselines
        return self.root / "baselines" if named is None else named.absolute()

    @cached_property
    def commit(self) -> str:
        """The commit of --against, or "". Raises UserError, also for a wrong policy or manifest."""
        _ = self.show, self.kernels
        ref = self.options.against
        return worktree.commit_of(self.root, ref) if ref else ""

    def judge_self_checks(self, folders: Sequence[Path]) -> ExitStatus:
        """Judge earlier self-checks by the current rule; show one, or the sums of several.

        Raises UserError.
        """
        checks = of_folders(folders, self.show.judged)
        bases = [self._baseline_of(check.context["gpu_name"]) for check in checks]
        if len(checks) == 1:
            say = partial(print_line, self.notes)
            return self_check.concluded(checks[0], bases[0], self.show, self.baselines, say)
        both = zip(bases, checks, strict=True)
        screened = [self.show.judged(base, check.base) for base, check in both if base is not None]
        return self_check.shown(checks, screened, self.show)

    def _by_itself(
        self, beside: AbRun, base: Record | None, paths: RunPaths, show: Conclusion
    ) -> ExitStatus:
        """Measure this build, compare it with a baseline if there is one, and confirm in pairs.

        If the baseline has not seen this GPU, all is measured in pairs, as far as possible.
        """
        options, suite, measuring = self.options, beside.suite, beside.measuring
        if options.self_check:
            return self_check.run(beside, base, paths.folder, show, self.baselines)
        commit, why, sides = "", "", None
        if options.record:
            known, at = suite.known, self.baselines
            at = store.path_of(at, known["gpu_name"]) if base else at
            recordable.require_suite(known, suite.binaries, suite.probe.faults, at, base)
        elif base is not None:
            now = Session("now", suite.known)
            try:
                commit = confirm.commit_for(measuring, base, now)
                if not confirm.has_seen(base, now):
                    names = [name for binary in suite.binaries for name in binary.names]
                    sides = confirm.sides(beside, commit, names)
            except (UserError, OSError) as fault:
                commit, why = "", confirm.reason(fault)
            if sides is not None:
                what = f"measuring {suite.size} in pairs with its commit {short(commit)}"
                measuring.note(f"The baseline has not seen this GPU: {what}")

                def unscreened(both: Looks[Comparison]) -> Comparison:
                    return confirm.unscreened(show.judged(base, both.found.candidate), both)

                return against.measured(beside, sides, paths, show, unscreened)
            measuring.note(f"Screening {suite.size} against {os.path.relpath(base.path)}")
        content, tired = beside.alone(options.screening(confirms=bool(commit)))
        if tired is not None and options.record:
            raise tired

        def settled(found: Comparison) -> Comparison:
            if options.record:
                return found
            if tired is not None or not commit:
                return unconfirmed(found, why if tired is None else "the GPU stays slow")
            # The pair's run files record what was selected.
            settings = replace(show.settings, filter=None)
            judge = replace(show, settings=settings).judged
            found = confirm.confirmed(found, beside, commit, paths.confirming, judge)
            if not options.why:
                return found

            def flagged() -> Sides:
                base, run = map(load.load, paths.confirming)
                return Sides((beside.base(commit), beside.candidate), (base, run))

            return explain.of_regressions(found, flagged, measuring, paths.why)

        shown = os.path.relpath(paths.run)
        became = f"while {shown} was written: it is either complete or unchanged"
        try:
            run_file.write({paths.run: content})
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
        """How results are judged and shown. Raises UserError for a wrong policy."""
        rules = policy.named_or_in(self.baselines, self.options.policy)
        if rules is not None and self.options.self_check:  # its changes are intentional
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
        """Judge, settle, and show the result; with --record, add it to the baseline."""
        note, probe = beside.measuring.note, beside.suite.probe
        if base is None:
            status = show.values(run)
        else:
            status = show.compared(settled(show.judged(base, run)))
        if self.options.record:
            for line in store.record(run.path, self.baselines).lines():
                print_line(self.results, line)
            return ExitStatus.OK
        if base is None:
            note(without_baseline(probe))
            for line in self.options.formats.unwritten:
                note(line)
        if probe.no_gpu:
            if self.options.build_dir is None:
                show.recorded(self.root / ".github" / "examples" / "regression.txt")
            status = ExitStatus.NOT_MEASURED if status is ExitStatus.OK else status
            note(f"No GPU was measured, so this run cannot pass: exit status {status:d}.")
        return status
