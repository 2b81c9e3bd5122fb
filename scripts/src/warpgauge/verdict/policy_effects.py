# SPDX-License-Identifier: Apache-2.0
"""Apply a policy to verdicts, and note the state of its entries. Pure: the day is given."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import replace
from datetime import date
from typing import NamedTuple

from warpgauge.records.model import Clock
from warpgauge.system.text import foreign, inert, percent, plural
from warpgauge.verdict.comparison import UNMEASURED, Outcome, Verdict
from warpgauge.verdict.note import ENTRY_UNUSED, HELD_BACK, Note, listed
from warpgauge.verdict.policy import Entry, Expected, Policy, last_matching

# Leaves time to fix an expected slowdown or to renew its entry.
WARNING_DAYS = 14


def entry_notes(
    policy: Policy,
    names: Collection[str],
    needed: Collection[int],
    asked: Callable[[str], bool],
    today: date,
) -> tuple[Note, ...]:
    """Return at most one note per entry; `needed` has the numbers of the expected entries used."""
    notes = []
    entries: list[Entry] = [*policy.expected, *policy.minimum_effects]
    for entry in [*entries, *policy.tolerances]:
        was_needed = isinstance(entry, Expected) and entry.number in needed
        idle = not was_needed and asked(entry.pattern.pattern)
        found = None
        if idle and not any(map(entry.pattern.search, names)):
            found = "entry_unmatched", "matches no benchmark: correct or remove it."
        elif isinstance(entry, Expected):
            found = _of_expected(entry, (entry.expires - today).days, idle)
        if found is not None:
            kind, words = found
            where = f"{foreign(policy.name)}, {entry.kind} entry {entry.number}"
            notes.append(Note(kind, f"{where} ({foreign(entry.pattern.pattern)}) {words}"))
    return tuple(notes)


def _of_expected(entry: Expected, days: int, idle: bool) -> tuple[str, str] | None:
    """Return the kind and the words of a note on an entry that expires in `days`, if any."""
    on = entry.expires.isoformat()
    if days < 0:
        return "entry_expired", f"expired on {on} and accepts nothing: renew or remove it."
    if idle:
        words = "is unused, because no regression needed it: remove it if that stays so."
        return ENTRY_UNUSED, words
    if days > WARNING_DAYS:
        return None
    left = f"expires in {plural(days, 'day')}, on {on}"
    return "entry_expires", f"{left}: fix the slowdown, or renew the entry."


# Outcomes that need an expected entry, or may need it once they are decided.
_MAY_NEED = (Outcome.REGRESSION, Outcome.INCONCLUSIVE)

# Outcomes without a valid candidate time.
_NOT_MEASURED = (Outcome.MISSING, Outcome.ERROR, Outcome.INVALID, Outcome.SKIPPED)


class PolicyOutcome(NamedTuple):
    """The verdicts under the policy, and notes on the policy itself."""

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
    """Apply the expected and required entries to verdicts that are otherwise final.

    `outcomes` has already accepted what is below the policy's minimum effect. `asked` tells whether
    this comparison covers all that a pattern may match; otherwise nothing is reported as missing or
    unused. With `resources_fail` a REGRESSION may be due to resources, which only an entry with
    `resources` accepts. If several unexpired entries match, the last one counts.
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
    notes: tuple[Note, ...] = ()
    if held_back := [verdict.name for verdict in verdicts if verdict.accepted]:
        words = f"Would be a regression without the minimum effect of {foreign(policy.name)}"
        notes = (Note(HELD_BACK, f"{words}: {listed(held_back)}."),)
    notes += entry_notes(policy, list(judged), needed, asked, today)
    # If a pattern is a benchmark's name, this replaces its verdict; else the verdict comes last.
    judged |= {one.name: one for one in _missing(policy, judged, asked)}
    return PolicyOutcome(tuple(judged.values()), notes)


def _expected(verdict: Verdict, entry: Expected, resources_fail: bool) -> Verdict:
    """Return `verdict`, a regression, after applying the entry that matches it."""
    most, why = percent(entry.fraction, sign=False), inert(entry.reason)
    # A change of unknown size may exceed the entry.
    if verdict.change is None or not verdict.change.ratio <= entry.fraction:
        return _adding(verdict, f"expected at most {most} ({why})")
    if resources_fail and not entry.resources and any(one.worse for one in verdict.resources):
        return _adding(verdict, f"the slower time is expected ({why}), the use of resources is not")
    if verdict.by_time in UNMEASURED:  # its resources are accepted, but its time is still unknown
        reason = f"the use of resources is expected ({why}), the slower time is not"
        return replace(verdict, outcome=verdict.by_time, reason=reason)
    tolerance = max(verdict.tolerance or 0.0, entry.fraction)
    if verdict.bound is None or not verdict.bound <= tolerance:
        open_ = replace(verdict, outcome=Outcome.INCONCLUSIVE, by_time=None, tolerance=tolerance)
        return _adding(open_, f"expected at most {most} ({why})")
    until = f"{why}, until {entry.expires.isoformat()}"
    accepted = "; ".join(filter(None, (verdict.accepted, until)))
    # The reason says that resources fail. A PASS lists them among its causes instead.
    reason = verdict.reason if verdict.by_time is None else ""
    return replace(
        verdict, outcome=Outcome.PASS, accepted=accepted, reason=reason, tolerance=tolerance
    )


def _adding(verdict: Verdict, words: str) -> Verdict:
    return replace(verdict, reason="; ".join(filter(None, (verdict.reason, words))))


def _missing(
    policy: Policy, known: Mapping[str, Verdict], asked: Callable[[str], bool]
) -> list[Verdict]:
    """Return a verdict for each required pattern without a measured benchmark."""
    measured = [name for name, one in known.items() if one.outcome not in _NOT_MEASURED]
    found = []
    for required in policy.required:
        pattern = required.pattern.pattern
        if not asked(pattern) or any(map(required.pattern.search, measured)):
            continue
        why = inert(required.reason) or "no benchmark that matches was measured"
        reason = f"required by {inert(policy.name)}: {why}"
        lost = Verdict(pattern, Outcome.MISSING, Clock.DEVICE)
        # A pattern that is also a benchmark's name already has a verdict.
        own = known.get(pattern, lost)
        outcome = Outcome.MISSING if own.outcome is Outcome.SKIPPED else own.outcome
        found.append(replace(_adding(own, reason), outcome=outcome, required=True))
    return found
