# SPDX-License-Identifier: Apache-2.0
"""Measures again what a baseline flagged, beside the commit it was recorded from, or another."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from warpgauge.execution.selection import exactly
from warpgauge.measurement import combination
from warpgauge.measurement.ab_run import AbRun
from warpgauge.measurement.adaptive_rounds import unsettled
from warpgauge.measurement.combination import combined, flagged, lacking, unconfirmed, without
from warpgauge.records.model import Clock, Record
from warpgauge.records.sessions import newest_last
from warpgauge.system import worktree
from warpgauge.system.errors import UserError, of_system
from warpgauge.system.git import is_full, short
from warpgauge.system.text import plural
from warpgauge.verdict.comparability import references
from warpgauge.verdict.comparison import Comparison
from warpgauge.verdict.context import same_model


def confirmed(
    screened: Comparison,
    beside: AbRun,
    files: tuple[Path, Path],
    judge: Callable[[Record, Record], Comparison],
    further: Callable[[Comparison], Comparison],
    asked: str,
) -> Comparison:
    """`screened` after another measurement of what it flagged, with a note on what was done.

    The pair is left in `files`, base first. Where there can be none `screened` stands after
    `further` rounds, and the note says why. Beside the commit `asked` for what the baseline does
    not know is measured, too; what is missing there as it is here has no verdict.
    """
    measuring = beside.measuring
    if not measuring.options.confirm:
        given = measuring.options.build_dir is None
        why = "--no-confirm was given" if given else "no other commit of --build-dir is built here"
        return unconfirmed(further(screened), why)
    to_judge = combination.new(screened) if asked else set()
    # Without a GPU the base's programs for it are not asked.
    lost = combination.missing(screened) if asked and not beside.suite.probe.no_gpu else set()
    also = _undecided(screened, beside) | to_judge
    flags = flagged(screened, also)
    if not flags and not lost:
        return screened
    gone: set[str] = set()
    both = None
    try:
        name = asked or commit_of(screened.baseline, screened.candidate)
        commit = worktree.commit_of(measuring.root, name)
        measuring.note(_announced(len(flags), len(lost), commit, asked))
        base = beside.base(commit)
        gone = lacking(base, lost - beside.suite.left_out)
        unknown = lacking(base, to_judge)
        to_judge, also = to_judge - unknown, also - unknown
        names = [one.name for one in flagged(screened, also)]
        if names:
            sides = base.only(names), beside.candidate.only(names)
            if sides[0].binaries and all(one.fault for one in sides[0].binaries):
                program = sides[0].binaries[0]
                raise UserError(f"{program.path.name} of commit {short(commit)} {program.fault}")
            both = beside.compared(*sides, exactly(names), files, judge)
    except (UserError, OSError) as fault:
        why = str(of_system(fault) if isinstance(fault, OSError) else fault)
        return unconfirmed(without(further(screened), gone, asked), why, asked, to_judge)
    if both is not None and both.stop is not None:
        raise both.stop
    # Without a pair what is new to the baseline is new to the base, too.
    found = screened if both is None else combined(screened, both, also, asked)
    return without(found, gone, asked)


def _announced(flags: int, lost: int, commit: str, asked: str) -> str:
    """What is to be done beside `commit`."""
    shown = short(commit)
    if not flags:
        return f"Looking in commit {shown} for {plural(lost, 'benchmark')} of the baseline"
    what = plural(flags, "benchmark" if asked else "flagged benchmark")
    whose = "" if asked else " of the baseline"
    return f"Confirming {what}: again, in pairs with commit {shown}{whose}"


def _undecided(screened: Comparison, beside: AbRun) -> set[str]:
    """What is open and not flagged, where a budget has time for it."""
    measuring = beside.measuring
    budget, sure = measuring.budget, {one.name for one in flagged(screened)}
    names = {one.name for one in unsettled(screened)} - sure
    if budget is None or not names:
        return set()
    lane = beside.candidate.only([*sure, *names]).lane()
    if budget.left >= measuring.options.processes * budget.needed([lane, lane]):
        return names
    measuring.warn(f"No time was left for {plural(len(names), 'undecided benchmark')}.")
    return set()


def commit_of(baseline: Record, run: Record) -> str:
    """The commit of the newest session of `baseline` that `run` is compared with.

    Raises UserError where there is none that can be built.
    """
    session = newest_last(run.sessions.values())[-1]
    used, _ = references(same_model(baseline, session), session, Clock.DEVICE)
    context = newest_last(used)[-1].context if used else {}
    commit = context.get("commit", "")
    if not is_full(commit):
        raise UserError("the baseline does not tell its commit")
    if context.get("dirty") == "true":
        raise UserError("the baseline was measured with changes that are in no commit")
    return commit
