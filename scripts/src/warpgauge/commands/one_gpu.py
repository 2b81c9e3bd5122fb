# SPDX-License-Identifier: Apache-2.0
"""One run of scripts/bench on one GPU, or several together: build, measure, write, compare."""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import shlex
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path

from warpgauge.baselines import recordable, store
from warpgauge.commands.measuring_command import MeasuringCommand, RunPaths
from warpgauge.commands.output import Conclusion
from warpgauge.external.program import ExternalKernels
from warpgauge.measure import confirm, journal, run_file, self_check
from warpgauge.measure.ab_run import AbRun, Looks
from warpgauge.measure.confirm import unconfirmed
from warpgauge.measure.discovery import Probe
from warpgauge.measure.journal import Journal, Start
from warpgauge.measure.measuring import Built, Measuring
from warpgauge.measure.self_check import SelfCheck
from warpgauge.records import load
from warpgauge.records.model import Record, Session
from warpgauge.records.sessions import FEWEST_OF_A_CHANGE
from warpgauge.reports.advice import first_steps
from warpgauge.system import git, process
from warpgauge.system.atomic import replace_all
from warpgauge.system.entry_point import telling
from warpgauge.system.errors import ExitStatus, UserError
from warpgauge.system.git import short
from warpgauge.system.layout import print_line
from warpgauge.system.text import named
from warpgauge.verdict import policy
from warpgauge.verdict.comparison import Comparison, Outcome
from warpgauge.verdict.note import Note, commit_words, listed, paired, removed, sentence
from warpgauge.verdict.paired_tests import looks_of
from warpgauge.verdict.policy import Expected, Policy
from warpgauge.why import explain
from warpgauge.why.explain import Sides

# Unless the user gives a budget, a self-check measures no further look after so many seconds.
SELF_CHECK_SECONDS = 345.0

# Fields of a run that must not have changed when it is resumed, and their names in messages.
_SAME = {"programs": "programs", "gpu": "GPU", "source": "commit"}


