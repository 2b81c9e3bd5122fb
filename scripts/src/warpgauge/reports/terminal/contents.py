# SPDX-License-Identifier: Apache-2.0
"""Which rows of a comparison a terminal shows, and what it says of the others: none is silent."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field

from rich.text import Text

from warpgauge.records.model import by_family
from warpgauge.reports import ranking
from warpgauge.reports.ranking import Fold, rank
from warpgauge.system.text import LONGEST_NAME, cut, inert, plural
from warpgauge.verdict.comparison import Outcome, Verdict, is_accepted

# Of each outcome as many are listed, the worst, and the rest is counted: nobody reads thousands.
_LISTED = 50

# Of a family as many that have no change to show: one that vanished as a whole is one fact.
_LISTED_WITHOUT_CHANGE = 8

# Families of which a heading is all that is shown.
_HEADINGS = 50


@dataclass(frozen=True)
class Family:
    """What is shown of a family: a heading if there is one, and rows."""

    heading: Text | None
    shown: Sequence[Verdict] = ()


@dataclass(frozen=True)
class Contents:
    """The families of a table in their order, and what is not listed, counted."""

    families: list[Family]
    more: list[str] = field(default_factory=list)


def choose(verdicts: Sequence[Verdict], show_all: bool) -> Contents:
    """What to show; with `show_all` everything, and nothing folds."""
    ranked = sorted(verdicts, key=rank)
    groups = by_family(ranked)
    if show_all:
        return Contents([Family(_title(name, group), group) for name, group in groups.items()])
    folds = {fold.family: fold for fold in ranking.folded(groups)}
    listed, more = _listed(ranked)
    families, headings = [], 0
    left_out: list[Fold] = []
    for name, group in groups.items():
        rows, fold = [one for one in group if one.name in listed], folds.get(name)
        if rows:
            families.append(Family(_title(name, group, fold), rows))
        elif fold is not None and headings < _HEADINGS:
            headings += 1
            families.append(Family(_heading(fold)))
        elif fold is not None:
            left_out.append(fold)
    if "" in folds:
        families.append(Family(_heading(folds[""])))
    if left_out:
        count = plural(len(left_out), "family", "families")
        more.append(f"{count} more, {sum(len(one.members) for one in left_out)} unchanged")
    return Contents(families, more)


def _listed(ranked: Sequence[Verdict]) -> tuple[frozenset[str], list[str]]:
    """The names of the rows to list, and how many more there are of each outcome."""
    listed: set[str] = set()
    seen: Counter[str] = Counter()
    of_family: Counter[tuple[str, Outcome]] = Counter()
    more: Counter[str] = Counter()
    for verdict in ranked:
        if ranking.folds(verdict):
            continue
        word = "accepted" if is_accepted(verdict) else verdict.outcome.value
        mine = verdict.family, verdict.outcome
        bare = verdict.change is None
        if seen[word] >= _LISTED or (bare and of_family[mine] >= _LISTED_WITHOUT_CHANGE):
            more[word] += 1
            continue
        listed.add(verdict.name)
        seen[word] += 1
        of_family[mine] += bare
    return frozenset(listed), [f"{count} more {word}" for word, count in more.items()]


def _title(name: str, group: Sequence[Verdict], fold: Fold | None = None) -> Text | None:
    """Above a family's rows; a benchmark that is a family by itself has no heading."""
    alone = fold is None and all(verdict.name == name for verdict in group)
    return None if alone else _heading(fold or Fold(name, ()))


def _heading(fold: Fold) -> Text:
    line = Text(cut(inert(fold.title), LONGEST_NAME), "bold")
    for count, width in fold.counts:
        line.append(f" · {count}", "green not bold")
        line.append(f" {width}" if width else "", "dim not bold")
    return line
