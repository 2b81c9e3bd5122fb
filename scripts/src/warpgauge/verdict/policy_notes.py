# SPDX-License-Identifier: Apache-2.0
"""What a reader must know of a policy: entries that expired, soon will, or do nothing."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from datetime import date, timedelta

from warpgauge.system.text import inert, listed, plural, quoted
from warpgauge.verdict.policy import Expected, MinimumEffect, Policy

# Time enough to mend what was expected to be slow, or to renew the entry.
WARNING_TIME = timedelta(days=14)

_NOTHING = "matches no benchmark: correct or remove it"


def notes(
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
