# SPDX-License-Identifier: Apache-2.0
"""One run of warpgauge bench on one GPU, or several together: build, measure, write, compare."""

from __future__ import annotations

import hashlib
import json
import os
import shlex
import sys
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path

from warpgauge.baselines import recordable, show, store
from warpgauge.commands.measuring_command import MeasuringCommand
from warpgauge.external.program import ExternalKernels
from warpgauge.measure import confirm, journal, machine_context, selection, self_check
from warpgauge.measure.ab_run import AbRun
from warpgauge.measure.confirm import unconfirmed
from warpgauge.measure.discovery import Probe, Suite
from warpgauge.measure.journal import Journal, Start
from warpgauge.measure.measuring import Built, Measuring
from warpgauge.records import load
from warpgauge.records.model import Record, Session
from warpgauge.records.sessions import FEWEST_OF_A_CHANGE
from warpgauge.reports.advice import first_steps
from warpgauge.system import environment, git, process
from warpgauge.system.atomic import replace_all
from warpgauge.system.errors import ExitStatus, UserError
from warpgauge.system.git import short
from warpgauge.system.layout import print_line
from warpgauge.verdict import policy
from warpgauge.verdict.comparison import Comparison, Outcome
from warpgauge.verdict.note import Note, commit_words, listed, paired, removed, sentence
from warpgauge.verdict.paired_tests import looks_of
from warpgauge.verdict.policy import Expected, Policy
from warpgauge.why import changes, explain
from warpgauge.why.changes import Changes
from warpgauge.why.explain import Sides

# Unless the user gives a budget, a self-check measures no further look after so many seconds.
SELF_CHECK_SECONDS = 345.0


