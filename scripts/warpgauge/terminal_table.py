# SPDX-License-Identifier: Apache-2.0
"""The table of a comparison: a family a block, largest regression first, unchanged folded."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from rich.console import Console
from rich.text import Text

from warpgauge.comparison import Outcome, Verdict
from warpgauge.headline import is_accepted
from warpgauge.interval_bar import HEADING, interval_bar
from warpgauge.layout import Cells, Columns, print_text
from warpgauge.ranking import CHANGED, rank
from warpgauge.text import (
    LONGEST_NAME,
    cut,
    duration,
    inert,
    of_limit,
    percent,
    percent_number,
    rate,
    span,
)

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

# Benchmarks without a change to show are listed up to here, then counted: a family that vanished
# as a whole is one fact, not two hundred.
_LISTED = 8

# From this width on there is room for the candidate's bandwidth or arithmetic rate.
_WIDE = 100
# And from this one on for the share of the machine's limit that this is.
_WIDEST = 120
# And from this one on for a picture of the interval.
_ROOM_FOR_BARS = 140

_RATE, _LIMIT = "rate", "of limit"
_HEADINGS = ("baseline", "candidate", "change", "95 % interval")


@dataclass
class _Family:
    name: str
    shown: list[Verdict] = field(default_factory=list)
    folded: list[Verdict] = field(default_factory=list)
    unlisted: dict[Outcome, int] = field(default_factory=dict)


def print_table(verdicts: Sequence[Verdict], console: Console, show_all: bool) -> None:
    """Print `verdicts` grouped by family; with `show_all` nothing folds."""
    families = _families(verdicts, show_all)
    shown = [verdict for family in families for verdict in family.shown]
    extras = _extras(shown, console.width)
    heading = Cells("benchmark", (*_HEADINGS, *extras, "verdict"))
    cells = {verdict.name: _cells(verdict, extras) for verdict in shown}
    columns = Columns.fitting([heading, *cells.values()], console.width)
    verdict_column = len(heading.cells) - 1
    if cells:
        print_text(console, columns.line(heading, left=(verdict_column,)), style="dim")
    for family in families:
        print_text(console, _family_line(family))
        for verdict in family.shown:
            print_text(console, columns.line(cells[verdict.name], left=(verdict_column,)))
            explanation = "; ".join((*verdict.causes, *_reason(verdict)))
            if explanation:
                print_text(console, inert(explanation), indent=6, style="dim")
        for outcome, count in family.unlisted.items():
            print_text(console, f"  … and {count} more {outcome.value} (--all lists them)")


def _extras(shown: Sequence[Verdict], width: int) -> tuple[str, ...]:
    """Headings of the columns that there is room for, and something to show in."""
    headings = []
    if width >= _ROOM_FOR_BARS and any(_bar(verdict) for verdict in shown):
        headings.append(HEADING)
    if width >= _WIDE:
        headings.append(_RATE)
    if width >= _WIDEST and any("limit_fraction" in verdict.counters for verdict in shown):
        headings.append(_LIMIT)
    return tuple(headings)


def _bar(verdict: Verdict) -> str:
    """The interval of a changed row; the others have nothing to see in it."""
    if verdict.outcome not in CHANGED or verdict.change is None or not verdict.minimum_effect:
        return ""
    return interval_bar(verdict.change, verdict.minimum_effect)


def _families(verdicts: Sequence[Verdict], show_all: bool) -> list[_Family]:
    families: dict[str, _Family] = {}
    listed: dict[tuple[str, Outcome], int] = {}
    for verdict in sorted(verdicts, key=rank):
        family = families.setdefault(verdict.family, _Family(verdict.family))
        key = (verdict.family, verdict.outcome)
        listed[key] = listed.get(key, 0) + 1
        folds = verdict.outcome is Outcome.PASS and not is_accepted(verdict)
        if show_all or (verdict.change is not None and not folds):
            family.shown.append(verdict)
        elif folds:
            family.folded.append(verdict)
        elif listed[key] <= _LISTED:
            family.shown.append(verdict)
        else:
            family.unlisted[verdict.outcome] = listed[key] - _LISTED
    return list(families.values())


def _cells(verdict: Verdict, extras: Sequence[str]) -> Cells:
    before, after, change = verdict.baseline_seconds, verdict.candidate_seconds, verdict.change
    interval = ""
    if change is not None:
        interval = f"{percent_number(change.low)} … {percent_number(change.high)}"
    counters = verdict.counters
    values = {
        HEADING: _bar(verdict),
        _RATE: rate(counters.get("bytes_per_second"), counters.get("flops_per_second")),
        _LIMIT: of_limit(counters.get("limit_fraction")),
    }
    return Cells(
        f"  {_short_name(verdict)}",
        (
            duration(before) if before is not None else "",
            duration(after) if after is not None else "",
            percent(change.ratio) if change is not None else "",
            interval,
            *(values[extra] for extra in extras),
            verdict.outcome.value,
        ),
        _STYLES[verdict.outcome],
    )


def _short_name(verdict: Verdict) -> str:
    """The name without its family, which the block's heading says."""
    _, _, rest = verdict.name.partition("/")
    return inert(rest or verdict.name)


def _reason(verdict: Verdict) -> tuple[str, ...]:
    """The reason, where it says more than the outcome's own word, and a policy's."""
    reason = () if verdict.outcome is Outcome.MISSING else (verdict.reason,)
    accepted = f"accepted: {inert(verdict.accepted)}" if verdict.accepted else ""
    return tuple(words for words in (*reason, accepted) if words)


def _family_line(family: _Family) -> Text:
    line = Text(cut(inert(family.name), LONGEST_NAME), "bold")
    if family.folded:
        ratios = [verdict.change.ratio for verdict in family.folded if verdict.change is not None]
        line.append(f" · {len(family.folded)} unchanged", "green not bold")
        line.append(f" ({span(min(ratios), max(ratios))})", "dim not bold")
    return line
