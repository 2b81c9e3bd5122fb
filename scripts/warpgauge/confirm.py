# SPDX-License-Identifier: Apache-2.0
"""Measures again what a baseline flagged, beside the commit it was recorded from, or another."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from warpgauge import worktree
from warpgauge.beside import Beside
from warpgauge.combination import combined, flagged, unconfirmed
from warpgauge.commits import is_full, short
from warpgauge.comparison import Comparison, Outcome
from warpgauge.context import same_model
from warpgauge.errors import UserError
from warpgauge.kinship import references
from warpgauge.model import Clock, Record
from warpgauge.selection import exactly
from warpgauge.sessions import newest_last
from warpgauge.spending import unsettled
from warpgauge.text import plural


def confirmed(
    screened: Comparison,
    beside: Beside,
    files: tuple[Path, Path],
    judge: Callable[[Record, Record], Comparison],
    further: Callable[[Comparison], Comparison] = lambda screened: screened,
    asked: str = "",
) -> Comparison:
    """`screened` after another measurement of what it flagged, with a note on what was done.

    With a budget of time that is all that it leaves open. The pair is left in `files`, base first.
    Where there can be none `screened` stands after `further` rounds, and the note says why.

    Beside the commit `asked` for, where one was, what the baseline does not know is measured, too:
    nothing else would judge it.
    """
    new = _new(screened) if asked else set()
    also = _undecided(screened, beside) | new
    flags = flagged(screened, also)
    if not beside.measuring.options.confirm:
        return unconfirmed(further(screened), "--no-confirm was given")
    if not flags:
        return screened
    measuring = beside.measuring
    try:
        told = asked or commit_of(screened.baseline, screened.candidate)
        commit = worktree.commit_of(measuring.root, told)
        measuring.note(
            f"Confirming {plural(len(flags), 'flagged benchmark')}: again, in turns with commit "
            f"{short(commit)}{'' if asked else ' of the baseline'}"
        )
        base = beside.base(commit)
        also -= new - {name for binary in base.binaries for name in binary.names}
        names = [one.name for one in flagged(screened, also)]
        if not names:
            return screened  # what is new to the baseline is new to the base, too
        sides = base.only(names), beside.candidate.only(names)
        both = beside.compared(*sides, exactly(names), files, judge)
    except UserError as fault:
        return unconfirmed(further(screened), str(fault), asked)
    except OSError as fault:
        why = f"{fault.filename or 'the system'}: {fault.strerror or fault}"
        return unconfirmed(further(screened), why, asked)
    if both.stop is not None:
        raise both.stop
    return combined(screened, both, also, asked)


def _new(screened: Comparison) -> set[str]:
    return {one.name for one in screened.verdicts if one.outcome is Outcome.NEW}


def _undecided(screened: Comparison, beside: Beside) -> set[str]:
    """What is open and not flagged, where a budget has time for it."""
    measuring = beside.measuring
    budget, sure = measuring.budget, {one.name for one in flagged(screened)}
    names = {one.name for one in unsettled(screened)} - sure
    if budget is None or not names or not measuring.options.confirm:
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
    told = newest_last(used)[-1].context if used else {}
    commit = told.get("commit", "")
    if not is_full(commit):
        raise UserError("the baseline does not tell its commit")
    if told.get("dirty") == "true":
        raise UserError("the baseline was measured with changes that are in no commit")
    return commit
