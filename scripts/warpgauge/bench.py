# SPDX-License-Identifier: Apache-2.0
"""scripts/bench: build, measure in fresh processes, write the run file, compare, exit truly."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from datetime import date, datetime
from functools import cached_property, partial
from pathlib import Path

from rich.console import Console

from warpgauge import (
    baseline,
    confirm,
    interrupts,
    load,
    machine_context,
    merge,
    policy,
    recordable,
    resume,
    runfile,
    self_check_command,
    worktree,
)
from warpgauge.alone import alone, of_gpu
from warpgauge.beside import Beside
from warpgauge.budget import Budget
from warpgauge.combination import measured_in_turns
from warpgauge.command_log import CommandLog
from warpgauge.commits import short
from warpgauge.comparison import Comparison
from warpgauge.conclusion import Conclusion, without_baseline
from warpgauge.errors import ExitStatus, UserError
from warpgauge.formats import TERMINAL
from warpgauge.measuring import Measuring, Suite
from warpgauge.model import Record
from warpgauge.options import Options, parse
from warpgauge.output import Output
from warpgauge.partial_report import Report
from warpgauge.resume import Interrupted
from warpgauge.run_paths import RunPaths, named_after
from warpgauge.screened import Screened
from warpgauge.terms import Terms
from warpgauge.text import plural


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

    def run(self) -> ExitStatus:
        """The whole way; everything that can be refused is refused before the minutes of it."""
        options, baselines = self.options, self.root / "baselines"
        chosen = load.load(options.baseline) if options.baseline else None
        source = machine_context.source(self.root)
        if options.record:
            machine_context.require_committed(source)
        against = worktree.commit_of(self.root, options.against) if options.against else ""
        now = datetime.now()
        paths = RunPaths(options.out) if options.out else named_after(self.root, now)
        paths.check(options, baselines)
        _ = self.show  # its policy is read before the minutes, too
        with tempfile.TemporaryDirectory(prefix="warpgauge-") as scratch, ExitStack() as held:
            measuring = Measuring(options, self.root, Path(scratch), self.notes, self.faults)
            log = CommandLog(paths.log, self.argv, goes_on=self.before is not None)
            held.callback(lambda: measuring.note(f"commands: {os.path.relpath(log.path)}"))
            held.enter_context(log.used())
            programs = measuring.built()
            if machine_context.source(self.root) != source:  # somebody edits while it builds
                source |= {"dirty": "true"}
            source = measuring.source_of_programs(source)
            if options.record:
                machine_context.require_committed(source)
            suite = measuring.suite(programs)
            if uuid := suite.known.get("gpu_uuid", ""):
                held.enter_context(
                    alone(of_gpu(uuid), _waiting(options, "on this GPU", self.notes))
                )
            facts = resume.facts(self.argv, options.seed, paths.run, suite, source)
            journal = resume.journal_of(paths.run, facts, self.before)
            if self.before:
                kept = plural(journal.size, "process is", "processes are")
                measuring.note(f"Going on with {os.path.relpath(paths.run)}: {kept} there.")
            budget = Budget(options.budget_s) if options.budget_s is not None else None
            measuring = replace(measuring, journal=journal, gpu_uuid=uuid, budget=budget)
            measuring.wait_for_gpu()
            beside = Beside(measuring, suite, source)
            with resume.goes_on(journal, measuring.warn):
                if against:
                    status = self._against(beside, against, paths)
                else:
                    status = self._by_itself(beside, chosen or self._own_baseline(suite), paths)
            if budget is not None:
                (measuring.warn if budget.too_short else measuring.note)(budget.told)
            return status

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
        screened = Screened(beside, base, self.show.judged, paths.run)
        side = screened.measured()
        further = partial(screened.further, side)
        return self._kept(paths, *screened.document(side), base, beside, further)

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
        further: Callable[[Comparison], Comparison],
    ) -> ExitStatus:
        """Write the run file and conclude from it; an interrupt says what became of the file."""
        out, shown = paths.run, os.path.relpath(paths.run)
        became = f"while {shown} was written: it is whole, or what it was before"
        try:
            runfile.write(out, context, rows)
            became = f"after {shown} was written"
            beside.measuring.note(f"run file: {shown}")
            return self._concluded(base, load.load(out), beside, paths, further)
        except KeyboardInterrupt as stop:
            raise interrupts.told(stop, became) from None

    def _own_baseline(self, suite: Suite) -> Record | None:
        name = suite.probe.context.get("gpu_name")
        path = baseline.find(self.root / "baselines", name) if name else None
        return load.load(path) if path else None

    def _require_recordable(self, suite: Suite, base: Record | None) -> None:
        known, baselines = suite.known, self.root / "baselines"
        at = baseline.path_of(baselines, known["gpu_name"]) if base else baselines
        recordable.require_suite(known, suite.binaries, suite.probe.faults, at, base)

    def _concluded(
        self,
        base: Record | None,
        run: Record,
        beside: Beside,
        paths: RunPaths,
        further: Callable[[Comparison], Comparison],
    ) -> ExitStatus:
        """Confirm what needs it and show the result; with --record keep it too."""
        warn, probe, show = beside.measuring.warn, beside.suite.probe, self.show
        if base is None:
            status = show.values(run)
        else:
            found = show.judged(base, run)
            if not self.options.record:
                # The files of the pair tell by themselves what they were asked for.
                judge = replace(show, terms=replace(show.terms, filter=None)).judged
                found = confirm.confirmed(found, beside, paths.confirming, judge, further)
            status = show.compared(found)
        if self.options.record:
            for line in baseline.record(run.path, self.root / "baselines").lines():
                self.results.print(line, markup=False, highlight=False, soft_wrap=True)
            return ExitStatus.OK
        if base is None:
            warn(without_baseline(probe))
            for line in self.options.formats.unwritten:
                warn(line)
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
    shown = Output(stderr=options.formats.shown is not TERMINAL)
    faults = Output(stderr=True)
    notes = Output(stderr=True, quiet=True) if options.quiet else faults
    try:
        with alone(root / "build", _waiting(options, "of this tree", notes)):
            return Bench(options, root, shown, notes, faults, argv, before).run()
    except OSError as fault:
        raise UserError(f"{fault.filename or 'the system'}: {fault.strerror or fault}") from fault
