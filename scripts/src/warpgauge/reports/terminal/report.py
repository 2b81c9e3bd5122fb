# SPDX-License-Identifier: Apache-2.0
"""A comparison on a terminal: the verdict, what changed, notes; or the same as SVG."""

from __future__ import annotations

import io
import math
import statistics
from collections.abc import Sequence

from rich.ansi import AnsiDecoder
from rich.console import Console
from rich.segment import Segment
from rich.style import Style
from rich.text import Text

from warpgauge.records.counters import speed
from warpgauge.records.model import Record, Row, by_family, skips
from warpgauge.records.sessions import newest_last
from warpgauge.reports.advice import next_step
from warpgauge.reports.decision_text import sentences
from warpgauge.reports.drawing import picture
from warpgauge.reports.drawing.picture import GAP
from warpgauge.reports.drawing.style import LINE
from warpgauge.reports.headline import headline, how_found
from warpgauge.reports.provenance import differences_beside, side, told_values
from warpgauge.reports.terminal.table import print_table
from warpgauge.system import layout
from warpgauge.system.layout import Cells, Columns, print_facts, print_text
from warpgauge.system.text import LONGEST_TEXT, cut, duration, inert, of_limit, plural
from warpgauge.verdict import disturbance
from warpgauge.verdict.comparison import Comparison, exit_status

__all__ = ["plain", "render", "render_values"]

# The longest note shown without --verbose, in characters: two lines.
_LONGEST_NOTE = 200


def render(
    comparison: Comparison, console: Console, *, show_all: bool = False, verbose: bool = False
) -> None:
    """Print a comparison; unchanged benchmarks fold into a count unless `show_all`.

    Long notes and the decision rule are printed only if `verbose`.
    """
    print_text(console, _verdict_line(comparison))
    if said := how_found(comparison):
        print_text(console, said)
    console.print()
    sides = (("baseline", comparison.baseline), ("candidate", comparison.candidate))
    print_facts(console, [(name, side(record)) for name, record in sides])
    # If everything was refused, each row would repeat the verdict line.
    if any(verdict.reason != comparison.refusal for verdict in comparison.verdicts):
        console.print()
        print_table(comparison.verdicts, console, show_all)
    if reasons := [one.why.paragraph for one in comparison.verdicts if one.why]:
        print_text(console, "\nWhy it is slower", style="bold")
        for paragraph in reasons:
            print_text(console, inert(cut(paragraph, LONGEST_TEXT)), indent=2)
    if differences := differences_beside(comparison):
        print_text(console, "\nDifferences between the two", style="bold")
        told = [(inert(one.key), " → ".join(map(inert, told_values(one)))) for one in differences]
        print_facts(console, told)
    notes = [
        note
        for note in comparison.every_note
        if verbose or len(str(note)) <= _LONGEST_NOTE or note is comparison.method
    ]
    if notes:
        print_text(console, "\nNotes", style="bold")
        for note in notes:
            print_text(console, str(note), indent=2)
    rule, longer = sentences(comparison), len(comparison.every_note) - len(notes)
    hidden = [plural(longer, "longer note")] if longer else []
    hidden += ["the decision rule"] if rule and not verbose else []
    if verbose and rule:
        print_text(console, f"\n{rule}", style="dim")
    if hidden:
        print_text(console, f"\n--verbose shows {' and '.join(hidden)}.", style="dim")
    _advice(comparison, console)


def plain(comparison: Comparison) -> str:
    """Return all that `render` can print, without colour, for a file."""
    return layout.plain(lambda console: render(comparison, console, verbose=True))


def _verdict_line(comparison: Comparison) -> Text:
    line = headline(comparison)
    style = {0: "bold green", 1: "bold red"}.get(exit_status(comparison), "bold yellow")
    text = Text(str(line))
    text.stylize(style, 0, len(line.verdict))
    return text


def _advice(comparison: Comparison, console: Console) -> None:
    for index, step in enumerate(next_step(comparison)):
        print_text(console, Text(("" if index else "\n") + step.words, "bold"))
        if step.command:  # wrapped only in a picture, which would otherwise cut it
            console.print(Text(f"  {step.command}"), soft_wrap=not console.record)


