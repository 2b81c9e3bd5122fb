# SPDX-License-Identifier: Apache-2.0
"""Measures in pairs with the baseline's commit, and merges both verdicts.

Usually these are the benchmarks that the screening flags. A baseline without a session of this GPU
bounds hardly anything (docs/pages/rule.md, "A baseline"): then all are measured at once.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import replace
from pathlib import Path

from warpgauge.measure.ab_run import AbRun, Looks, Side, open_rows
from warpgauge.measure.measuring import Measuring
from warpgauge.measure.selection import exactly
from warpgauge.records.counters import Clock
from warpgauge.records.model import BUILD_DIR, MANIFEST, Record, Session
from warpgauge.records.sessions import newest, newest_last
from warpgauge.system import environment, git
from warpgauge.system.errors import UserError, of_system
from warpgauge.system.git import is_full, short
from warpgauge.system.text import foreign, plural
from warpgauge.verdict.comparability import references
from warpgauge.verdict.comparison import CHANGED, UNMEASURED, Comparison, Outcome, Verdict
from warpgauge.verdict.incompatibility import same_model
from warpgauge.verdict.note import (
    ENTRY_UNUSED,
    HELD_BACK,
    SIBLINGS,
    Note,
    commit_words,
    not_the_code,
    sentence,
)


def confirmed(
    screened: Comparison,
    beside: AbRun,
    commit: str,
    files: tuple[Path, Path],
    judge: Callable[[Record, Record], Comparison],
) -> Comparison:
    """Measure what `screened` flagged in pairs with `commit`, and merge the verdicts.

    The pair's run files are left in `files`, base first. If no pair is possible, a note says why.
    """
    names = [one.name for one in flagged(screened)]
    if not names:
        return screened
    what = plural(len(names), "flagged benchmark")
    whose = f"commit {short(commit)} of the baseline"
    beside.measuring.note(f"Confirming {what} in pairs with {whose}")
    try:
        base, candidate = sides(beside, commit, names)
        # The screening counts as a look.
        both = beside.compared(
            base, candidate, exactly(names), files, judge, open_rows, before=(0,)
        )
    except (UserError, OSError) as fault:
        return unconfirmed(screened, reason(fault))
    if both.stop is not None:
        raise both.stop
    return combined(screened, both)


def sides(beside: AbRun, commit: str, names: Collection[str]) -> tuple[Side, Side]:
    """Return `commit` and this build with these benchmarks. Raises UserError if the base has none.

    Both are called alike: even the length of a command line moves some host times.
    """
    base = beside.base(commit).only(names)
    if not base.binaries:
        raise UserError(f"commit {short(commit)} has none of these benchmarks")
    if all(one.fault for one in base.binaries):
        program = base.binaries[0]
        raise UserError(f"{program.path.name} of commit {short(commit)} {program.fault}")
    return base, beside.candidate.only(names)


def reason(fault: UserError | OSError) -> str:
    """Return why no pair is possible."""
    return str(of_system(fault) if isinstance(fault, OSError) else fault)


def has_seen(baseline: Record, session: Session) -> bool:
    """Return whether `baseline` has a session of the GPU of `session`."""
    return any(one.gpu_uuid == session.gpu_uuid for one in baseline.sessions.values())


def commit_for(measuring: Measuring, baseline: Record, session: Session) -> str:
    """Return the full name of the commit to pair with for what `baseline` flags in `session`.

    Raises UserError, with the reason, if nothing can be confirmed.
    """
    if measuring.options.build_dir is not None and measuring.options.file is None:
        raise UserError("--build-dir cannot build another commit")
    if measuring.options.kernels is not None:
        raise UserError("the kernels of another commit cannot be built")
    if not measuring.options.confirm:
        raise UserError("--no-confirm was given")
    return git.commit_of(measuring.root, commit_of(baseline, session))


def commit_of(baseline: Record, session: Session) -> str:
    """Return the commit of the newest session of `baseline` that `session` is compared with.

    Raises UserError if that commit is unknown or had uncommitted changes.
    """
    used, _ = references(same_model(baseline, session), session, Clock.DEVICE)
    context = newest_last(used)[-1].context if used else {}
    commit = context.get("commit", "")
    if not is_full(commit):
        raise UserError("the baseline does not record its commit")
    if context.get("dirty") == "true":
        raise UserError("the baseline was measured with uncommitted changes")
    return commit


# Outcomes to confirm in pairs: another day or another boot may have caused them.
_FLAGS = (*CHANGED, Outcome.INCONCLUSIVE)

# What pairs from the start leave to the baseline. A benchmark may be new because its rows were
# removed to be recorded again: then it does another amount of work in the baseline's commit.
_OF_THE_BASELINE = (Outcome.NEW, Outcome.MISSING, Outcome.INVALID)

# Notes on verdicts that pairs from the start replace.
_SUPERSEDED = (SIBLINGS, ENTRY_UNUSED, HELD_BACK)

# A pair's outcomes in words, in the order of the note.
_COUNTED = {
    Outcome.REGRESSION: "slower",
    Outcome.IMPROVED: "faster",
    Outcome.PASS: "within tolerance",
    Outcome.INCONCLUSIVE: "undecided",
}
_NOT_SO = "could not be measured so"


def flagged(screened: Comparison) -> tuple[Verdict, ...]:
    """Return the verdicts to confirm; none if the sides cannot be compared."""
    if screened.refusal is not None:
        return ()
    flags = (row for row in screened.verdicts if row.outcome in _FLAGS)
    return tuple(row for row in flags if not row.control)


def combined(screened: Comparison, both: Looks[Comparison]) -> Comparison:
    """Return `screened` with the verdicts of flagged benchmarks replaced by those of the pair.

    The pair's base is the baseline's own commit. A pair that could not be measured clears nothing:
    a regression stays one, and a benchmark that the base lacks keeps its verdict.
    """
    flags, paired = flagged(screened), both.found
    if paired.refusal is not None:
        return unconfirmed(screened, paired.refusal)
    merged, replaced = _merged(screened, paired, flags)
    counts = Counter(
        "accepted" if row.is_accepted else _COUNTED.get(row.outcome, _NOT_SO) for row in replaced
    )
    counts[_NOT_SO] += len(flags) - len(replaced)
    order = (*_COUNTED.values(), "accepted", _NOT_SO)
    found = ", ".join(f"{counts[words]} {words}" for words in order if counts[words])
    words = f"Measured again in pairs with its commit {_commit(paired)}: {both.rounds}."
    words += f" Of these, {found}." if found else ""
    return replace(merged, method=Note("confirmed", f"{_screened(screened)} {words}"))


def unscreened(alone: Comparison, both: Looks[Comparison]) -> Comparison:
    """Return `alone`, the pair's candidate against the baseline, with the verdicts of the pair.

    The pair has all of alpha, because nothing else judges what it could measure. What it could not
    measure keeps its verdict: a regression, and a benchmark that the base lacks.
    """
    paired = both.found
    if alone.refusal is not None:
        return alone
    if paired.refusal is not None:
        return unconfirmed(alone, paired.refusal)
    rows = [r for r in alone.verdicts if r.outcome not in _OF_THE_BASELINE and not r.control]
    notes = tuple(note for note in alone.notes if note.kind not in _SUPERSEDED)
    merged, _ = _merged(replace(alone, notes=notes), paired, rows)
    words = "The baseline has no session of this GPU. Measured in pairs with its commit"
    words += f" {_commit(paired)}: {both.rounds}."
    return replace(merged, method=Note("unscreened", words))


def _screened(screened: Comparison) -> str:
    of = f"{len(flagged(screened))} of {plural(screened.judged, 'benchmark')} flagged"
    return f"Screened against the baseline: {of}."


def _commit(paired: Comparison) -> str:
    return commit_words(newest(paired.baseline).context.get("commit", ""))


def _merged(
    screened: Comparison, paired: Comparison, rows: Iterable[Verdict]
) -> tuple[Comparison, Sequence[Verdict]]:
    """Return `screened` with the pair's verdicts on `rows` and the notes of both, and the former.

    A verdict of the pair replaces another unless the pair could not measure the benchmark.
    """
    of_pair = {row.name: row for row in paired.verdicts}
    found, acquitted = dict[str, Verdict](), list[str]()
    for row in rows:
        new = of_pair.get(row.name)
        if new is None or not _replaces(new, row):
            continue
        found[row.name] = new
        if row.outcome in CHANGED and new.outcome is Outcome.PASS and not new.is_accepted:
            acquitted.append(row.name)
    own = [not_the_code(acquitted)] if acquitted else []
    others = [note for note in screened.notes if note not in paired.notes]  # repeat none
    verdicts = tuple(found.get(row.name, row) for row in screened.verdicts)
    notes = (*own, *paired.notes, *others)
    return replace(screened, verdicts=verdicts, notes=notes), [*found.values()]


def _replaces(paired: Verdict, screened: Verdict) -> bool:
    if paired.outcome in (Outcome.NEW, Outcome.SKIPPED):
        return False
    measured = paired.outcome is Outcome.INCONCLUSIVE or paired.outcome not in UNMEASURED
    return measured or screened.outcome is not Outcome.REGRESSION


def unconfirmed(screened: Comparison, why: str) -> Comparison:
    """Return `screened` with a note on why nothing was confirmed, and on what to do next."""
    flags, remedy = flagged(screened), None
    if not flags:
        return screened
    if any(row.outcome is Outcome.INCONCLUSIVE for row in flags):
        context = newest(screened.candidate).context
        remedy = "bench --against COMMIT"
        if MANIFEST in context:
            remedy = "bench FILE.toml --budget TIME"
        elif BUILD_DIR in context:
            remedy = "ab"
    words = f"{_screened(screened)} Not measured again in pairs with its commit: {sentence(why)}."
    if remedy:
        words += f" To decide the undecided benchmarks, run {foreign(environment.started(remedy))}"
        words += ", or record a new session."
    return replace(screened, method=Note("unconfirmed", words))
