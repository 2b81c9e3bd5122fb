# SPDX-License-Identifier: Apache-2.0
"""In which order verdicts are shown, and which of them one line stands for."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from warpgauge.system.text import plural, span
from warpgauge.verdict.comparison import Outcome, Verdict, is_accepted
from warpgauge.verdict.controls import is_control

_ORDER = {outcome: rank for rank, outcome in enumerate(Outcome)}

CHANGED = (Outcome.REGRESSION, Outcome.IMPROVED)

# A larger change is not called none, whatever noise or policy keeps it from counting.
_STILL = 0.03


def rank(verdict: Verdict) -> tuple[int, bool, float]:
    """A sort key: changed rows by the size of the change, others in the order of the file.

    What fails on its resources alone comes behind what is slower.
    """
    changed = verdict.outcome in CHANGED
    size = abs(verdict.change.ratio) if changed and verdict.change is not None else 0.0
    return _ORDER[verdict.outcome], changed and verdict.by_time is not None, -size


# Names without a slash are families of their own. So many of them are one line, and not a page.
_SINGLES = 3


@dataclass(frozen=True)
class Fold:
    """Benchmarks of which one line tells: ``title`` is foreign text, or ours if `family` is ""."""

    family: str
    members: tuple[Verdict, ...]

    @property
    def title(self) -> str:
        return self.family or f"{len(self.members)} families of one benchmark"

    @property
    def counts(self) -> list[tuple[str, str]]:
        """``("38 unchanged", "(−0.15 … +0.13 %)")``; the host's controls are not judged.

        Nor is what moved called unchanged for moving by less than counts.
        """
        still: list[Verdict] = []
        moved: list[Verdict] = []
        controls: list[Verdict] = []
        for verdict in self.members:
            moves = verdict.change is not None and abs(verdict.change.ratio) > _STILL
            (controls if is_control(verdict) else moved if moves else still).append(verdict)
        told = {
            f"{len(still)} unchanged": still,
            f"{len(moved)} moved by less than counts": moved,
            f"{plural(len(controls), 'control')}, not judged": controls,
        }
        return [(words, _width(members)) for words, members in told.items() if members]


def folds(verdict: Verdict) -> bool:
    """Whether there is nothing to say of this benchmark alone."""
    return verdict.outcome is Outcome.PASS and not is_accepted(verdict)


def folded(families: Mapping[str, Sequence[Verdict]]) -> list[Fold]:
    """One for each family that has something to fold; families of one benchmark are together."""
    mine = {name: tuple(filter(folds, members)) for name, members in families.items()}
    singles = [name for name, members in families.items() if len(members) == 1 and mine[name]]
    together = set(singles if len(singles) >= _SINGLES else ())
    found = [Fold(name, mine[name]) for name in families if mine[name] and name not in together]
    rest = tuple(verdict for name in singles if name in together for verdict in mine[name])
    return [*found, Fold("", rest)] if rest else found


def _width(verdicts: Sequence[Verdict]) -> str:
    ratios = [verdict.change.ratio for verdict in verdicts if verdict.change is not None]
    return f"({span(min(ratios), max(ratios))})" if ratios else ""