def render_values(record: Record, console: Console) -> None:
    """Print every benchmark's time, rate and spread over processes, in blocks by family."""
    order = {s.key: index for index, s in enumerate(newest_last(record.sessions.values()))}
    rows = [row for row in record.rows.values() if not row.skipped]
    limited = any("limit_fraction" in row.counters for row in rows)
    heading = Cells("benchmark", ("time", "rate", *(("of limit",) if limited else ()), "spread"))
    cells = {row.name: _value_cells(row, order, record.single_process, limited) for row in rows}
    dispensable = range(len(heading.cells) - 2, 0, -1)  # time and spread are never dropped
    columns = Columns.fitting([heading, *cells.values()], console.width, dispensable)
    print_text(console, columns.line(heading), style="dim")
    for family, members in by_family(rows).items():
        print_text(console, Text(inert(family), "bold"))
        for row in members:
            print_text(console, columns.line(cells[row.name]))
            if row.error is not None:
                print_text(console, inert(row.error), indent=6, style="yellow")
            if (disturbed := disturbance.of(row, record.sessions)) is not None:
                fault = f"no result: {disturbed.fault}: {disturbed.remedy}"
                print_text(console, fault, indent=6, style="yellow")
    for line in skips(record.rows.values()):
        print_text(console, f"\n{inert(line)}")
    spread = "standard deviation between processes"
    print_text(console, f"\nspread: {spread}, relative to the time", style="dim")


def _value_cells(row: Row, order: dict[str, int], alone: bool, limited: bool) -> Cells:
    name = f"  {inert(row.name.partition('/')[2] or row.name)}"
    if row.error is not None:
        return Cells(name, ("", "", *(("",) if limited else ()), "ERROR"), "yellow")
    times = row.process_medians[max(row.process_medians, key=order.__getitem__)]
    logs = [math.log(time) for time in times]
    known = len(logs) > 1 and not alone
    spread = statistics.stdev(logs) if known else 0.0
    return Cells(
        name,
        (
            duration(math.exp(statistics.fmean(logs))),
            speed(row.counters),
            *((of_limit(row.counters.get("limit_fraction")),) if limited else ()),
            f"{100 * spread:.2f} %" if known else "–",
        ),
    )


# The picture's names for a terminal's red, green, yellow and cyan.
_COLOURS = {1: "slower", 2: "c2", 3: "c4", 6: "c5"}


def svg(comparison: Comparison) -> str:
    """Return the SVG document of all that `render` can show, on 100 columns."""
    console = Console(record=True, width=100, file=io.StringIO(), force_terminal=True,
                      color_system="standard", highlight=False)  # fmt: skip
    render(comparison, console, verbose=True)
    shown = AnsiDecoder().decode(console.export_text(styles=True))
    lines = [[*line.render(console)] for line in shown]
    return picture.document(_screen(lines, str(headline(comparison))), "warpgauge on a terminal")


def _screen(lines: Sequence[Sequence[Segment]], label: str) -> str:
    """Return the SVG element; `label` is for screen readers."""
    body, widest = [], 0.0
    for index, line in enumerate(lines):
        x, y = GAP, GAP + LINE * (index + 0.7)
        for segment in line:
            shown = segment.text.rstrip("\n")
            words = shown.strip(" ")
            at = x + picture.width_of(shown) - picture.width_of(shown.lstrip(" "))
            if words:
                # Keeps columns aligned in any font.
                length = f' textLength="{picture.width_of(words):.2f}"'
                body.append(picture.text(at, y, words, _kinds(segment), length))
            x += picture.width_of(shown)
        widest = max(widest, x)
    return picture.element(body, widest + GAP, 2 * GAP + LINE * len(lines), label)


def _kinds(segment: Segment) -> str:
    """Return the classes of `picture.text` for the segment's style."""
    look = segment.style or Style.null()
    colour = _COLOURS.get(look.color.number or 0, "") if look.color else ""
    return " ".join(filter(None, ("bold" if look.bold else "", "faint" if look.dim else colour)))
