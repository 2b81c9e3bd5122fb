# SPDX-License-Identifier: Apache-2.0
"""The order in which verdicts are shown, and how unchanged ones fold into one line."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from warpgauge.reports.decision_text import at_most
from warpgauge.system.text import plural, span
from warpgauge.verdict.comparison import Outcome, Verdict
from warpgauge.verdict.controls import is_control

_ORDER = {outcome: rank for rank, outcome in enumerate(Outcome)}


def rank(verdict: Verdict) -> tuple[int, bool, float]:
    """A sort key: changed rows by the size of the change, others in the order of the file.

    What fails on its resources alone comes behind what is slower.
    """
    changed = verdict.is_changed
    size = abs(verdict.change.ratio) if changed and verdict.change is not None else 0.0
    return _ORDER[verdict.outcome], changed and verdict.by_time is not None, -size


# Names without a slash are families of their own; from this many on they share one line.
_SINGLES = 3


@dataclass(frozen=True)
class Fold:
    """Unchanged benchmarks shown as one line; `family` is "" where several families share it."""

    family: str
    members: tuple[Verdict, ...]

    @property
    def title(self) -> str:
        return self.family or f"{len(self.members)} families of one benchmark"

    @property
    def counts(self) -> list[str]:
        """``38 unchanged, at most +0.40 %``; the host's controls are told apart: none is judged."""
        controls = [*filter(is_control, self.members)]
        bounds = [one.bound for one in self.members if one.bound is not None]
        told = []
        if count := len(self.members) - len(controls):
            told.append(", ".join([f"{count} unchanged", *([at_most(*bounds)] if bounds else ())]))
        if controls:
            told.append(f"{plural(len(controls), 'control')}, not judged{_width(controls)}")
        return told


def folded(families: Mapping[str, Sequence[Verdict]]) -> list[Fold]:
    """One for each family that has something to fold; families of one benchmark are together."""
    mine = {
        name: tuple(one for one in members if one.is_unchanged)
        for name, members in families.items()
    }
    singles = [name for name, members in families.items() if len(members) == 1 and mine[name]]
    together = set(singles if len(singles) >= _SINGLES else ())
    found = [Fold(name, mine[name]) for name in families if mine[name] and name not in together]
    rest = tuple(verdict for name in singles if name in together for verdict in mine[name])
    return [*found, Fold("", rest)] if rest else found


def _width(verdicts: Sequence[Verdict]) -> str:
    ratios = [verdict.change.ratio for verdict in verdicts if verdict.change is not None]
    return f" ({span(min(ratios), max(ratios))})" if ratios else ""