@dataclass(frozen=True)
class Bench(MeasuringCommand):
    """One invocation of scripts/bench on one GPU, or several together."""

    before: tuple[Journal, Start] | None = None  # the run to resume
    shared: Built | None = None  # what is measured, if this GPU is one of several
    part: str = ""  # then its name in the names of files

    command = "scripts/bench"

    def run(self) -> ExitStatus:
        """Check all arguments first, then build, measure, judge and show."""
        options, commit, resumed = self.options, self.commit, bool(self.before)
        paths = self.run_paths()
        self.check(paths)
        with self.begun(options, paths.log, resumed=resumed) as (measuring, held):
            built = self.shared or self.built(measuring)
            suite = measuring.suite(built.programs)
            if self.shared is None:
                held.enter_context(self.alone_in(self.runs))
            uuid = suite.known.get("gpu_uuid", "")
            measuring = self.watched(measuring, uuid, held)
            if suite.probe.gpus > 1:
                measuring = replace(measuring, options=replace(options, device=uuid))
            sides = AbRun(measuring, suite, built.source)
            kept = self._journal(paths, sides)
            if resumed:
                measuring.note(f"Resuming {os.path.relpath(paths.run)}.")
            sides = replace(sides, measuring=replace(measuring, journal=kept))
            with _goes_on(kept, measuring):
                base = self._baseline_of(suite.probe.context.get("gpu_name"))
                show = replace(self.show, page=paths.report)
                if options.own.self_check:
                    status = self._self_check(sides, paths.folder, show)
                elif commit:
                    status = self._against(sides, commit, paths, show, base)
                else:
                    status = self._by_itself(sides, base, paths, show)
            measuring.tell_budget()
            return status

    def check(self, paths: RunPaths) -> None:
        """Raise UserError if a file that may be written must not be."""
        runs = [*paths.pair]
        if not self.options.against:
            is_alone = self.options.record or not self.options.confirm
            runs = [paths.run] if is_alone else [*runs, *paths.confirming]
        paths.check(self.options, self.baselines, runs)

    def built(self, measuring: Measuring) -> Built:
        """Build what is measured. Raises UserError."""
        options = self.options
        needs_gpu = isinstance(options.device, str) or options.record or options.own.self_check
        if needs_gpu or self.kernels is not None:
            measuring.require_gpu()
        if self.kernels is not None:
            return self.kernels.built(measuring)
        return measuring.built(() if process.has_gpu() else measuring.host_programs())

    @cached_property
    def kernels(self) -> ExternalKernels | None:
        """The external kernels of a manifest, if it is named. Raises UserError."""
        path = self.options.kernels
        return None if path is None else ExternalKernels.of(path)

    @property
    def baselines(self) -> Path:
        """The baselines of this tree, of the --build-dir project, or beside the FILE."""
        named = self.options.baselines
        return self.root / "baselines" if named is None else named.absolute()

    @cached_property
    def commit(self) -> str:
        """The commit of --against, or "". Raises UserError, also for a wrong policy or manifest."""
        _ = self.show, self.kernels
        ref = self.options.against
        return git.commit_of(self.root, ref) if ref else ""

    @cached_property
    def show(self) -> Conclusion:
        """How results are judged and shown. Raises UserError for a wrong policy."""
        rules = policy.named_or_in(self.baselines, self.options.policy)
        if rules is not None and self.options.own.self_check:
            rules = replace(rules, expected=(), required=())  # its changes are intentional
        return self.conclusion(rules, self.baselines, self.options.filter)

    def _baseline_of(self, gpu_name: str | None) -> Record | None:
        path = store.find(self.baselines, gpu_name) if gpu_name else None
        return load.load(path) if path else None

    def _journal(self, paths: RunPaths, beside: AbRun) -> Journal:
        """Return a new journal, or that of the resumed run. Raises UserError if runs differ."""
        suite, inputs, digest = beside.suite, beside.measuring.inputs, hashlib.sha256()
        for path in (path for one in suite.binaries for path in (one.path, *one.inputs)):
            digest.update(os.fsencode(path.name))
            digest.update(inputs.digest(path).encode())  # "" if missing: its rows will say so
        now = Start(
            tuple(self.argv),
            self.options.seed,
            str(paths.run.absolute()),
            str(Path.cwd()),
            part=self.part,
            programs=digest.hexdigest(),
            gpu=suite.known.get("gpu_uuid", ""),
            source=dict(beside.source),
        )
        if self.before is None:
            return journal.begin(paths.journal, now)
        there, began = self.before
        changed = [name for key, name in _SAME.items() if getattr(began, key) != getattr(now, key)]
        if changed:
            what = " and the ".join(changed)
            raise UserError(
                f"the interrupted run cannot be resumed: the {what} changed since; start a new run"
            )
        return there

    def _by_itself(
        self, beside: AbRun, base: Record | None, paths: RunPaths, show: Conclusion
    ) -> ExitStatus:
        """Measure this build, compare it with a baseline if there is one, and confirm in pairs.

        If the baseline has not seen this GPU, all is measured in pairs, as far as possible.
        """
        options, suite, measuring = self.options, beside.suite, beside.measuring
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

                return self.in_pairs(beside, sides, paths, show, unscreened)
            measuring.note(f"Screening {suite.size} against {os.path.relpath(base.path)}")
        content, tired = beside.alone(options.screening(confirms=bool(commit)))
        if tired is not None:
            if options.record:
                raise tired
            commit, why = "", "the GPU stays slow"
        shown = os.path.relpath(paths.run)
        with telling(f"while {shown} was written: it is either complete or unchanged"):
            run_file.write({paths.run: content})
        with telling(f"after {shown} was written"):
            measuring.note(f"run file: {shown}")
            run = load.load(paths.run)
            if base is None:
                status = show.values(run)
            else:
                found = show.judged(base, run)
                if not options.record:
                    found = self._confirmed(found, beside, commit, why, paths, show)
                status = show.compared(found)
            if options.record:
                for line in store.record(run.path, self.baselines).lines():
                    print_line(self.results, line)
                return ExitStatus.OK
            if base is None:
                for line in without_baseline(suite.probe, run):
                    measuring.note(line)
        if tired is not None:
            raise tired.after(status)
        return status

    def _confirmed(
        self,
        found: Comparison,
        beside: AbRun,
        commit: str,
        why: str,
        paths: RunPaths,
        show: Conclusion,
    ) -> Comparison:
        """Confirm what was flagged in pairs with `commit`, and explain it; "" says `why` not."""
        if not commit:
            return unconfirmed(found, why)
        # The pair's run files record what was selected.
        judge = replace(show, settings=replace(show.settings, filter=None)).judged
        found = confirm.confirmed(found, beside, commit, paths.confirming, judge)

        def flagged() -> Sides:
            base, run = map(load.load, paths.confirming)
            return Sides((beside.base(commit), beside.candidate), (base, run))

        return explain.of_regressions(found, flagged, beside.measuring, paths.why)

    def _against(
        self, beside: AbRun, commit: str, paths: RunPaths, show: Conclusion, base: Record | None
    ) -> ExitStatus:
        """Compare with a commit by this tree's rules, in pairs. Raises UserError.

        This tree's policy says which slowdowns are accepted, and its baseline `base` which
        benchmarks were removed.
        """
        measuring, probe, rules = beside.measuring, beside.suite.probe, show.settings.policy
        sides = beside.base(commit), beside.candidate
        old = _used_up(measuring, commit, rules)
        rules = rules and rules.without(old)
        show = replace(show, settings=replace(show.settings, policy=rules))
        measuring.note(f"Measuring {beside.suite.size} in pairs with commit {short(commit)}")

        def settled(both: Looks[Comparison]) -> Comparison:
            method = paired(commit, both.rounds)
            found = replace(both.found, method=method)
            found = _without_removed(found, base, measuring.root, commit)
            slower = [row.name for row in found.verdicts if row.outcome is Outcome.REGRESSION]
            used_up = [name for name in slower if any(one.pattern.search(name) for one in old)]
            no_gpu = f"No GPU was measured: {sentence(probe.no_gpu or '')}."
            notes = [Note("no_gpu", no_gpu)] if probe.no_gpu else []
            if used_up:  # only that entry of the policy would accept them
                words = (
                    f"The entry that expects {listed(used_up)} to be slower is also in commit "
                    f"{commit_words(commit)}: the slowdown that it accepts is already in the base. "
                    "A further change needs its own entry."
                )
                notes.append(Note("used_up", words))
            return replace(found, notes=(*notes, *found.notes))

        status = self.in_pairs(beside, sides, paths, show, settled)
        return ExitStatus.NOT_MEASURED if status is ExitStatus.OK and probe.no_gpu else status

    def _self_check(self, beside: AbRun, folder: Path, show: Conclusion) -> ExitStatus:
        """Measure, judge and show a self-check; its run files stay in `folder`.

        The result of a whole suite of a committed tree is kept beside the baselines. Raises
        UserError.
        """
        both = self_check.measure(beside, folder, show.judged)
        check = both.found
        self_check.render(check, show.console)
        if why_not := self._why_not_kept(both):
            where = os.path.relpath(self.baselines)
            print_line(self.notes, f"The result is not kept in {where}: {why_not}.")
        else:
            slug = store.slug(check.context["gpu_name"])
            path = self.baselines / f"{load.SELF_CHECK}{slug}.json"
            replace_all({path: self_check.text(check)})
            print_line(self.notes, f"kept: {os.path.relpath(path)}")
        if both.stop is not None:
            raise both.stop
        return check.status

    def _why_not_kept(self, both: Looks[SelfCheck]) -> str:
        check = both.found
        if check.comparison.refusal is not None:
            return check.comparison.refusal
        if check.failed:
            return f"{named(check.failed)} gave no result"
        if not check.cases:
            return "no benchmark was compared"
        if self.options.filter:
            return "only part of the suite was measured (--filter)"
        if check.context.get("dirty") != "false":
            return "the working tree had uncommitted changes"
        if min(looks_of(check.comparison.candidate), default=0) < FEWEST_OF_A_CHANGE:
            return f"a change needs {FEWEST_OF_A_CHANGE} pairs"
        if (self.options.budget_s or 0.0) < SELF_CHECK_SECONDS:
            return "it may have had fewer looks than usual (--budget)"
        return "it was interrupted" if both.stop else ""


