# SPDX-License-Identifier: Apache-2.0
"""What a baseline said of all benchmarks, corrected by what pairs said of some of them. Pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace

from warpgauge.measurement.looks import Looks
from warpgauge.records.sessions import newest_last
from warpgauge.verdict.comparison import (
    CHANGED,
    UNMEASURED,
    Comparison,
    Outcome,
    Verdict,
    is_accepted,
)
from warpgauge.verdict.context import BUILD_DIR, MANIFEST
from warpgauge.verdict.controls import is_control, judged
from warpgauge.verdict.note import Kind, Note

# What a baseline alone does not settle: another day and another boot may have made it.
_FLAGS = (*CHANGED, Outcome.INCONCLUSIVE)
_ACCEPTED = "accepted"

# What a pair may find, as a note counts it.
_FOUND = {
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
    return replace(both.found, method=Note(Kind.PAIRED, commit=commit, **both.rounds))


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
    method = Note(
        Kind.CONFIRMED,
        commit=newest.context.get("commit", ""),
        **both.rounds,
        **_screened(screened, flags),
        **_found(flags, list(found.values())),
    )
    passed = [one for one in found.values() if one.outcome is Outcome.PASS]
    acquitted = {one.name for one in passed if not is_accepted(one)}
    moved = tuple(one.name for one in flags if one.outcome in CHANGED and one.name in acquitted)
    own = [Note(Kind.NOT_THE_CODE, names=moved)] if moved else []
    # What the pairs say, too, is said once.
    others = [note for note in screened.notes if note not in paired.notes]
    return replace(
        screened,
        verdicts=tuple(found.get(one.name, one) for one in screened.verdicts),
        method=method,
        notes=(*own, *paired.notes, *others),
    )


def unconfirmed(screened: Comparison, why: str) -> Comparison:
    """`screened` with a note on why nothing was confirmed, and on what would decide the rest."""
    flags = flagged(screened)
    if not flags:
        return screened
    remedy = None
    if any(one.outcome is Outcome.INCONCLUSIVE for one in flags):
        context = newest_last(screened.candidate.sessions.values())[-1].context
        remedy = "scripts/bench --against COMMIT"
        if MANIFEST in context:
            remedy = "scripts/bench --kernels FILE --budget TIME"
        elif BUILD_DIR in context:
            remedy = "scripts/warpgauge ab"
    told = {"reason": why, "remedy": remedy}
    method = Note(Kind.UNCONFIRMED, **_screened(screened, flags), **told)
    return replace(screened, method=method)


def _counts(screened: Verdict, paired: Verdict) -> bool:
    if paired.outcome is Outcome.NEW:
        return False
    measured = paired.outcome is Outcome.INCONCLUSIVE or paired.outcome not in UNMEASURED
    return measured or screened.outcome is not Outcome.REGRESSION


def _screened(screened: Comparison, flags: Sequence[Verdict]) -> dict[str, int]:
    return {"screened": judged(screened), "flagged": len(flags)}


def _found(flags: Sequence[Verdict], found: Sequence[Verdict]) -> dict[str, int]:
    """How many flags are what: ``slower``, ``accepted``, ``not_measured``."""
    counts = Counter(
        _ACCEPTED if is_accepted(one) else _FOUND[one.outcome]
        for one in found
        if one.outcome in _FOUND
    )
    return {**counts, "not_measured": len(flags) - counts.total()}
