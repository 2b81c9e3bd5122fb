# SPDX-License-Identifier: Apache-2.0
"""The table of a comparison: a family a block, largest regression first, unchanged folded."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from rich.console import Console
from rich.text import Text

from warpgauge.comparison import Outcome, Verdict
from warpgauge.layout import Cells, Columns, print_text
from warpgauge.text import duration, inert, of_limit, percent, percent_number, rate

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

# In a family, and among families by their first row.
_ORDER = {outcome: rank for rank, outcome in enumerate(Outcome)}

# Benchmarks without a change to show are listed up to here, then counted: a family that vanished
# as a whole is one fact, not two hundred.
_LISTED = 8

# From this width on there is room for the candidate's bandwidth or arithmetic rate.
_WIDE = 100
# And from this one on for the share of the machine's limit that this is.
_WIDEST = 120

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
    cells = {verdict.name: _cells(verdict, len(extras)) for verdict in shown}
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
                print_text(console, explanation, indent=6, style="dim")
        for outcome, count in family.unlisted.items():
            print_text(console, f"  … and {count} more {outcome.value} (--all lists them)")


def _extras(shown: Sequence[Verdict], width: int) -> tuple[str, ...]:
    """Headings of the columns that there is room for, and something to show in."""
    if width < _WIDE:
        return ()
    limited = any("limit_fraction" in verdict.counters for verdict in shown)
    return ("rate", "of limit") if limited and width >= _WIDEST else ("rate",)


def _families(verdicts: Sequence[Verdict], show_all: bool) -> list[_Family]:
    families: dict[str, _Family] = {}
    listed: dict[tuple[str, Outcome], int] = {}
    for verdict in sorted(verdicts, key=_rank):
        family = families.setdefault(verdict.family, _Family(verdict.family))
        key = (verdict.family, verdict.outcome)
        listed[key] = listed.get(key, 0) + 1
        if show_all or (verdict.change is not None and verdict.outcome is not Outcome.PASS):
            family.shown.append(verdict)
        elif verdict.outcome is Outcome.PASS:
            family.folded.append(verdict)
        elif listed[key] <= _LISTED:
            family.shown.append(verdict)
        else:
            family.unlisted[verdict.outcome] = listed[key] - _LISTED
    return list(families.values())


def _rank(verdict: Verdict) -> tuple[int, float]:
    """Changed rows by the size of the change; the others stay in the order of the file."""
    changed = verdict.outcome in (Outcome.REGRESSION, Outcome.IMPROVED)
    size = abs(verdict.change.ratio) if changed and verdict.change is not None else 0.0
    return _ORDER[verdict.outcome], -size


def _cells(verdict: Verdict, extras: int) -> Cells:
    before, after, change = verdict.baseline_seconds, verdict.candidate_seconds, verdict.change
    interval = ""
    if change is not None:
        interval = f"{percent_number(change.low)} … {percent_number(change.high)}"
    counters = verdict.counters
    speed = rate(counters.get("bytes_per_second"), counters.get("flops_per_second"))
    return Cells(
        f"  {_short_name(verdict)}",
        (
            duration(before) if before is not None else "",
            duration(after) if after is not None else "",
            percent(change.ratio) if change is not None else "",
            interval,
            *(speed, of_limit(counters.get("limit_fraction")))[:extras],
            verdict.outcome.value,
        ),
        _STYLES[verdict.outcome],
    )


def _short_name(verdict: Verdict) -> str:
    """The name without its family, which the block's heading says."""
    _, _, rest = verdict.name.partition("/")
    return inert(rest or verdict.name)


def _reason(verdict: Verdict) -> tuple[str, ...]:
    """The reason, where it says more than the outcome's own word."""
    return (verdict.reason,) if verdict.reason and verdict.outcome is not Outcome.MISSING else ()


def _family_line(family: _Family) -> Text:
    line = Text(inert(family.name), "bold")
    if family.folded:
        ratios = [verdict.change.ratio for verdict in family.folded if verdict.change is not None]
        line.append(f" · {len(family.folded)} unchanged", "green not bold")
        line.append(f" ({_span(min(ratios), max(ratios))})", "dim not bold")
    return line


def _span(low: float, high: float) -> str:
    if percent(low) == percent(high):
        return percent(low)
    return f"{percent_number(low)} … {percent(high)}"
