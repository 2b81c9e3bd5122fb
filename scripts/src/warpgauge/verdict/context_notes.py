# SPDX-License-Identifier: Apache-2.0
"""Which difference of the context made only larger changes count, and for what."""

from __future__ import annotations

from collections.abc import Sequence

from warpgauge.records.model import Clock
from warpgauge.records.sessions import newest_last
from warpgauge.system.text import inert, percent, plural
from warpgauge.verdict.comparability import MINIMUM_EFFECT, Kin, widened
from warpgauge.verdict.controls import is_control
from warpgauge.verdict.pairing import Pairing


def notes(pairings: Sequence[Pairing]) -> tuple[str, ...]:
    """A sentence a clock whose sessions of this very GPU were not measured on the same system."""
    return tuple(note for clock in Clock if (note := _note(pairings, clock)))


def _note(pairings: Sequence[Pairing], clock: Clock) -> str:
    met = [
        one
        for one in pairings
        if one.kin is Kin.OTHER_SYSTEM
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
    effect = percent(MINIMUM_EFFECT[clock, Kin.OTHER_SYSTEM], sign=False)
    return (
        f"Not the baseline's system ({differences}): for {plural(len(met), 'benchmark')} of "
        f"{clock.value} time only a change of {effect} or more counts."
    )
