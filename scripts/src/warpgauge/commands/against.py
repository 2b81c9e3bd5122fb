# SPDX-License-Identifier: Apache-2.0
"""Pairs from the start: with a given commit, the baseline's, or another folder of programs.

`run` is --against COMMIT, which applies this tree's rules.

Times are compared only with the commit. This tree's policy says which slowdowns are accepted, and
its baseline which benchmarks were removed.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from warpgauge.commands.measuring_command import RunPaths
from warpgauge.commands.show_results import Conclusion, without_gpu
from warpgauge.measure import run_file
from warpgauge.measure.ab_run import AbRun, Looks, Side, open_rows
from warpgauge.measure.measuring import Measuring
from warpgauge.records.model import Record
from warpgauge.system import git
from warpgauge.system.errors import ExitStatus, UserError
from warpgauge.system.git import short
from warpgauge.verdict import policy
from warpgauge.verdict.comparison import Comparison, Outcome
from warpgauge.verdict.note import Note, commit_words, listed, paired, removed
from warpgauge.verdict.policy import Expected, Policy
from warpgauge.why import explain
from warpgauge.why.explain import Sides


def run(
    beside: AbRun, commit: str, paths: RunPaths, show: Conclusion, baseline: Record | None
) -> ExitStatus:
    """Measure, judge and show; `baseline` is this tree's, for the GPU. Raises UserError."""
    measuring, probe = beside.measuring, beside.suite.probe
    sides = beside.base(commit), beside.candidate
    rules = show.settings.policy
    old = _used_up(measuring, commit, rules)
    rules = rules and rules.without(old)
    show = replace(show, settings=replace(show.settings, policy=rules))
    measuring.note(f"Measuring {beside.suite.size} in pairs with commit {short(commit)}")

    def settled(both: Looks[Comparison]) -> Comparison:
        method = paired(commit, both.rounds)
        found = _told(replace(both.found, method=method), old, commit)
        return without_gpu(_without_removed(found, baseline), probe)

    status = measured(beside, sides, paths, show, settled)
    return ExitStatus.NOT_MEASURED if status is ExitStatus.OK and probe.no_gpu else status


def measured(
    beside: AbRun,
    sides: tuple[Side, Side],
    paths: RunPaths,
    show: Conclusion,
    settled: Callable[[Looks[Comparison]], Comparison],
) -> ExitStatus:
    """Measure `sides` in pairs, base first; show what `settled` makes of them, with --why.

    An interrupt in a further look is raised after that. Raises UserError.
    """
    measuring, filter = beside.measuring, beside.measuring.options.filter
    both = beside.compared(*sides, filter, paths.pair, show.judged, open_rows)
    found = settled(both)
    if measuring.options.why and both.stop is None:
        told = Sides(sides, (both.found.baseline, both.found.candidate))
        found = explain.of_regressions(found, lambda: told, measuring, paths.why)
        if reasons := {one.name: one.why for one in found.verdicts if one.why is not None}:
            run_file.explain(paths.pair[1], reasons)
    status = show.compared(found)
    if both.stop is not None:
        raise both.stop
    return status


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


def _told(found: Comparison, old: list[Expected], commit: str) -> Comparison:
    """Add a note on slowdowns that only a used-up policy entry would accept."""
    slower = [one.name for one in found.verdicts if one.outcome is Outcome.REGRESSION]
    names = [name for name in slower if any(one.pattern.search(name) for one in old)]
    if not names:
        return found
    note = Note(
        "used_up",
        f"The entry that expects {listed(names)} to be slower is also in commit "
        f"{commit_words(commit)}: the slowdown that it accepts is already in the base. A further "
        "change needs its own entry.",
    )
    return replace(found, notes=(note, *found.notes))


def _without_removed(found: Comparison, baseline: Record | None) -> Comparison:
    """Leave out benchmarks that are neither in the candidate nor in this tree's baseline.

    Benchmarks that a policy requires still count as missing.
    """
    if baseline is None:
        return found
    missing = (one for one in found.verdicts if one.outcome is Outcome.MISSING)
    known = baseline.rows.keys() | found.candidate.rows.keys()  # the candidate may have skipped it
    gone = [one.name for one in missing if not one.required and one.name not in known]
    if not gone:
        return found
    verdicts = tuple(one for one in found.verdicts if one.name not in gone)
    return replace(found, verdicts=verdicts, notes=(*found.notes, removed(gone)))
