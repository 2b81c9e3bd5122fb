# SPDX-License-Identifier: Apache-2.0
"""What a baseline said of all benchmarks, corrected by what pairs said of some of them. Pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace

from warpgauge.measurement.looks import Looks
from warpgauge.records.sessions import newest_last
from warpgauge.system.git import short
from warpgauge.system.text import clause, inert, named, plural
from warpgauge.verdict.comparison import (
    CHANGED,
    UNMEASURED,
    Comparison,
    Outcome,
    Verdict,
    is_accepted,
)
from warpgauge.verdict.context import BUILD_DIR
from warpgauge.verdict.controls import is_control, judged

# What a baseline alone does not settle: another day and another boot may have made it.
_FLAGS = (*CHANGED, Outcome.INCONCLUSIVE)
_ACCEPTED = "accepted"

# What a pair may find, in the words of a note.
_WORDS = {
    Outcome.REGRESSION: "slower",
    Outcome.IMPROVED: "faster",
    Outcome.PASS: "unchanged",
    Outcome.INCONCLUSIVE: "inconclusive",
}


def flagged(screened: Comparison) -> tuple[Verdict, ...]:
    """The verdicts to confirm; none where the sides must not be compared."""
    if screened.refusal is not None:
        return ()
    flags = (one for one in screened.verdicts if one.outcome in _FLAGS)
    return tuple(one for one in flags if not is_control(one))


def measured_in_pairs(both: Looks[Comparison], commit: str) -> Comparison:
    """A pair's comparison, and how it was measured."""
    method = f"Measured in pairs with commit {inert(short(commit))}: {both.told}."
    return replace(both.found, method=method)


def combined(screened: Comparison, both: Looks[Comparison]) -> Comparison:
    """`screened` with the verdicts of what it flagged replaced by those of a pair.

    The pair's base is the baseline's own commit. A pair that could not be measured acquits nobody:
    a regression stays one, and what the base does not have keeps its verdict.
    """
    flags, paired = flagged(screened), both.found
    if paired.refusal is not None:
        return unconfirmed(screened, paired.refusal)
    beside = {one.name: one for one in paired.verdicts}
    found = {
        one.name: beside[one.name]
        for one in flags
        if one.name in beside and _counts(one, beside[one.name])
    }
    newest = newest_last(paired.baseline.sessions.values())[-1]
    commit = inert(short(newest.context.get("commit", "")))
    method = (
        f"Screened against the baseline: {_flagged(flags, screened)}. Measured again in pairs with "
        f"its commit {commit}, {both.told}: {_found(flags, list(found.values()))}."
    )
    passed = [one for one in found.values() if one.outcome is Outcome.PASS]
    acquitted = {one.name for one in passed if not is_accepted(one)}
    moved = [one.name for one in flags if one.outcome in CHANGED and one.name in acquitted]
    return replace(
        screened,
        verdicts=tuple(found.get(one.name, one) for one in screened.verdicts),
        method=method,
        notes=tuple(dict.fromkeys((*_moved(moved), *paired.notes, *screened.notes))),
    )


def unconfirmed(screened: Comparison, why: str) -> Comparison:
    """`screened` with a note on why nothing was confirmed, and on what would decide the rest."""
    flags = flagged(screened)
    if not flags:
        return screened
    method = (
        f"Screened against the baseline: {_flagged(flags, screened)}. Not measured again beside "
        f"its commit: {clause(why)}."
    )
    if any(one.outcome is Outcome.INCONCLUSIVE for one in flags):
        context = newest_last(screened.candidate.sessions.values())[-1].context
        pairs = "scripts/warpgauge ab" if BUILD_DIR in context else "scripts/bench --against COMMIT"
        method += f" To decide what is inconclusive, run {pairs}, or record a new session."
    return replace(screened, method=method)


def _counts(screened: Verdict, paired: Verdict) -> bool:
    if paired.outcome is Outcome.NEW:
        return False
    measured = paired.outcome is Outcome.INCONCLUSIVE or paired.outcome not in UNMEASURED
    return measured or screened.outcome is not Outcome.REGRESSION


def _flagged(flags: Sequence[Verdict], screened: Comparison) -> str:
    count, total = len(flags), judged(screened)
    are = "was" if 1 in (count, total) else "were"
    return f"{count} of {plural(total, 'benchmark')} {are} flagged"


def _found(flags: Sequence[Verdict], found: Sequence[Verdict]) -> str:
    """``1 slower, 2 unchanged``."""
    words = Counter(
        _ACCEPTED if is_accepted(one) else _WORDS[one.outcome]
        for one in found
        if one.outcome in _WORDS
    )
    told = [f"{words[word]} {word}" for word in (*_WORDS.values(), _ACCEPTED) if words[word]]
    unmeasured = len(flags) - words.total()
    told += [f"{unmeasured} could not be measured so"] if unmeasured else []
    return ", ".join(told)


def _moved(names: Sequence[str]) -> list[str]:
    """What the baseline called changed, and what its commit, measured now, is like."""
    if not names:
        return []
    differ = "differs" if len(names) == 1 else "differ"
    return [
        f"Not by the code: {named(names)} {differ} from what the baseline recorded, and not from "
        "its commit as it runs here now. Machine, driver or toolkit changed; --no-confirm lets the "
        "baseline decide."
    ]
