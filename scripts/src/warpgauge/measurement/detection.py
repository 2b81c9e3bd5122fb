# SPDX-License-Identifier: Apache-2.0
"""What a gate did with unchanged code and with known extra work, counted a family. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from warpgauge.records.model import Clock
from warpgauge.verdict.comparison import UNMEASURED, Comparison, Outcome, Verdict
from warpgauge.verdict.controls import FAMILY as CONTROLS

# The share of a family's benchmarks in which a change counts as found by the gate.
FOUND = 0.9

_CHANGED = (Outcome.REGRESSION, Outcome.IMPROVED)


@dataclass(frozen=True)
class Detection:
    """How a family's benchmarks of one clock fared.

    Of `benchmarks`, `alarms` were called changed and `unknown` neither changed nor unchanged while
    the code was the same; `found` counts by the injected change (a fraction) those called slower.
    """

    family: str
    clock: Clock
    benchmarks: int
    alarms: int
    unknown: int
    found: Mapping[float, int]

    @property
    def smallest(self) -> float | None:
        """The smallest change found in nine of ten benchmarks; None where not even the largest was.

        Between two injected changes the share is taken to grow in proportion. Where the smallest
        one was found so often, that one: what is smaller was not tried.
        """
        below, share_below = 0.0, 0.0
        for change in sorted(self.found):
            share = self.found[change] / self.benchmarks
            if share >= FOUND:
                if below == 0.0:
                    return change
                return below + (change - below) * (FOUND - share_below) / (share - share_below)
            below, share_below = change, share
        return None


def of(same: Comparison, injected: Mapping[float, Comparison]) -> list[Detection]:
    """Every family of what was judged, in order of name; the host's controls judge nobody."""
    groups: dict[tuple[str, Clock], list[Verdict]] = {}
    for verdict in same.verdicts:
        if verdict.family != CONTROLS:
            groups.setdefault((verdict.family, verdict.clock), []).append(verdict)
    slower = {change: _names(one.verdicts) for change, one in injected.items()}
    return [
        _detection(family, clock, verdicts, slower)
        for (family, clock), verdicts in sorted(
            groups.items(), key=lambda item: (item[0][0], item[0][1].value)
        )
    ]


def total(clock: Clock, families: Sequence[Detection]) -> Detection | None:
    """All families of one clock together; None where there is none."""
    mine = [one for one in families if one.clock is clock]
    if not mine:
        return None
    return Detection(
        "all",
        clock,
        sum(one.benchmarks for one in mine),
        sum(one.alarms for one in mine),
        sum(one.unknown for one in mine),
        {change: sum(one.found[change] for one in mine) for change in mine[0].found},
    )


def _detection(
    family: str, clock: Clock, verdicts: Sequence[Verdict], slower: Mapping[float, set[str]]
) -> Detection:
    names = {verdict.name for verdict in verdicts}
    return Detection(
        family,
        clock,
        len(verdicts),
        sum(verdict.outcome in _CHANGED for verdict in verdicts),
        sum(verdict.outcome in UNMEASURED for verdict in verdicts),
        {change: len(names & found) for change, found in slower.items()},
    )


def _names(verdicts: Iterable[Verdict]) -> set[str]:
    return {verdict.name for verdict in verdicts if verdict.outcome is Outcome.REGRESSION}
