# SPDX-License-Identifier: Apache-2.0
"""What overrides allowed, and which difference of the context made only larger changes count."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

from warpgauge.records.model import Clock, Record
from warpgauge.records.sessions import newest_last
from warpgauge.system.text import inert, percent, plural
from warpgauge.verdict import context
from warpgauge.verdict.comparability import MINIMUM_EFFECT, Comparability, widened
from warpgauge.verdict.controls import is_control
from warpgauge.verdict.override import Override
from warpgauge.verdict.pairing import Pairing


def notes(pairings: Sequence[Pairing]) -> tuple[str, ...]:
    """A sentence for each clock that meets sessions of this GPU, but not of this system."""
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
    baseline: Record,
    candidate: Record,
    waived: Mapping[Override, Sequence[str]],
    allow: Collection[Override],
) -> tuple[str, ...]:
    """The notes of `allow`; `waived` are the benchmarks that `pair` compared despite each."""
    whole = {one.allowance: one.fact for one in context.objections(baseline, candidate)}
    notes = []
    for override in (one for one in Override if one in allow):
        names = waived.get(override, ())
        more = f", and {plural(len(names) - 1, 'more benchmark')}" if len(names) > 1 else ""
        what = whole.get(override) or (f"{inert(names[0])}{more}" if names else "")
        although = f"compared although {override.although}: {what}" if what else "it was not needed"
        notes.append(f"--allow {override.word}: {although}.")
    return tuple(notes)
