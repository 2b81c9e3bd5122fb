# SPDX-License-Identifier: Apache-2.0
"""The table of a comparison: a family a block, largest regression first, unchanged folded."""

from __future__ import annotations

from collections.abc import Sequence

from rich.console import Console

from warpgauge.reports import ranking
from warpgauge.reports.interval_bar import HEADING, interval_bar
from warpgauge.reports.ranking import CHANGED
from warpgauge.reports.terminal.contents import choose
from warpgauge.system.layout import Cells, Columns, print_text
from warpgauge.system.text import duration, inert, of_limit, percent, percent_number, rate
from warpgauge.verdict.comparison import Outcome, Verdict
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
    if width >= _WIDE and any(_speed(verdict) for verdict in shown):
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
    interval = ""
    if change is not None:
        interval = f"{percent_number(change.low)} … {percent_number(change.high)}"
    counters = verdict.counters
    values = {
        HEADING: _bar(verdict),
        _RATE: _speed(verdict),
        _LIMIT: of_limit(counters.get("limit_fraction")),
    }
    return Cells(
        _short_name(verdict),
        (
            duration(before) if before is not None else "",
            duration(after) if after is not None else "",
            percent(change.ratio) if change is not None else "",
            interval,
            *(values[extra] for extra in extras),
            _CONTROL if is_control(verdict) and ranking.folds(verdict) else verdict.outcome.value,
        ),
        _STYLES[verdict.outcome],
    )


def _speed(verdict: Verdict) -> str:
    counters = verdict.counters
    return rate(counters.get("bytes_per_second"), counters.get("flops_per_second"))


def _short_name(verdict: Verdict) -> str:
    """The name without its family, which the block's heading says, and indented where there is."""
    _, slash, rest = verdict.name.partition("/")
    return inert(f"  {rest or verdict.name}" if slash else verdict.name)


def _reason(verdict: Verdict) -> tuple[str, ...]:
    """The reason, where it says more than the outcome's own word, and a policy's."""
    reason = () if verdict.outcome is Outcome.MISSING else (verdict.reason,)
    accepted = f"accepted: {inert(verdict.accepted)}" if verdict.accepted else ""
    return tuple(words for words in (*reason, accepted) if words)