@contextlib.contextmanager
def _goes_on(there: Journal, measuring: Measuring) -> Iterator[None]:
    """Remove the journal of a complete run; otherwise print how to resume it."""
    try:
        yield
    except BaseException:
        if there.is_empty:
            there.remove()
        else:
            again = f"scripts/bench --resume {shlex.quote(os.path.relpath(there.folder))}"
            measuring.note(f"What was measured is kept: `{again}` resumes from there.")
        raise
    there.remove()


def without_baseline(probe: Probe, run: Record) -> tuple[str, ...]:
    """Return what to do about a run that has no baseline to be compared with, line by line."""
    if probe.no_gpu:  # a baseline belongs to a GPU model
        status = f"exit status {ExitStatus.NOT_MEASURED:d}"
        return (
            f"No GPU was measured: {probe.no_gpu}. So this run cannot pass ({status}).",
            "To see what a run on a GPU looks like: scripts/warpgauge demo",
        )
    if "gpu_name" not in probe.context:
        return ("Nothing to compare with: no benchmark ran long enough to report its GPU.",)
    return tuple(f"{step.words} {step.command}" for step in first_steps(run))


def _used_up(measuring: Measuring, commit: str, rules: Policy | None) -> list[Expected]:
    """Return expected entries of the policy that the base has, too: their slowdowns are in it."""
    path = measuring.root / "baselines" / policy.FILE_NAME
    if rules is None or rules.path != path:
        return []
    said = git.run(measuring.root, "show", f"{commit}:./baselines/{policy.FILE_NAME}")
    if said.returncode:
        return []
    copy = measuring.scratch / policy.FILE_NAME
    copy.write_text(said.stdout, encoding="utf-8")
    try:
        return rules.used_up(policy.load(copy))
    except UserError:  # the policy may be of an older format
        return []


