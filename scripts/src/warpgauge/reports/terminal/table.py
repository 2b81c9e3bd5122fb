# SPDX-License-Identifier: Apache-2.0
"""The table of a comparison: a family a block, largest regression first, unchanged folded."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field

from rich.console import Console
from rich.text import Text

from warpgauge.records.counters import speed
from warpgauge.records.model import by_family
from warpgauge.reports import ranking
from warpgauge.reports.headline import interval
from warpgauge.reports.interval_bar import HEADING, interval_bar
from warpgauge.reports.ranking import CHANGED, Fold, rank
from warpgauge.system.layout import Cells, Columns, print_text
from warpgauge.system.text import (
    LONGEST_NAME,
    cut,
    duration,
    inert,
    of_limit,
    percent,
    plural,
)
from warpgauge.verdict.comparison import Outcome, Verdict, is_accepted
from warpgauge.verdict.controls import is_control

_STYLES = {
    Outcome.REGRESSION: "bold red",
    Outcome.IMPROVED: "bold green",
    Outcome.INCONCLUSIVE: "yellow",
    Outcome.INVALID: "yellow",
    Outcome.ERROR: "yellow",
    Outcome.MISSING: "yellow",
    Outcome.NEW: "cyan",
    Outcome.PASS: "dim",
}

# Instead of the outcome: it is not judged.
_CONTROL = "control"

# From this width on there is room for the candidate's bandwidth or arithmetic rate.
_WIDE = 100
# And from this one on for the share of the machine's limit that this is.
_WIDEST = 120
# And from this one on for a picture of the interval.
_ROOM_FOR_BARS = 140

_RATE, _LIMIT = "rate", "of limit"
_HEADINGS = ("baseline", "candidate", "change", "95 % interval")
# What a narrow terminal does without, first things first: change and verdict stay.
_DISPENSABLE = tuple(map(_HEADINGS.index, ("95 % interval", "baseline", "candidate")))


def print_table(verdicts: Sequence[Verdict], console: Console, show_all: bool) -> None:
    """Print `verdicts` grouped by family; with `show_all` nothing folds."""
    contents = choose(verdicts, show_all)
    shown = [verdict for family in contents.families for verdict in family.shown]
    extras = _extras(shown, console.width)
    heading = Cells("benchmark", (*_HEADINGS, *extras, "verdict"))
    cells = {verdict.name: _cells(verdict, extras) for verdict in shown}
    columns = Columns.fitting([heading, *cells.values()], console.width, _DISPENSABLE)
    verdict_column = len(heading.cells) - 1
    if cells:
        print_text(console, columns.line(heading, left=(verdict_column,)), style="dim")
    for family in contents.families:
        if family.heading is not None:
            print_text(console, family.heading)
        for verdict in family.shown:
            print_text(console, columns.line(cells[verdict.name], left=(verdict_column,)))
            explanation = "; ".join((*verdict.causes, *_reason(verdict)))
            if explanation:
                print_text(console, inert(explanation), indent=6, style="dim")
    for more in contents.more:
        print_text(console, f"… and {more} (--format json=FILE lists all)")


def _extras(shown: Sequence[Verdict], width: int) -> tuple[str, ...]:
    """Headings of the columns that there is room for, and something to show in."""
    headings = []
    if width >= _ROOM_FOR_BARS and any(_bar(verdict) for verdict in shown):
        headings.append(HEADING)
    if width >= _WIDE and any(speed(verdict.counters) for verdict in shown):
        headings.append(_RATE)
    if width >= _WIDEST and any("limit_fraction" in verdict.counters for verdict in shown):
        headings.append(_LIMIT)
    return tuple(headings)


def _bar(verdict: Verdict) -> str:
    """The interval of a changed row; the others have nothing to see in it."""
    if verdict.outcome not in CHANGED or verdict.change is None or not verdict.minimum_effect:
        return ""
    return interval_bar(verdict.change, verdict.minimum_effect)


def _cells(verdict: Verdict, extras: Sequence[str]) -> Cells:
    before, after, change = verdict.baseline_seconds, verdict.candidate_seconds, verdict.change
    counters = verdict.counters
    values = {
        HEADING: _bar(verdict),
        _RATE: speed(verdict.counters),
        _LIMIT: of_limit(counters.get("limit_fraction")),
    }
    return Cells(
        _short_name(verdict),
        (
            duration(before) if before is not None else "",
            duration(after) if after is not None else "",
            percent(change.ratio) if change is not None else "",
            interval(change) if change is not None else "",
            *(values[extra] for extra in extras),
            _CONTROL if is_control(verdict) and ranking.folds(verdict) else verdict.outcome.value,
        ),
        _STYLES[verdict.outcome],
    )


def _short_name(verdict: Verdict) -> str:
    """The name without its family, which the block's heading says, and indented where there is."""
    _, slash, rest = verdict.name.partition("/")
    return inert(f"  {rest or verdict.name}" if slash else verdict.name)


def _reason(verdict: Verdict) -> tuple[str, ...]:
    """The reason, where it says more than the outcome's own word, and a policy's."""
    reason = () if verdict.outcome is Outcome.MISSING else (verdict.reason,)
    accepted = f"accepted: {inert(verdict.accepted)}" if verdict.accepted else ""
    return tuple(words for words in (*reason, accepted) if words)


# Of each outcome as many are listed, the worst, and the rest is counted: nobody reads thousands.
_LISTED = 50

# Of a family as many that have no change to show: one that vanished as a whole is one fact.
_LISTED_WITHOUT_CHANGE = 8

# Families of which a heading is all that is shown.
_MOST_HEADINGS = 50


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
        elif fold is not None and headings < _MOST_HEADINGS:
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
