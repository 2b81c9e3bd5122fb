# SPDX-License-Identifier: Apache-2.0
"""What a baseline said of all benchmarks, corrected by what pairs said of some of them. Pure.

What only the baseline or only the candidate has nothing but the base of a pull request can judge:
the baseline has no time of the one, the candidate none of the other.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Sequence
from dataclasses import replace

from warpgauge.measurement.paired import Side
from warpgauge.measurement.two_stage import Looks
from warpgauge.records.sessions import newest_last
from warpgauge.system.git import short
from warpgauge.system.text import clause, inert, listed, named, percent, plural
from warpgauge.verdict.comparison import UNMEASURED, Comparison, Outcome, Verdict, is_accepted
from warpgauge.verdict.controls import judged

# What a baseline alone does not settle: another day and another boot may have made it.
_FLAGS = (Outcome.REGRESSION, Outcome.IMPROVED, Outcome.INCONCLUSIVE)
_CHANGED = _FLAGS[:2]
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
    method = f"Measured in pairs with commit {inert(short(commit))}: {both.told}."
    return replace(both.found, method=method)


def combined(
    screened: Comparison, both: Looks[Comparison], also: Collection[str] = (), asked: str = ""
) -> Comparison:
    """`screened` with the verdicts of what it flagged, and `also`, replaced by those of a pair.

    The pair's base is the baseline's own commit, or the one `asked` for. A pair that could not be
    measured acquits nobody: a regression stays one, what the base does not have keeps its verdict,
    what is new to the baseline is INVALID. What is too noisy to rule a change out is INCONCLUSIVE.
    """
    flags, paired = flagged(screened, also), both.found
    if paired.refusal is not None:
        return unconfirmed(screened, paired.refusal, asked, also)
    beside, left = {one.name: one for one in paired.verdicts}, dict[str, Verdict]()
    found = {
        one.name: _settled(one, beside[one.name], asked)
        for one in flags
        if one.name in beside and _counts(one, beside[one.name])
    }
    for one in flags:
        if one.outcome is Outcome.NEW and one.name not in found:
            family = beside.get(one.family)  # of a program that does not say what it has
            why = family.reason if family else ""
            left[one.name] = unjudged(one, asked, why or "the pair has no time of it")
    newest = newest_last(paired.baseline.sessions.values())[-1]
    commit = inert(short(newest.context.get("commit", "")))
    beside_what = _whose(asked) if asked else f"its commit {commit}"
    method = (
        f"Screened against the baseline: {_flagged(flags, screened)}. Measured again in pairs with "
        f"{beside_what}, {both.told}: {_found(flags, list(found.values()))}."
    )
    passed = [one for one in found.values() if one.outcome is Outcome.PASS]
    acquitted = {one.name for one in passed if not is_accepted(one)}
    moved = [one.name for one in flags if one.outcome in _CHANGED and one.name in acquitted]
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
    """`screened` with a note on why nothing was confirmed; what is new and of `also` is INVALID."""
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

    Nor where a policy accepts it beside another commit than the baseline's own, but not what was
    screened: the expected entry may have been used up before that commit.
    """
    seen, found = screened.change, paired.change
    if screened.outcome not in _CHANGED or seen is None or found is None:
        return paired
    if asked and screened.outcome is Outcome.REGRESSION and _is_expected(paired):
        accepted = f"accepted beside {_whose(asked)} ({percent(found.ratio)})"
        both = f"{accepted}, not against the baseline ({percent(seen.ratio)})"
        return replace(screened, reason="; ".join(filter(None, (screened.reason, both))))
    acquits = paired.undecided and paired.outcome is Outcome.PASS and not paired.accepted
    if not acquits or not found.low <= seen.ratio <= found.high:
        return paired
    reason = f"which {_whose(asked)} beside it neither shows nor rules out"
    reason = f"against the baseline {percent(seen.ratio)}, {reason}"
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


def new(screened: Comparison) -> set[str]:
    """What the baseline does not know."""
    return {one.name for one in screened.verdicts if one.outcome is Outcome.NEW}


def missing(screened: Comparison) -> set[str]:
    """What only the baseline has; what a policy requires is missing whatever a base has."""
    if screened.refusal is not None:
        return set()
    return {
        one.name for one in screened.verdicts if one.outcome is Outcome.MISSING and not one.required
    }


def lacking(base: Side, names: Collection[str]) -> set[str]:
    """Those of `names` that `base` surely lacks: a program with a fault may have its family's."""
    known = {name for binary in base.binaries for name in binary.names}
    unsure = {binary.family for binary in base.binaries if binary.fault is not None}
    return {name for name in names if name not in known and name.split("/", 1)[0] not in unsure}


def unjudged(verdict: Verdict, asked: str, why: str) -> Verdict:
    """A NEW verdict that the commit `asked` for was to judge, and could not."""
    commit = inert(short(asked))
    reason = f"new to the baseline, and not measured beside commit {commit}: {inert(clause(why))}"
    return replace(verdict, outcome=Outcome.INVALID, reason=reason)


def without(found: Comparison, gone: Collection[str], asked: str) -> Comparison:
    """`found` without the verdicts of `gone`, which the commit `asked` for lacks, too."""
    names = [one.name for one in found.verdicts if one.name in gone]
    if not names:
        return found
    are = plural(len(names), "benchmark of the baseline is", "benchmarks of the baseline are")
    note = (
        f"{are} gone from commit {inert(short(asked))}, too: {listed(names)}. scripts/warpgauge "
        f"baseline prune --removed takes {'it' if len(names) == 1 else 'them'} out of it."
    )
    verdicts = tuple(one for one in found.verdicts if one.name not in gone)
    return replace(found, verdicts=verdicts, notes=(*found.notes, note))