def _without_removed(
    found: Comparison, baseline: Record | None, root: Path, commit: str
) -> Comparison:
    """Leave out benchmarks that this tree removed from its baseline, which `commit` has in it.

    Benchmarks that a policy requires still count as missing.
    """
    if baseline is None:
        return found
    missing = [row for row in found.verdicts if row.outcome is Outcome.MISSING]
    known = baseline.rows.keys() | found.candidate.rows.keys()  # the candidate may have skipped it
    lost = [row.name for row in missing if not row.required and row.name not in known]
    recorded = _recorded(root, commit, baseline.path, {name.split("/", 1)[0] for name in lost})
    gone = [name for name in lost if name in recorded]
    if not gone:
        return found
    verdicts = tuple(row for row in found.verdicts if row.name not in gone)
    return replace(found, verdicts=verdicts, notes=(*found.notes, removed(gone)))


def _recorded(root: Path, commit: str, baseline: Path, families: Iterable[str]) -> set[str]:
    """Return the benchmarks of these families that a baseline has in a commit."""
    names = set[str]()
    for family in families:
        path = f"{commit}:./{os.path.relpath(baseline, root)}/{family}.json"
        with contextlib.suppress(
            ValueError, KeyError, TypeError
        ):  # it is not there, or of an older format
            rows = json.loads(git.run(root, "show", path).stdout)["benchmarks"]
            names |= {row["name"] for row in rows}
    return names