@dataclass(frozen=True)
class Bench(MeasuringCommand):
    """One invocation of warpgauge bench on one GPU, or several together."""

    before: tuple[Journal, Start] | None = None  # the run to resume
    shared: Built | None = None  # what is measured, if this GPU is one of several
    part: str = ""  # then its name in the names of files

    command = "bench"

    def run(self) -> ExitStatus:
        """Check all arguments first, then build, measure, judge and show."""
        options, resumed = self.options, self.before is not None
        self.require_writable()
        with self.begun(resumed=resumed) as (measuring, held):
            built = self.shared or self.built(measuring)
            suite = self._selected(measuring.suite(built.programs))
            uuid = suite.known.get("gpu_uuid", "")
            measuring = self.ready(measuring, uuid, held)
            if suite.probe.gpus > 1:
                measuring = replace(measuring, options=replace(options, device=uuid))
            progress = self._journal(measuring, suite, built.source)
            if resumed:
                measuring.note(f"Resuming {os.path.relpath(self.paths.run)}.")
            run = AbRun(replace(measuring, journal=progress), suite, built.source)
            with _goes_on(progress, measuring):
                gpu_name = suite.probe.context.get("gpu_name")
                path = store.find(self.baselines, gpu_name) if gpu_name else None
                base = load.load(path) if path else None
                if options.own.self_check:
                    status = self._self_check(run)
                elif self.commit:
                    status = self._against(run, base)
                elif options.record:
                    status = self._record(run, base)
                elif base is None:
                    status = self._first(run)
                else:
                    status = self._compare(run, base)
            measuring.tell_budget()
            return status

    def require_writable(self) -> None:
        """Check the arguments. Raises UserError, also for a file that must not be written."""
        options, paths = self.options, self.paths
        _ = self.kernels, self.commit, self.what_changed, self.show
        with suppress(UserError):  # of the search of lines, where it is a note
            _ = self.commit and options.file is None and self.tree
        runs = [*paths.pair]
        if not options.against:
            is_alone = options.record or not options.confirm
            runs = [paths.run] if is_alone else [*runs, *paths.confirming]
        self.check(runs)

    def built(self, measuring: Measuring) -> Built:
        """Build what is measured. Raises UserError."""
        options = self.options
        needs_gpu = isinstance(options.device, str) or options.record or options.own.self_check
        if needs_gpu or self.kernels is not None:
            measuring.require_gpu()
        if self.kernels is not None:
            return self.kernels.built(measuring)
        return measuring.built(measuring.host_programs() if process.why_no_gpu() else ())

    @cached_property
    def kernels(self) -> ExternalKernels | None:
        """The external kernels of a manifest, if it is named. Raises UserError."""
        path = self.options.kernels
        return None if path is None else ExternalKernels.of(path)

    @cached_property
    def commit(self) -> str:
        """The commit of --against, or "". Raises UserError."""
        ref = self.options.against
        return git.commit_of(self.root, ref) if ref else ""

    @cached_property
    def what_changed(self) -> Changes | None:
        """What --changed says of this tree since the commit of --against. Raises UserError."""
        if self.options.own.changed is None:
            return None
        tree = machine_context.source(self.root)
        if tree["dirty"] != "false":
            raise UserError("--changed needs a committed tree: commit or stash your changes first")
        return changes.read(self.options.own.changed, self.commit, tree["commit"])

    def _selected(self, suite: Suite) -> Suite:
        """Return what --changed leaves of the suite. Raises UserError."""
        if self.what_changed is None:
            return suite
        here = machine_context.architectures(suite.known.get("gpu_uuid", ""))
        if other := here.difference(self.what_changed.architectures):
            named = ", ".join(f"sm_{number}" for number in sorted(other))
            fault = f"{self.options.own.changed} says nothing of this GPU's {named}"
            raise UserError(f"{fault}: write it with warpgauge changed --architectures")
        names = frozenset(self.what_changed.cannot_have_changed)
        required = [entry.pattern for entry in self.policy.required] if self.policy else []
        return selection.spared(suite, names, required, self.options.seed)

    @cached_property
    def policy(self) -> Policy | None:
        """The policy as it was written. Raises UserError."""
        return policy.named_or_in(self.baselines, self.options.policy)

    @cached_property
    def used_up(self) -> list[Expected]:
        """Expected entries of this tree's policy that --against has, too: its times hold them."""
        path = self.root / "baselines" / policy.FILE_NAME
        if not self.commit or self.policy is None or self.policy.path != path:
            return []
        text = git.run(self.root, "show", f"{self.commit}:./baselines/{policy.FILE_NAME}").stdout
        with tempfile.NamedTemporaryFile("w", suffix=".toml") as copy, suppress(UserError):
            copy.write(text)
            copy.flush()
            return self.policy.used_up(policy.load(Path(copy.name)))
        return []  # it is of an older format

    @property
    def rules(self) -> Policy | None:
        if self.policy is None:
            return None
        if self.options.own.self_check:  # its changes are intentional
            return replace(self.policy, expected=(), required=())
        return self.policy.without(self.used_up)

    def _journal(self, measuring: Measuring, suite: Suite, source: Mapping[str, str]) -> Journal:
        """Return a new journal, or that of the resumed run. Raises UserError if runs differ."""
        digest = hashlib.sha256()
        for path in (path for binary in suite.binaries for path in (binary.path, *binary.inputs)):
            digest.update(os.fsencode(path.name))
            digest.update(measuring.inputs.digest(path).encode())  # "": its rows will say so
        now = Start(
            tuple(self.argv),
            self.options.seed,
            str(self.paths.run.absolute()),
            str(Path.cwd()),
            part=self.part,
            programs=digest.hexdigest(),
            gpu=suite.known.get("gpu_uuid", ""),
            source=dict(source),
        )
        if self.before is None:
            return journal.begin(self.paths.journal, now)
        there, began = self.before
        if (began.programs, began.gpu, began.source) != (now.programs, now.gpu, now.source):
            fault = "its programs, GPU or commit changed since; start a new run"
            raise UserError(f"the interrupted run cannot be resumed: {fault}")
        return there

    def _record(self, run: AbRun, base: Record | None) -> ExitStatus:
        """Measure this build, show it, and add it to the baseline. Raises UserError."""
        recordable.require_suite(run.suite, base)
        record, tired = self.measured(run, self.options.screening(confirms=False))
        if tired is not None:
            raise tired
        if base is None:
            self.show.values(record)
        else:
            self.show.compared(self.show.judged(base, record))
        for line in store.record(record.path, self.baselines).lines():
            print_line(self.results, line)
        return ExitStatus.OK

    def _first(self, run: AbRun) -> ExitStatus:
        """Measure this build, and show what has no baseline yet. Raises UserError."""
        record, tired = self.measured(run, self.options.screening(confirms=False))
        status = self.show.values(record)
        for line in without_baseline(run.suite.probe, record):
            if status is ExitStatus.OK:
                run.measuring.note(line)
            else:  # the reason of the status, which stays with --quiet
                print(line, file=sys.stderr)
        if tired is not None:
            raise tired.after(status)
        return status

    def _compare(self, run: AbRun, base: Record) -> ExitStatus:
        """Compare this build with a baseline, and confirm what that flags in pairs.

        If the baseline has not seen this GPU, all is measured in pairs, as far as possible.
        """
        suite, measuring, now = run.suite, run.measuring, Session("now", run.suite.known)
        commit, why, sides = "", "", None
        try:
            commit = confirm.commit_for(measuring, base, now)
            if not confirm.has_seen(base, now):
                names = [name for binary in suite.binaries for name in binary.names]
                sides = confirm.sides(run, commit, names)
        except (UserError, OSError) as fault:
            commit, why = "", confirm.reason(fault)
        if sides is not None:
            what = f"measuring {suite.size} in pairs with its commit {short(commit)}"
            measuring.note(f"The baseline has not seen this GPU: {what}")
            looks = self.in_pairs(run, sides, self.options.filter)
            alone = self.show.judged(base, looks.found.candidate)
            found = confirm.unscreened(alone, looks)
            notes = *found.notes, *show.machine(base, looks.found.baseline)
            return self.concluded(replace(found, notes=notes), looks, run, sides)
        measuring.note(f"Screening {suite.size} against {os.path.relpath(base.path)}")
        record, tired = self.measured(run, self.options.screening(confirms=bool(commit)))
        if tired is not None:
            commit, why = "", "the GPU stays slow"
        found = self.show.judged(base, record)
        found = self._confirmed(found, run, commit) if commit else unconfirmed(found, why)
        status = self.show.compared(found)
        if tired is not None:
            raise tired.after(status)
        return status

    def _confirmed(self, found: Comparison, run: AbRun, commit: str) -> Comparison:
        """Confirm what was flagged in pairs with `commit`, and explain it. Raises UserError."""
        files = self.paths.confirming
        found = confirm.confirmed(found, run, commit, files, self.show.judged)

        def flagged() -> Sides:
            base, record = map(load.load, files)
            return Sides((run.base(commit), run.candidate), (base, record))

        return explain.of_regressions(found, flagged, run.measuring)

    def _against(self, run: AbRun, base: Record | None) -> ExitStatus:
        """Compare with a commit by this tree's rules, in pairs. Raises UserError.

        This tree's policy says which slowdowns are accepted, and its baseline `base` which
        benchmarks were removed.
        """
        commit, no_gpu = self.commit, run.suite.probe.no_gpu
        sides = run.base(commit), run.candidate
        run.measuring.note(f"Measuring {run.suite.size} in pairs with commit {short(commit)}")
        looks = self.in_pairs(run, sides, self.options.filter)
        found = replace(looks.found, method=paired(commit, looks.rounds))
        found = _without_removed(found, base, self.root, commit)
        slower = [row.name for row in found.verdicts if row.outcome is Outcome.REGRESSION]
        names = [name for name in slower if any(it.pattern.search(name) for it in self.used_up)]
        notes = []
        if no_gpu and found.refusal is not None:  # nothing but the host's controls was measured
            found = replace(found, refusal=f"No GPU was measured: {no_gpu}.")
        elif no_gpu:
            notes.append(Note("no_gpu", f"No GPU was measured: {sentence(no_gpu)}."))
        if names:  # only that entry of the policy would accept them
            words = (
                f"The entry that expects {listed(names)} to be slower is also in commit "
                f"{commit_words(commit)}: the slowdown that it accepts is already in the base. "
                "A further change needs its own entry."
            )
            notes.append(Note("used_up", words))
        found = replace(found, notes=(*notes, *found.notes))
        status = self.concluded(found, looks, run, sides, commit)
        return ExitStatus.NOT_MEASURED if status is ExitStatus.OK and no_gpu else status

    def _self_check(self, run: AbRun) -> ExitStatus:
        """Measure, judge and show a self-check.

        The result of a whole suite of a committed tree is kept beside the baselines. Raises
        UserError.
        """
        looks = self_check.measure(run, self.paths.folder, self.show.judged)
        check, where = looks.found, os.path.relpath(self.baselines)
        self_check.render(check, self.show.console)
        is_weaker = (
            self.options.filter
            or (self.options.budget_s or 0.0) < SELF_CHECK_SECONDS
            or min(looks_of(check.comparison.candidate), default=0) < FEWEST_OF_A_CHANGE
        )
        is_whole = check.cases and not check.failed and check.comparison.refusal is None
        if is_weaker or not is_whole or looks.stop or check.context.get("dirty") != "false":
            what = "a complete self-check of the whole suite of a committed tree"
            how = f"with at least {FEWEST_OF_A_CHANGE} pairs and the default --budget"
            print_line(self.notes, f"The result is not kept in {where}: that takes {what}, {how}.")
        else:
            slug = store.slug(check.context["gpu_name"])
            path = self.baselines / f"{load.SELF_CHECK}{slug}.json"
            replace_all({path: self_check.text(check)})
            print_line(self.notes, f"kept: {os.path.relpath(path)}")
        if looks.stop is not None:
            raise looks.stop
        return check.status


