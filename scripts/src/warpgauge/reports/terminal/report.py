# SPDX-License-Identifier: Apache-2.0
"""A comparison for a person at a terminal: the verdict, then what changed, then what to know."""

from __future__ import annotations

import io

from rich.console import Console
from rich.text import Text

from warpgauge.reports.advice import next_step
from warpgauge.reports.decision_text import sentences
from warpgauge.reports.headline import headline, how_found
from warpgauge.reports.provenance import differences_beside, side, told_values
from warpgauge.reports.terminal.table import print_table
from warpgauge.reports.terminal.values import render_values
from warpgauge.system.layout import print_facts, print_text
from warpgauge.system.text import inert
from warpgauge.verdict.comparison import Comparison, ContextDifference

__all__ = ["plain", "render", "render_values"]

# Columns of what is written to a file.
_FILE_WIDTH = 120


def render(comparison: Comparison, console: Console, *, show_all: bool = False) -> None:
    """Print a comparison; unchanged benchmarks fold into a count unless `show_all`."""
    print_text(console, _verdict_line(comparison))
    if said := how_found(comparison):
        print_text(console, said)
    console.print()
    sides = (("baseline", comparison.baseline), ("candidate", comparison.candidate))
    print_facts(console, [(name, side(record)) for name, record in sides])
    if _worth_a_table(comparison):
        console.print()
        print_table(comparison.verdicts, console, show_all)
    if differences := differences_beside(comparison):
        print_text(console, "\nDifferent between the two", style="bold")
        print_facts(console, [_difference(one) for one in differences])
    if comparison.notes:
        print_text(console, "\nTo know", style="bold")
        for note in comparison.notes:
            print_text(console, inert(note), indent=2)
    _advice(comparison, console)


def plain(comparison: Comparison) -> str:
    """What `render` prints, without colour, for a file."""
    stream = io.StringIO()
    console = Console(file=stream, width=_FILE_WIDTH, color_system=None, highlight=False)
    render(comparison, console)
    return stream.getvalue()


def _difference(one: ContextDifference) -> tuple[str, str]:
    before, after = told_values(one)
    return inert(one.key), inert(f"{before} → {after}")


def _worth_a_table(comparison: Comparison) -> bool:
    """Refused as a whole, every row would only repeat the verdict line."""
    return any(verdict.reason != comparison.refusal for verdict in comparison.verdicts)


def _verdict_line(comparison: Comparison) -> Text:
    line = headline(comparison)
    style = {0: "bold green", 1: "bold red"}.get(comparison.exit_status, "bold yellow")
    text = Text(str(line))
    text.stylize(style, 0, len(line.verdict))
    return text


def _advice(comparison: Comparison, console: Console) -> None:
    if said := sentences(comparison):
        print_text(console, f"\n{said}", style="dim")
    advice = next_step(comparison)
    if advice:
        console.print()
        print_text(console, Text.assemble(("Next  ", "bold"), advice))
