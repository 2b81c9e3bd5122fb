# SPDX-License-Identifier: Apache-2.0
"""What a policy makes of verdicts, and what to know of its entries. Pure: the day is given."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, replace
from datetime import date, timedelta

from warpgauge.records.model import Clock
from warpgauge.system.text import inert, listed, percent, plural, quoted
from warpgauge.verdict.comparison import UNMEASURED, Outcome, Verdict
from warpgauge.verdict.policy import Expected, MinimumEffect, Policy

# Time enough to mend what was expected to be slow, or to renew the entry.
WARNING_TIME = timedelta(days=14)

_NOTHING = "matches no benchmark: correct or remove it"


def entry_notes(
    policy: Policy,
    names: Collection[str],
    needed: Collection[int],
    asked: Callable[[str], bool],
    today: date,
) -> tuple[str, ...]:
    """One sentence an entry. `needed` are the numbers of the expected entries that were."""
    told = []
    for expected in policy.expected:
        idle = expected.number not in needed and asked(expected.pattern.pattern)
        unknown = idle and not any(map(expected.pattern.search, names))
        if words := _NOTHING if unknown else _of_expected(expected, idle, today):
            told.append(f"{_place(policy, 'expected', expected)} {words}.")
    for effect in policy.minimum_effects:
        if asked(effect.pattern.pattern) and not any(map(effect.pattern.search, names)):
            place = _place(policy, "minimum_effect", effect)
            told.append(f"{place} {_NOTHING}.")
    return tuple(told)


def held_back(policy: Policy, names: Sequence[str]) -> tuple[str, ...]:
    """A sentence on what is slower, and fails nobody for the policy's minimum effect alone."""
    if not names:
        return ()
    are, what = ("is", "a regression") if len(names) == 1 else ("are", "regressions")
    return (
        f"{plural(len(names), 'change')} {are} under {inert(policy.name)}'s minimum effect, and "
        f"would be {what} without it: {listed(names)}.",
    )


def _of_expected(entry: Expected, idle: bool, today: date) -> str:
    left = entry.expires - today
    if left < timedelta(0):
        return f"expired on {entry.expires.isoformat()} and accepts nothing: remove it or renew it"
    if idle:
        return "is unused, for no regression needed it: remove it if that stays so"
    if left <= WARNING_TIME:
        when = f"in {plural(left.days, 'day')}" if left else "today"
        return f"expires {when}, on {entry.expires.isoformat()}: mend what is slow, or renew it"
    return ""


def _place(policy: Policy, kind: str, entry: Expected | MinimumEffect) -> str:
    where = f"{inert(policy.name)}, {kind} entry {entry.number}"
    return f"{where} ({inert(quoted(entry.pattern.pattern))})"


# Outcomes of benchmarks that have no time of the candidate that counts.
_NOT_MEASURED = (Outcome.MISSING, Outcome.ERROR, Outcome.INVALID)


@dataclass(frozen=True)
class PolicyOutcome:
    """The verdicts as the policy leaves them, and what there is to tell of the policy itself."""

    verdicts: tuple[Verdict, ...]
    notes: tuple[str, ...] = ()


def apply(
    policy: Policy,
    verdicts: Sequence[Verdict],
    asked: Callable[[str], bool],
    today: date,
    *,
    resources_fail: bool = False,
) -> PolicyOutcome:
    """The effects of expected and required entries, for verdicts that are otherwise final.

    What is accepted already is under the policy's minimum effect (`outcomes`).

    `asked` says of a pattern whether this comparison was about all that it may match: what was not
    asked for is neither missing nor unused. With `resources_fail` a REGRESSION may stand for what
    an operation takes (--fail-on resources), and only an entry with `resources` accepts that.
    Where several unexpired entries match, the last one counts.
    """
    needed: set[int] = set()
    judged = []
    for verdict in verdicts:
        entry = _covering(policy, verdict, today)
        if entry is None:
            judged.append(verdict)
            continue
        needed.add(entry.number)
        judged.append(_expected(verdict, entry, resources_fail))
    # In the place of the verdict of that name, if the pattern is one, else at the end.
    left = {verdict.name: verdict for verdict in judged}
    left.update((verdict.name, verdict) for verdict in _missing(policy, judged, asked))
    told = held_back(policy, [verdict.name for verdict in verdicts if verdict.accepted])
    names = [verdict.name for verdict in verdicts]
    return PolicyOutcome(
        tuple(left.values()), (*told, *entry_notes(policy, names, needed, asked, today))
    )


def _covering(policy: Policy, verdict: Verdict, today: date) -> Expected | None:
    if verdict.outcome is not Outcome.REGRESSION:
        return None
    found = [
        one for one in policy.expected if today <= one.expires and one.pattern.search(verdict.name)
    ]
    return found[-1] if found else None


def _expected(verdict: Verdict, entry: Expected, resources_fail: bool) -> Verdict:
    """`verdict`, a regression, in the light of an entry that is about it."""
    most, why = percent(entry.fraction, sign=False), inert(entry.reason)
    # A change that nobody knows is not known to be small.
    if verdict.change is None or not verdict.change.ratio <= entry.fraction:
        return _adding(verdict, f"expected at most {most} ({why})")
    if resources_fail and not entry.resources and any(one.worse for one in verdict.resources):
        return _adding(verdict, f"the time is expected ({why}), what it takes is not")
    if verdict.by_time in UNMEASURED:  # what it takes is accepted; its time is no less unknown
        reason = f"what it takes is expected ({why}), its time says nothing"
        return replace(verdict, outcome=verdict.by_time, reason=reason)
    until = f"{why}, until {entry.expires.isoformat()}"
    accepted = "; ".join(filter(None, (verdict.accepted, until)))
    # A pass does not fail on its resources: those are among its causes.
    reason = verdict.reason if verdict.by_time is None else ""
    return replace(verdict, outcome=Outcome.PASS, accepted=accepted, reason=reason)


def _adding(verdict: Verdict, words: str) -> Verdict:
    return replace(verdict, reason="; ".join(filter(None, (verdict.reason, words))))


def _missing(
    policy: Policy, verdicts: Sequence[Verdict], asked: Callable[[str], bool]
) -> list[Verdict]:
    """A verdict for each required pattern of which nothing was measured."""
    measured = [one.name for one in verdicts if one.outcome not in _NOT_MEASURED]
    lost = [
        one
        for one in policy.required
        if asked(one.pattern.pattern) and not any(map(one.pattern.search, measured))
    ]
    known = {verdict.name: verdict for verdict in verdicts}
    found = []
    for one in lost:
        why = inert(one.reason) or "no benchmark that matches was measured"
        reason = f"required by {inert(policy.name)}: {why}"
        pattern = one.pattern.pattern
        if pattern in known:  # it is a name as well, and has one verdict already
            found.append(replace(_adding(known[pattern], reason), required=True))
        else:
            found.append(
                Verdict(pattern, Outcome.MISSING, Clock.DEVICE, reason=reason, required=True)
            )
    return found
