# SPDX-License-Identifier: Apache-2.0
"""What overrides allowed, and which difference of the context made only larger changes count."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence

from warpgauge.records.model import Clock, Record
from warpgauge.records.sessions import newest_last
from warpgauge.system.text import inert, percent, plural
from warpgauge.verdict import context
from warpgauge.verdict.comparability import MINIMUM_EFFECT, Comparability, widened
from warpgauge.verdict.controls import is_control
from warpgauge.verdict.override import Override
from warpgauge.verdict.pairing import Pairing, waived


def notes(pairings: Sequence[Pairing]) -> tuple[str, ...]:
    """A sentence a clock whose sessions of this very GPU were not measured on the same system."""
    return tuple(note for clock in Clock if (note := _note(pairings, clock)))


def _note(pairings: Sequence[Pairing], clock: Clock) -> str:
    met = [
        one
        for one in pairings
        if one.kin is Comparability.OTHER_SYSTEM
        and one.candidate.clock is clock
        and not is_control(one.candidate)
    ]
    if not met:
        return ""
    newest = newest_last(met[-1].references)[-1]
    differences = ", ".join(
        f"{one.key} {inert(one.baseline)} → {inert(one.candidate)}"
        for one in widened(newest, met[-1].session, clock)
    )
    effect = percent(MINIMUM_EFFECT[clock, Comparability.OTHER_SYSTEM], sign=False)
    return (
        f"Not the baseline's system ({differences}): for {plural(len(met), 'benchmark')} of "
        f"{clock.value} time only a change of {effect} or more counts."
    )


def of_overrides(
    baseline: Record, candidate: Record, names: Iterable[str], allow: Collection[Override]
) -> tuple[str, ...]:
    """The notes of `allow`, for a comparison of `names` that was not refused as a whole."""
    if not allow:
        return ()
    whole = {one.allowance: one.fact for one in context.objections(baseline, candidate)}
    rows = waived(baseline, candidate, names, allow)
    notes = []
    for one in Override:
        if one not in allow:
            continue
        what = whole.get(one) or _named_rows(rows.get(one, ()))
        although = f"compared although {one.although}: {what}" if what else "it was not needed"
        notes.append(f"--allow {one.word}: {although}.")
    return tuple(notes)


def _named_rows(names: Sequence[str]) -> str:
    if not names:
        return ""
    more = f", and {plural(len(names) - 1, 'more benchmark')}" if len(names) > 1 else ""
    return f"{inert(names[0])}{more}"
