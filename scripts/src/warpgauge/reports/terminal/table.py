# SPDX-License-Identifier: Apache-2.0
"""The table of a comparison: families as blocks, largest regression first, unchanged folded."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from rich.console import Console
from rich.text import Text

from warpgauge.records.counters import speed
from warpgauge.records.model import by_family
from warpgauge.reports import ranking
from warpgauge.reports.decision_text import bound_words
from warpgauge.reports.headline import values
from warpgauge.reports.interval_bar import HEADING, interval_bar
from warpgauge.reports.ranking import Fold, rank
from warpgauge.system.layout import Cells, Columns, print_text
from warpgauge.system.text import LONGEST_NAME, cut, inert, plural
from warpgauge.verdict.comparison import UNMEASURED, Outcome, Verdict

_STYLES = dict.fromkeys(UNMEASURED, "yellow") | {
    Outcome.REGRESSION: "bold red",
    Outcome.IMPROVED: "bold green",
    Outcome.NEW: "cyan",
    Outcome.SKIPPED: "dim",
    Outcome.PASS: "dim",
}

# The least widths for the candidate's bandwidth or arithmetic rate, for its share of the machine's
# limit, and for a picture of the interval.
_WIDE, _WIDEST, _ROOM_FOR_BARS = 100, 120, 140
_RATE, _LIMIT = "rate", "of limit"
_HEADINGS = ("baseline", "candidate", "change", "95 % interval")
# The columns that a narrow terminal drops, in this order; change and verdict are never dropped.
_DISPENSABLE = tuple(map(_HEADINGS.index, ("95 % interval", "baseline", "candidate")))


def print_table(verdicts: Sequence[Verdict], console: Console, show_all: bool) -> None:
    """Print `verdicts` grouped by family; with `show_all` nothing folds."""
    blocks, not_listed = _chosen(verdicts, show_all)
    shown = [verdict for _, rows in blocks for verdict in rows]
    extras = _extras(shown, console.width)
    heading = Cells("benchmark", (*_HEADINGS, *extras, "verdict"))
    cells = {verdict.name: _cells(verdict, extras) for verdict in shown}
    columns = Columns.fitting([heading, *cells.values()], console.width, _DISPENSABLE)
    left = (len(heading.cells) - 1,)  # the verdict
    if cells:
        print_text(console, columns.line(heading, left), style="dim")
    for title, rows in blocks:
        if title is not None:
            print_text(console, title)
        for verdict in rows:
            print_text(console, columns.line(cells[verdict.name], left))
            reason = verdict.reason
            bound = bound_words(verdict) if verdict.outcome is Outcome.INCONCLUSIVE else ""
            accepted = f"accepted: {verdict.accepted}" if verdict.accepted else ""
            explanation = "; ".join(filter(None, (*verdict.causes, bound, reason, accepted)))
            if explanation:
                print_text(console, inert(explanation), indent=6, style="dim")
    for more in not_listed:
        print_text(console, f"… and {more} (--format json=FILE lists all)")


def _extras(shown: Sequence[Verdict], width: int) -> tuple[str, ...]:
    """Return the headings of optional columns that have room and content."""
    headings = []
    if width >= _ROOM_FOR_BARS and any(_bar(verdict) for verdict in shown):
        headings.append(HEADING)
    if width >= _WIDE and any(speed(verdict.counters) for verdict in shown):
        headings.append(_RATE)
    if width >= _WIDEST and any("limit_fraction" in verdict.counters for verdict in shown):
        headings.append(_LIMIT)
    return tuple(headings)


def _bar(verdict: Verdict) -> str:
    """Return the interval of a changed row, or ""."""
    if not verdict.is_changed or verdict.change is None or not verdict.minimum_effect:
        return ""
    return interval_bar(verdict.change, verdict.minimum_effect)


def _cells(verdict: Verdict, extras: Sequence[str]) -> Cells:
    shown = values(verdict)
    more = {HEADING: _bar(verdict), _RATE: speed(verdict.counters), _LIMIT: shown.limit}
    # The block's heading already shows the family.
    _, slash, rest = verdict.name.partition("/")
    word = bound_words(verdict) if verdict.outcome is Outcome.PASS else ""
    if verdict.control and verdict.is_unchanged:
        word = "control"
    return Cells(
        inert(f"  {rest or verdict.name}" if slash else verdict.name),
        (
            *(shown.baseline, shown.candidate, shown.change, shown.interval),
            *(more[extra] for extra in extras),
            word or verdict.outcome.value,
        ),
        _STYLES[verdict.outcome],
    )


# The most rows listed for each outcome, worst first; the others are only counted.
_LISTED = 50

# The most rows without a change listed per family and outcome; a missing family needs no long list.
_LISTED_WITHOUT_CHANGE = 8

# The most families shown as a heading only.
_MOST_HEADINGS = 50

# A family's heading, if any, and its rows.
_Block = tuple[Text | None, Sequence[Verdict]]


def _chosen(verdicts: Sequence[Verdict], show_all: bool) -> tuple[list[_Block], list[str]]:
    """Return the families in order, and counts of what is not listed (none with `show_all`).

    Skipped rows are listed only with `show_all`; the notes have their count and reasons.
    """
    ranked = sorted(verdicts, key=rank)
    if not show_all:
        ranked = [verdict for verdict in ranked if verdict.outcome is not Outcome.SKIPPED]
    groups = by_family(ranked)
    if show_all:
        return [(_title(name, group), group) for name, group in groups.items()], []
    folds = {fold.family: fold for fold in ranking.folded(groups)}
    listed, more = _listed(ranked)
    blocks: list[_Block] = []
    bare: list[Fold] = []
    for name, group in groups.items():
        rows, fold = [verdict for verdict in group if verdict.name in listed], folds.get(name)
        if rows:
            blocks.append((_title(name, group, fold), rows))
        elif fold is not None:
            bare.append(fold)
            blocks += [(_heading(fold), ())] if len(bare) <= _MOST_HEADINGS else []
    if "" in folds:
        blocks.append((_heading(folds[""]), ()))
    if left_out := bare[_MOST_HEADINGS:]:
        count = plural(len(left_out), "family", "families")
        rest = Fold("", tuple(member for fold in left_out for member in fold.members))
        more.append(" · ".join((f"{count} more", *rest.counts)))
    return blocks, more


def _listed(ranked: Sequence[Verdict]) -> tuple[frozenset[str], list[str]]:
    """Return the names of the rows to list, and how many more there are of each outcome."""
    listed: set[str] = set()
    seen, more = Counter[str](), Counter[str]()
    of_family = Counter[tuple[str, Outcome]]()
    for verdict in ranked:
        if verdict.is_unchanged:
            continue
        word = "accepted" if verdict.is_accepted else verdict.outcome.value
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
    """Return a family's heading; None if the family is a single benchmark of its own name."""
    alone = fold is None and all(verdict.name == name for verdict in group)
    return None if alone else _heading(fold or Fold(name, ()))


def _heading(fold: Fold) -> Text:
    line = Text(cut(inert(fold.title), LONGEST_NAME), "bold")
    for count in fold.counts:
        line.append(f" · {count}", "green not bold")
    return line