@contextmanager
def _goes_on(there: Journal, measuring: Measuring) -> Iterator[None]:
    """Remove the journal of a complete run; otherwise print how to resume it."""
    try:
        yield
    except BaseException:
        if there.is_empty:
            there.remove()
        else:
            folder = shlex.quote(os.path.relpath(there.folder))
            again = environment.started(f"bench --resume {folder}")
            measuring.note(f"What was measured is kept: `{again}` resumes from there.")
        raise
    there.remove()


def without_baseline(probe: Probe, run: Record) -> tuple[str, ...]:
    """Return what to do about a run that has no baseline to be compared with, line by line."""
    if "gpu_name" not in probe.context:  # a baseline belongs to a GPU model
        why = probe.no_gpu or "no program reported one"
        status = f"exit status {ExitStatus.NOT_MEASURED:d}"
        return (
            f"No GPU was measured: {why}. So this run cannot pass ({status}).",
            "To see what a run on a GPU looks like: " + environment.started("demo"),
        )
    return tuple(f"{step.words} {step.command}" for step in first_steps(run))


def _without_removed(
    found: Comparison, baseline: Record | None, root: Path, commit: str
) -> Comparison:
    """Leave out benchmarks that this tree removed from its baseline, which `commit` has in it.

    Benchmarks that a policy requires still count as missing.
    """
    if baseline is None:
        return found
    known = baseline.rows.keys() | found.candidate.rows.keys()  # the candidate may have skipped it
    missing = (row for row in found.verdicts if row.outcome is Outcome.MISSING)
    lost = [row.name for row in missing if not row.required and row.name not in known]
    recorded = set[str]()
    for family in {name.split("/", 1)[0] for name in lost}:
        path = f"{commit}:./{os.path.relpath(baseline.path, root)}/{family}.json"
        with suppress(ValueError, KeyError, TypeError):  # it is not there, or of an older format
            rows = json.loads(git.run(root, "show", path).stdout)["benchmarks"]
            recorded |= {row["name"] for row in rows}
    gone = [name for name in lost if name in recorded]
    if not gone:
        return found
    verdicts = tuple(row for row in found.verdicts if row.name not in gone)
    return replace(found, verdicts=verdicts, notes=(*found.notes, removed(gone)))
