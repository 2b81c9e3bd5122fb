# SPDX-License-Identifier: Apache-2.0
"""What a baseline said of all benchmarks, corrected by what pairs said of some of them. Pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace

from warpgauge.measurement.two_stage import Looks
from warpgauge.measurement.unmatched import missing, unjudged
from warpgauge.records.sessions import newest_last
from warpgauge.system.git import short
from warpgauge.system.text import clause, inert, named, percent, plural
from warpgauge.verdict.comparison import UNMEASURED, Comparison, Outcome, Verdict, is_accepted
from warpgauge.verdict.controls import judged

# What a baseline alone does not settle: another day and another boot may have made it.
_FLAGS = (Outcome.REGRESSION, Outcome.IMPROVED, Outcome.INCONCLUSIVE)

_CHANGED = (Outcome.REGRESSION, Outcome.IMPROVED)

_ACCEPTED = "accepted"

# What a pair may find, in the words of a note.
_WORDS = {
    Outcome.REGRESSION: "slower",
    Outcome.IMPROVED: "faster",
    Outcome.PASS: "unchanged",
    Outcome.INCONCLUSIVE: "inconclusive",
}


def flagged(screened: Comparison, also: Collection[str] = ()) -> tuple[Verdict, ...]:
    """The verdicts to confirm, and those of `also`; none where the sides must not be compared."""
    if screened.refusal is not None:
        return ()
    return tuple(one for one in screened.verdicts if one.outcome in _FLAGS or one.name in also)


def measured_in_turns(both: Looks[Comparison], commit: str) -> Comparison:
    """A pair's comparison, and how it was measured."""
    method = f"Measured in turns with commit {inert(short(commit))}: {both.told}."
    return replace(both.found, method=method)


def combined(
    screened: Comparison, both: Looks[Comparison], also: Collection[str] = (), asked: str = ""
) -> Comparison:
    """`screened` with the verdicts of what it flagged, and `also`, replaced by those of a pair.

    The pair's base is the baseline's own commit, unless another was `asked` for.

    A pair that could not be measured acquits nobody: a regression stays one, a benchmark that the
    base does not have keeps its verdict, and one that is new to the baseline is INVALID. Nor does
    one that is too noisy to rule out what the baseline saw: that is INCONCLUSIVE.
    """
    flags, paired = flagged(screened, also), both.found
    if paired.refusal is not None:
        return unconfirmed(screened, paired.refusal, asked, also)
    beside = {one.name: one for one in paired.verdicts}
    found = {
        one.name: _settled(one, beside[one.name], asked)
        for one in flags
        if one.name in beside and _counts(one, beside[one.name])
    }
    left = {
        one.name: unjudged(one, asked, _why_not(one, beside))
        for one in flags
        if one.outcome is Outcome.NEW and one.name not in found
    }
    newest = newest_last(paired.baseline.sessions.values())[-1]
    commit = inert(short(newest.context.get("commit", "")))
    beside_what = _whose(asked) if asked else f"its commit {commit}"
    method = (
        f"Screened against the baseline: {_flagged(flags, screened)}. Measured again in turns with "
        f"{beside_what}, {both.told}: {_found(flags, list(found.values()))}."
    )
    moved = [
        one.name
        for one in flags
        if one.outcome in _CHANGED and one.name in found and _is_unchanged(found[one.name])
    ]
    return replace(
        screened,
        verdicts=tuple({**found, **left}.get(one.name, one) for one in screened.verdicts),
        method=method,
        notes=(*_moved(moved, asked), *screened.notes),
        beside=asked,
    )


