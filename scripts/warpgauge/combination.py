# SPDX-License-Identifier: Apache-2.0
"""What a baseline said of all benchmarks, corrected by what pairs said of some of them. Pure."""

from __future__ import annotations

from dataclasses import replace

from warpgauge.comparison import UNMEASURED, Comparison, Outcome, Verdict
from warpgauge.sessions import newest_last
from warpgauge.text import inert, plural

# What a baseline alone does not settle: another day and another boot may have made it.
_FLAGS = (Outcome.REGRESSION, Outcome.IMPROVED, Outcome.INCONCLUSIVE)

_CHANGED = (Outcome.REGRESSION, Outcome.IMPROVED)

# Digits of a commit that tell it from others, as Git shows it.
_COMMIT = 10


def flagged(screened: Comparison) -> tuple[Verdict, ...]:
    """The verdicts to confirm; none where the sides must not be compared."""
    if screened.refusal is not None:
        return ()
    return tuple(one for one in screened.verdicts if one.outcome in _FLAGS)


def combined(screened: Comparison, paired: Comparison) -> Comparison:
    """`screened` with the verdicts of what it flagged replaced by those of `paired`.

    A pair that could not be measured acquits nobody: a regression stays one, and a benchmark that
    the base does not have keeps its verdict.
    """
    flags = flagged(screened)
    if paired.refusal is not None:
        return unconfirmed(screened, paired.refusal)
    beside = {one.name: one for one in paired.verdicts}
    found = {one.name: beside[one.name] for one in flags if _counts(one, beside.get(one.name))}
    return replace(
        screened,
        verdicts=tuple(found.get(one.name, one) for one in screened.verdicts),
        notes=(_note(paired, len(flags), list(found.values())), *screened.notes),
    )


def unconfirmed(screened: Comparison, why: str) -> Comparison:
    """`screened` with a note on why nothing of it was confirmed, where anything was to be."""
    count = len(flagged(screened))
    if not count:
        return screened
    note = (
        f"{plural(count, 'benchmark')} flagged by the baseline {_were(count)} not measured again "
        f"beside its commit: {why.removesuffix('.')}."
    )
    return replace(screened, notes=(note, *screened.notes))


def _counts(screened: Verdict, paired: Verdict | None) -> bool:
    if paired is None or paired.outcome is Outcome.NEW:
        return False
    measured = paired.outcome is Outcome.INCONCLUSIVE or paired.outcome not in UNMEASURED
    return measured or screened.outcome is not Outcome.REGRESSION


def _note(paired: Comparison, flags: int, found: list[Verdict]) -> str:
    """``3 benchmarks were flagged by the baseline and measured again ...: 1 confirmed, 2 not.``"""
    outcomes = [one.outcome for one in found]
    confirmed = sum(outcome in _CHANGED for outcome in outcomes)
    acquitted = outcomes.count(Outcome.PASS)
    open_ = outcomes.count(Outcome.INCONCLUSIVE)
    unmeasured = flags - confirmed - acquitted - open_
    told = [f"{confirmed} confirmed", f"{acquitted} not"]
    told += [f"{open_} still inconclusive"] if open_ else []
    told += [f"{unmeasured} could not be measured so"] if unmeasured else []
    newest = newest_last(paired.baseline.sessions.values())[-1]
    commit = inert(newest.context.get("commit", "")[:_COMMIT])
    return (
        f"{plural(flags, 'benchmark')} {_were(flags)} flagged by the baseline and measured again "
        f"beside its commit {commit}: {', '.join(told)}."
    )


def _were(count: int) -> str:
    return "was" if count == 1 else "were"
