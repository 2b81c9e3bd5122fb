# SPDX-License-Identifier: Apache-2.0
"""How a policy changes verdicts, and notes on its entries. Pure: the day is given."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import replace
from datetime import date
from typing import NamedTuple

from warpgauge.records.model import Clock
from warpgauge.system.text import inert, percent
from warpgauge.verdict.comparison import UNMEASURED, Outcome, Verdict
from warpgauge.verdict.note import Kind, Note
from warpgauge.verdict.policy import Entry, Expected, Policy, last_matching

# Time enough to mend what was expected to be slow, or to renew the entry.
WARNING_DAYS = 14


def entry_notes(
    policy: Policy,
    names: Collection[str],
    needed: Collection[int],
    asked: Callable[[str], bool],
    today: date,
) -> tuple[Note, ...]:
    """At most one note for each entry; `needed` numbers the expected entries that were used."""
    notes = []
    entries: list[Entry] = [*policy.expected, *policy.minimum_effects]
    for entry in [*entries, *policy.tolerances]:
        was_needed = isinstance(entry, Expected) and entry.number in needed
        idle = not was_needed and asked(entry.pattern.pattern)
        kind, facts = None, {"policy": policy.name, "pattern": entry.pattern.pattern}
        days = 0
        if idle and not any(map(entry.pattern.search, names)):
            kind = Kind.ENTRY_UNMATCHED
        elif isinstance(entry, Expected):
            days = (entry.expires - today).days
            kind = _of_expected(days, idle)
            facts["expires"] = entry.expires.isoformat()
        if kind is not None:
            facts["entry"] = entry.kind
            notes.append(Note(kind, number=entry.number, days=max(days, 0), **facts))
    return tuple(notes)


def held_back(policy: Policy, names: Sequence[str]) -> tuple[Note, ...]:
    """A note on what would regress without the policy's minimum effect."""
    return (Note(Kind.HELD_BACK, policy=policy.name, names=tuple(names)),) if names else ()


def _of_expected(days: int, idle: bool) -> Kind | None:
    if days < 0:
        return Kind.ENTRY_EXPIRED
    if idle:
        return Kind.ENTRY_UNUSED
    return Kind.ENTRY_EXPIRES if days <= WARNING_DAYS else None


# What needs an expected entry, or may need it once it is decided.
_MAY_NEED = (Outcome.REGRESSION, Outcome.INCONCLUSIVE)

# Outcomes of benchmarks that have no time of the candidate that counts.
_NOT_MEASURED = (Outcome.MISSING, Outcome.ERROR, Outcome.INVALID)


class PolicyOutcome(NamedTuple):
    """The verdicts as the policy leaves them, and what there is to tell of the policy itself."""

    verdicts: tuple[Verdict, ...]
    notes: tuple[Note, ...] = ()


def apply(
    policy: Policy,
    verdicts: Sequence[Verdict],
    asked: Callable[[str], bool],
    today: date,
    *,
    resources_fail: bool = False,
) -> PolicyOutcome:
    """The effects of expected and required entries, for verdicts that are otherwise final.

    What is accepted already is under the policy's minimum effect (`outcomes`). `asked` says of a
    pattern whether this comparison was about all that it may match: nothing else is missing or
    unused. With `resources_fail` a REGRESSION may stand for what an operation takes, and only an
    entry with `resources` accepts that. Of several unexpired entries that match the last counts.
    """
    unexpired = [one for one in policy.expected if today <= one.expires]
    needed: set[int] = set()
    judged: dict[str, Verdict] = {}
    for verdict in verdicts:
        entry = last_matching(unexpired, verdict.name)
        if entry is not None and verdict.outcome in _MAY_NEED:
            needed.add(entry.number)
            if verdict.outcome is Outcome.REGRESSION:
                verdict = _expected(verdict, entry, resources_fail)
        judged[verdict.name] = verdict
    notes = held_back(policy, [verdict.name for verdict in verdicts if verdict.accepted])
    notes += entry_notes(policy, list(judged), needed, asked, today)
    # Replaces the verdict of that name, if the pattern is one; else it comes last.
    judged |= {one.name: one for one in _missing(policy, judged, asked)}
    return PolicyOutcome(tuple(judged.values()), notes)


def _expected(verdict: Verdict, entry: Expected, resources_fail: bool) -> Verdict:
    """`verdict`, a regression, in the light of an entry that is about it."""
    most, why = percent(entry.fraction, sign=False), inert(entry.reason)
    # An unknown change is not known to be small.
    if verdict.change is None or not verdict.change.ratio <= entry.fraction:
        return _adding(verdict, f"expected at most {most} ({why})")
    if resources_fail and not entry.resources and any(one.worse for one in verdict.resources):
        return _adding(verdict, f"the slower time is expected ({why}), the use of resources is not")
    if verdict.by_time in UNMEASURED:  # what it takes is accepted; its time is no less unknown
        reason = f"the use of resources is expected ({why}), the slower time is not"
        return replace(verdict, outcome=verdict.by_time, reason=reason)
    tolerance = max(verdict.tolerance or 0.0, entry.fraction)
    if verdict.bound is None or not verdict.bound <= tolerance:
        open_ = replace(verdict, outcome=Outcome.INCONCLUSIVE, by_time=None, tolerance=tolerance)
        return _adding(open_, f"expected at most {most} ({why})")
    until = f"{why}, until {entry.expires.isoformat()}"
    accepted = "; ".join(filter(None, (verdict.accepted, until)))
    # A pass does not fail on its resources: those are among its causes.
    reason = verdict.reason if verdict.by_time is None else ""
    return replace(
        verdict, outcome=Outcome.PASS, accepted=accepted, reason=reason, tolerance=tolerance
    )


def _adding(verdict: Verdict, words: str) -> Verdict:
    return replace(verdict, reason="; ".join(filter(None, (verdict.reason, words))))


def _missing(
    policy: Policy, known: Mapping[str, Verdict], asked: Callable[[str], bool]
) -> list[Verdict]:
    """A verdict for each required pattern of which nothing was measured."""
    measured = [name for name, one in known.items() if one.outcome not in _NOT_MEASURED]
    found = []
    for required in policy.required:
        pattern = required.pattern.pattern
        if not asked(pattern) or any(map(required.pattern.search, measured)):
            continue
        why = inert(required.reason) or "no benchmark that matches was measured"
        reason = f"required by {inert(policy.name)}: {why}"
        lost = Verdict(pattern, Outcome.MISSING, Clock.DEVICE)
        # A pattern that is a name as well has one verdict already.
        found.append(replace(_adding(known.get(pattern, lost), reason), required=True))
    return found