def unconfirmed(
    screened: Comparison, why: str, asked: str = "", also: Collection[str] = ()
) -> Comparison:
    """`screened` with a note on why nothing of it was confirmed, where anything was to be.

    What is new to the baseline, and of `also`, nothing has judged then: it is INVALID.
    """
    unknown = {one.name for one in screened.verdicts if one.outcome is Outcome.NEW} & {*also}
    flags = flagged(screened, unknown)
    if flags:
        verdicts = tuple(
            unjudged(one, asked, why) if one.name in unknown else one for one in screened.verdicts
        )
        method = (
            f"Screened against the baseline: {_flagged(flags, screened)}. Not measured again "
            f"beside {_whose(asked)}: {clause(why)}."
        )
        return replace(screened, verdicts=verdicts, method=method)
    if asked and missing(screened):
        note = f"Whether {_whose(asked)} has what is missing here is not known: {clause(why)}."
        return replace(screened, notes=(note, *screened.notes))
    return screened


def _why_not(new: Verdict, beside: Mapping[str, Verdict]) -> str:
    """Why a pair does not judge what is new to the baseline."""
    family = beside.get(new.family)  # of a program that does not say what it has
    return family.reason if family and family.reason else "the pair has no time of it"


def _is_unchanged(verdict: Verdict) -> bool:
    return verdict.outcome is Outcome.PASS and not is_accepted(verdict)


def _is_expected(verdict: Verdict) -> bool:
    """Whether it would be a regression, but for a policy's expected entry.

    What a policy accepts else is under the minimum effect that it sets.
    """
    if not is_accepted(verdict) or verdict.change is None or verdict.minimum_effect is None:
        return False
    return verdict.by_time is not None or verdict.change.ratio >= verdict.minimum_effect


def _counts(screened: Verdict, paired: Verdict) -> bool:
    if paired.outcome is Outcome.NEW:
        return False
    measured = paired.outcome is Outcome.INCONCLUSIVE or paired.outcome not in UNMEASURED
    return measured or screened.outcome not in (Outcome.REGRESSION, Outcome.PASS)


def _whose(asked: str) -> str:
    """What a pair's base is to the baseline."""
    return f"commit {inert(short(asked))}" if asked else "its commit"


def _settled(screened: Verdict, paired: Verdict, asked: str) -> Verdict:
    """`paired`, unless its interval is so wide that the change that was screened is in it.

    Nor where a policy's expected entry accepts the pair's, but not what was screened beside another
    commit than the baseline's own: the entry may have been used up before that commit.
    """
    seen, found = screened.change, paired.change
    if screened.outcome not in _CHANGED or seen is None or found is None:
        return paired
    if asked and screened.outcome is Outcome.REGRESSION and _is_expected(paired):
        both = (
            f"accepted beside {_whose(asked)} ({percent(found.ratio)}), not against the baseline "
            f"({percent(seen.ratio)})"
        )
        return replace(screened, reason="; ".join(filter(None, (screened.reason, both))))
    acquits = paired.undecided and paired.outcome is Outcome.PASS and not paired.accepted
    if not acquits or not found.low <= seen.ratio <= found.high:
        return paired
    reason = (
        f"against the baseline {percent(seen.ratio)}, which {_whose(asked)} beside it neither "
        "shows nor rules out"
    )
    return replace(paired, outcome=Outcome.INCONCLUSIVE, reason=reason)


def _flagged(flags: Sequence[Verdict], screened: Comparison) -> str:
    new = sum(one.outcome is Outcome.NEW for one in flags)
    count, total = len(flags) - new, judged(screened)
    are = "was" if 1 in (count, total) else "were"
    told = f"{count} of {plural(total, 'benchmark')} {are} flagged"
    return told + (f", {new} {'is' if new == 1 else 'are'} new to it" if new else "")


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


def _moved(names: Sequence[str], asked: str) -> list[str]:
    """What the baseline called changed, and what the pair's base, measured now, is like."""
    if not names:
        return []
    differ = "differs" if len(names) == 1 else "differ"
    if asked:
        return [
            f"Not by this change: {named(names)} {differ} from what the baseline recorded, and not "
            f"from {_whose(asked)} as it runs here now. The code before it, machine, driver or "
            "toolkit changed; a new session of the baseline takes that in."
        ]
    return [
        f"Not by the code: {named(names)} {differ} from what the baseline recorded, and not from "
        "its commit as it runs here now. Machine, driver or toolkit changed; --no-confirm lets the "
        "baseline decide."
    ]
