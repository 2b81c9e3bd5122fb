# SPDX-License-Identifier: Apache-2.0
"""Measures in pairs what a baseline does not pass, with the commit it was recorded from."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from warpgauge.execution.selection import exactly
from warpgauge.measurement.ab_run import AbRun
from warpgauge.measurement.combination import combined, flagged, unconfirmed
from warpgauge.measurement.looks import open_rows
from warpgauge.measurement.measuring import Measuring
from warpgauge.records.model import Clock, Record, Session
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
    commit: str,
    files: tuple[Path, Path],
    judge: Callable[[Record, Record], Comparison],
) -> Comparison:
    """`screened` after pairs with `commit` of what it flagged, and a note on what was done.

    The pair is left in `files`, base first. Where there can be none, the note says why.
    """
    names = [one.name for one in flagged(screened)]
    if not names:
        return screened
    what = plural(len(names), "flagged benchmark")
    whose = f"commit {short(commit)} of the baseline"
    beside.measuring.note(f"Confirming {what}: again, in pairs with {whose}")
    try:
        base, candidate = (side.only(names) for side in (beside.base(commit), beside.candidate))
        if base.binaries and all(one.fault for one in base.binaries):
            program = base.binaries[0]
            raise UserError(f"{program.path.name} of commit {short(commit)} {program.fault}")
        # The screening was a look, too.
        both = beside.compared(
            base, candidate, exactly(names), files, judge, open_rows, before=(0,)
        )
    except (UserError, OSError) as fault:
        why = str(of_system(fault) if isinstance(fault, OSError) else fault)
        return unconfirmed(screened, why)
    if both.stop is not None:
        raise both.stop
    return combined(screened, both)


def commit_for(measuring: Measuring, baseline: Record, session: Session) -> str:
    """The full name of the commit that confirms what `baseline` flags in `session`.

    Raises UserError where nothing can be confirmed, with the reason.
    """
    if measuring.options.build_dir is not None:
        raise UserError("no other commit of --build-dir is built here")
    if measuring.options.kernels is not None:
        raise UserError("no other commit of --kernels is measured here")
    if not measuring.options.confirm:
        raise UserError("--no-confirm was given")
    return worktree.commit_of(measuring.root, commit_of(baseline, session))


def commit_of(baseline: Record, session: Session) -> str:
    """The commit of the newest session of `baseline` that `session` is compared with.

    Raises UserError where there is none that can be built.
    """
    used, _ = references(same_model(baseline, session), session, Clock.DEVICE)
    context = newest_last(used)[-1].context if used else {}
    commit = context.get("commit", "")
    if not is_full(commit):
        raise UserError("the baseline does not tell its commit")
    if context.get("dirty") == "true":
        raise UserError("the baseline was measured with changes that are in no commit")
    return commit
