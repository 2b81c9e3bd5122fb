# SPDX-License-Identifier: Apache-2.0
"""scripts/bench: build, measure in fresh processes, write the run file, compare, exit truly."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from datetime import date, datetime
from functools import cached_property
from pathlib import Path

from rich.console import Console

from warpgauge import (
    baseline,
    confirm,
    every_gpu,
    interrupts,
    load,
    merge,
    policy,
    recordable,
    resume,
    runfile,
    runner,
    self_check_command,
    worktree,
)
from warpgauge.alone import alone, of_gpu
from warpgauge.beside import Beside
from warpgauge.combination import measured_in_turns, unconfirmed
from warpgauge.commits import short
from warpgauge.conclusion import Conclusion, without_baseline
from warpgauge.errors import ExitStatus, UserError
from warpgauge.every_gpu import Share
from warpgauge.fatigue import Tired
from warpgauge.formats import TERMINAL
from warpgauge.gpu_watch import GpuWatch
from warpgauge.measuring import Measuring, Suite
from warpgauge.model import Record
from warpgauge.options import Options, parse
from warpgauge.output import Output
from warpgauge.partial_report import Report
from warpgauge.resume import Interrupted
from warpgauge.run_paths import RunPaths, named_after
from warpgauge.terms import Terms
from warpgauge.text import plural


@dataclass(frozen=True)
class Bench:
    """One invocation: what was asked for, where the repository is, and where output goes."""

    options: Options
    root: Path
    results: Console
    notes: Console  # standard error: progress and remarks
    argv: Sequence[str] = ()
    before: Interrupted | None = None  # a run that goes on
    share: Share | None = None  # where this GPU is one of several

    def run(self) -> ExitStatus:
        """The whole way; everything that can be refused is refused before the minutes of it."""
        options, share = self.options, self.share
        chosen, against = self.inputs()
        paths = RunPaths(options.out) if options.out else named_after(self.root, datetime.now())
        paths.check(options, self.root / "baselines")
        with tempfile.TemporaryDirectory(prefix="warpgauge-") as scratch, ExitStack() as held:
            at_once = share.at_once if share else 1
            measuring = Measuring(options, self.root, Path(scratch), self.notes, at_once=at_once)
            built = share.built if share else measuring.built()
            suite = measuring.suite(built.programs)
            if uuid := suite.known.get("gpu_uuid", ""):
                held.enter_context(
                    alone(of_gpu(uuid), _waiting(options, "on this GPU", self.notes))
                )
            facts = resume.facts(self.argv, options.seed, paths.run, suite, built.source)
            folder = share.journal if share else paths.journal
            journal = resume.journal_of(folder, facts, self.before)
            if self.before:
                kept = plural(journal.size, "process is", "processes are")
                measuring.note(f"Going on with {os.path.relpath(paths.run)}: {kept} there.")
            watch = GpuWatch(uuid, measuring.note) if uuid else None
            measuring = replace(measuring, journal=journal, watch=watch)
            measuring.wait_for_gpu()
            sides = Beside(measuring, suite, built.source)
            with resume.goes_on(journal, measuring.note, share.whole if share else None):
                if against:
                    return self._against(sides, against, paths)
                return self._by_itself(sides, chosen or self._own_baseline(suite), paths)

    def inputs(self) -> tuple[Record | None, str]:
        """The baseline and the commit that are named; None, "" where none is. Raises UserError."""
        options = self.options
        _ = self.show  # its policy is read before the minutes, too
        chosen = load.load(options.baseline) if options.baseline else None
        return chosen, worktree.commit_of(self.root, options.against) if options.against else ""

    def judge_self_check(self, folder: Path) -> ExitStatus:
        """What an earlier self-check measured, judged by today's rule. Raises UserError."""
        baselines = self.root / "baselines"
        chosen = load.load(self.options.baseline) if self.options.baseline else None
        return self_check_command.judged_again(
            folder,
            lambda gpu: chosen or self._baseline_of(gpu),
            self.show,
            baselines,
            lambda line: self.notes.print(line, markup=False, highlight=False, soft_wrap=True),
        )

    def _by_itself(self, beside: Beside, base: Record | None, paths: RunPaths) -> ExitStatus:
        """This build, against a baseline where there is one."""
        options, suite, measuring = self.options, beside.suite, beside.measuring
        if options.self_check:
            baselines = self.root / "baselines"
            return self_check_command.run(beside, base, paths.folder, self.show, baselines)
        if options.record:
            self._require_recordable(suite, base)
        elif base is not None:
            measuring.note(f"Screening {suite.size} against {os.path.relpath(base.path)}")
        outcomes, tired = self._measure(beside)
        context = runfile.context(suite.binaries, outcomes, self._facts(beside), suite.known)
        rows = merge.rows(suite.binaries, outcomes)
        status = self._kept(paths, context, rows, base, beside, tired)
        if tired is not None:
            raise tired.after(status)
        return status

    @cached_property
    def show(self) -> Conclusion:
        """How results are judged and shown. Raises UserError for a policy that is wrong."""
        options, baselines = self.options, self.root / "baselines"
        terms = Terms(
            filter=options.filter or None,
            fail_on_resources="resources" in options.fail_on,
            allow=options.allow,
            policy=policy.named_or_in(baselines, options.policy),
            today=date.today(),
        )
        return Conclusion(self.results, terms, options.formats)

    def _against(self, beside: Beside, commit: str, paths: RunPaths) -> ExitStatus:
        """Base and candidate in turns, and nothing else."""
        base, candidate = beside.base(commit), beside.candidate
        beside.measuring.note(f"Measuring {beside.suite.size} in turns with commit {short(commit)}")
        both = beside.compared(base, candidate, self.options.filter, paths.pair, self.show.judged)
        status = self.show.compared(measured_in_turns(both, commit))
        if both.stop is not None:
            raise both.stop
        if status is ExitStatus.OK and beside.suite.probe.no_gpu:
            return ExitStatus.NOT_MEASURED
        return status

    def _kept(
        self,
        paths: RunPaths,
        context: Report,
        rows: Sequence[merge.JsonRow],
        base: Record | None,
        beside: Beside,
        tired: Tired | None,
    ) -> ExitStatus:
        """Write the run file and conclude from it; an interrupt says what became of the file."""
        out, shown = paths.run, os.path.relpath(paths.run)
        became = f"while {shown} was written: it is whole, or what it was before"
        try:
            runfile.write(out, context, rows)
            became = f"after {shown} was written"
            beside.measuring.note(f"run file: {shown}")
            return self._concluded(base, load.load(out), beside, paths, tired)
        except KeyboardInterrupt as stop:
            raise interrupts.told(stop, became) from None

    def _own_baseline(self, suite: Suite) -> Record | None:
        name = suite.probe.context.get("gpu_name")
        return self._baseline_of(name) if name else None

    def _baseline_of(self, gpu_name: str) -> Record | None:
        path = baseline.find(self.root / "baselines", gpu_name)
        return load.load(path) if path else None

    def _require_recordable(self, suite: Suite, base: Record | None) -> None:
        known, baselines = suite.known, self.root / "baselines"
        at = baseline.path_of(baselines, known["gpu_name"]) if base else baselines
        recordable.require_suite(known, suite.binaries, suite.probe.faults, at, base)

    def _measure(self, beside: Beside) -> tuple[list[runner.Outcome], Tired | None]:
        """What all rounds delivered, or those before the GPU got tired. Raises Tired."""
        rounds, outcomes = range(1, self.options.processes + 1), list[runner.Outcome]()
        try:
            outcomes.extend(beside.measuring.run([beside.candidate.lane()], rounds))
        except Tired as tired:
            if self.options.record:
                raise
            return outcomes, tired
        return outcomes, None

    def _facts(self, beside: Beside) -> dict[str, str]:
        options = self.options
        return {
            **beside.candidate.facts,
            "processes": str(options.processes),
            "order_seed": str(options.seed),
            "filter": options.filter,
        }

    def _concluded(
        self,
        base: Record | None,
        run: Record,
        beside: Beside,
        paths: RunPaths,
        tired: Tired | None,
    ) -> ExitStatus:
        """Confirm what needs it and show the result; with --record keep it too."""
        note, probe, show = beside.measuring.note, beside.suite.probe, self.show
        if base is None:
            status = show.values(run)
        else:
            found = show.judged(base, run)
            if tired is not None:
                found = unconfirmed(found, "the GPU stays slow")
            elif not self.options.record:
                # The files of the pair tell by themselves what they were asked for.
                judge = replace(show, terms=replace(show.terms, filter=None)).judged
                found = confirm.confirmed(found, beside, paths.confirming, judge)
            status = show.compared(found)
        if self.options.record:
            for line in baseline.record(run.path, self.root / "baselines").lines():
                self.results.print(line, markup=False, highlight=False, soft_wrap=True)
            return ExitStatus.OK
        if base is None:
            note(without_baseline(probe))
            for line in self.options.formats.unwritten:
                note(line)
        if probe.no_gpu:
            show.recorded(self.root / "baselines")
        if status is ExitStatus.OK and probe.no_gpu:
            return ExitStatus.NOT_MEASURED
        return status


