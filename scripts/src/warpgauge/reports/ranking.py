# SPDX-License-Identifier: Apache-2.0
"""The order in which verdicts are shown, and how unchanged ones fold into one line."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from warpgauge.reports.decision_text import at_most
from warpgauge.system.text import plural, span
from warpgauge.verdict.comparison import Outcome, Verdict

_ORDER = {outcome: rank for rank, outcome in enumerate(Outcome)}


def rank(verdict: Verdict) -> tuple[int, bool, float]:
    """Return a sort key: changed rows by the size of the change, others in the order of the file.

    Rows that fail on their resources alone come after slower rows.
    """
    changed = verdict.is_changed
    size = abs(verdict.change.ratio) if changed and verdict.change is not None else 0.0
    return _ORDER[verdict.outcome], changed and verdict.by_time is not None, -size


# Names without a slash are families of their own; this many or more share one line.
_SINGLES = 3


@dataclass(frozen=True)
class Fold:
    """Unchanged benchmarks shown as one line; `family` is "" if several families share it."""

    family: str
    members: tuple[Verdict, ...]

    @property
    def title(self) -> str:
        return self.family or f"{len(self.members)} families of one benchmark"

    @property
    def counts(self) -> list[str]:
        """Counts such as ``38 unchanged, at most +0.40 %``; controls are counted separately."""
        controls = [one for one in self.members if one.control]
        bounds = [one.bound for one in self.members if one.bound is not None]
        told = []
        if count := len(self.members) - len(controls):
            told.append(", ".join([f"{count} unchanged", *([at_most(*bounds)] if bounds else ())]))
        if controls:
            told.append(f"{plural(len(controls), 'control')}, not judged{_width(controls)}")
        return told


def folded(families: Mapping[str, Sequence[Verdict]]) -> list[Fold]:
    """Return a fold for each family with unchanged rows; families of one benchmark share one."""
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