def _waiting(options: Options, where: str, notes: Console) -> Callable[[int | None], None]:
    """What to do while another command holds what this one needs: tell, or refuse to wait."""

    def wait(holder: int | None) -> None:
        who = f"another scripts/bench {where}" + (f" (pid {holder})" if holder else "")
        if not options.wait:
            raise UserError(
                f"{who} is running: let it end, or leave out --no-wait", ExitStatus.NOT_MEASURED
            )
        notes.print(f"Waiting for {who} to end ...", markup=False, highlight=False, soft_wrap=True)

    return wait


def main(argv: Sequence[str], root: Path) -> ExitStatus:
    """Raises UserError for what the user can mend, a full disk included."""
    options, before = parse(argv), None
    if options.resume is not None:
        before = resume.interrupted(options, root / "build" / "runs")
        argv, options = before.argv, before.options
    # What a program reads from standard output stands there alone.
    shown, notes = Output(stderr=options.formats.shown is not TERMINAL), Output(stderr=True)
    try:
        if options.self_check_of:
            return Bench(options, root, shown, notes).judge_self_check(options.self_check_of)
        with alone(root / "build", _waiting(options, "of this tree", notes)):
            one = Bench(options, root, shown, notes, argv, before)
            return every_gpu.measured(one) if options.every_gpu else one.run()
    except OSError as fault:
        raise UserError(f"{fault.filename or 'the system'}: {fault.strerror or fault}") from fault
