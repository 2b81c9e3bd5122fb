# SPDX-License-Identifier: Apache-2.0
"""A console whose reader may close, and aligned columns that stay readable when narrow."""

from __future__ import annotations

import io
import os
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal

from rich.cells import cell_len
from rich.console import Console
from rich.text import Text

from warpgauge.system import streams
from warpgauge.system.text import LONGEST_NAME, LONGEST_TEXT, cut, unbroken_units

# Smallest width of the name column: below it, dispensable columns are dropped first.
_NARROWEST_NAME, _SHORTEST_PIECE = 16, 8
_LONGEST_KEY = 40  # characters of a fact's key
_HELD = "\ue000"  # stands for a space at which no line ends, while lines are made
_FILE_WIDTH = 120  # columns of output to a file


@dataclass(frozen=True)
class Cells:
    """One line of a table: a name and its cells. `style` is for the last cell."""

    name: str
    cells: tuple[str, ...]
    style: str = ""


@dataclass(frozen=True)
class Columns:
    """Widths of the name column and the others, the gap, and the columns left out."""

    name: int
    widths: tuple[int, ...]
    gap: int
    left_out: frozenset[int] = frozenset()

    @staticmethod
    def fitting(rows: Sequence[Cells], width: int, dispensable: Sequence[int] = ()) -> Columns:
        """Return columns as wide as `rows` need; if `width` is too small, the name column shrinks.

        If the name column would become too narrow, `dispensable` columns are dropped one by one.
        """
        columns = zip(*(row.cells for row in rows), strict=True)
        widths = tuple(max(map(cell_len, column)) for column in columns)
        wanted = max(cell_len(row.name) for row in rows)
        for count in range(len(dispensable) + 1):
            left_out = frozenset(dispensable[:count])
            kept = [size for index, size in enumerate(widths) if index not in left_out]
            for gap in (2, 1):
                room = width - sum(kept) - gap * len(kept)
                if room >= wanted:
                    return Columns(wanted, widths, gap, left_out)
            if room >= _NARROWEST_NAME:
                break
        return Columns(max(room, _SHORTEST_PIECE), widths, gap, left_out)

    def line(self, row: Cells, left: Sequence[int] = ()) -> Text:
        """Return `row` as text, right-aligned except for the cells numbered in `left`."""
        *head, tail = wrapped_name(row.name, self.name)
        text = Text("".join(part + "\n" for part in head))
        line = tail + " " * (self.name - cell_len(tail))
        for index, (cell, width) in enumerate(zip(row.cells, self.widths, strict=True)):
            if index not in self.left_out:
                fill = " " * (width - cell_len(cell))
                line += " " * self.gap + (cell + fill if index in left else fill + cell)
        text.append(line.rstrip())
        if row.style and row.cells[-1]:
            text.stylize(row.style, len(text) - len(row.cells[-1]))
        return text


def wrapped_name(name: str, width: int) -> list[str]:
    """Split a name into lines of at most `width` cells, after a slash where possible."""
    name = cut(name, LONGEST_NAME)
    lines, line, lead = [], "", " " * min(4, width // 2)
    for part in re.findall(r"[^/]*/|[^/]+", name):
        if line.strip() and cell_len(line + part) > width:
            lines.append(line)
            line = lead
        line += part
        while cell_len(line) > width:
            end = next(n for n in range(width, 0, -1) if cell_len(line[:n]) <= width)
            lines.append(line[:end])
            line = lead + line[end:]
    return [*lines, line]


def print_text(console: Console, text: Text | str, indent: int = 0, style: str = "") -> None:
    """Print a paragraph wrapped at words, without interpreting markup."""
    _print_indented(console, Text(" " * indent), text, style)


def print_line(console: Console, line: str) -> None:
    """Print a line without wrapping it."""
    console.print(line, markup=False, highlight=False, soft_wrap=True)


def print_facts(console: Console, facts: Sequence[tuple[str, str]]) -> None:
    """Print ``key  value`` lines with aligned values, wrapped under themselves."""
    shown = [(cut(key, _LONGEST_KEY), value) for key, value in facts]
    width = max((cell_len(key) for key, _ in shown), default=0)
    for key, value in shown:
        fill = " " * (width - cell_len(key) + 2)
        _print_indented(console, Text(f"  {key}{fill}", "dim"), value)


def _print_indented(console: Console, lead: Text, text: Text | str, style: str = "") -> None:
    body = Text(cut(text, LONGEST_TEXT)) if isinstance(text, str) else text
    body.plain = unbroken_units(body.plain).replace("\N{NO-BREAK SPACE}", _HELD)
    if style:
        body.stylize(style)
    room = max(console.width - lead.cell_len, 1)
    for line in body.wrap(console, room, overflow="fold"):
        line.rstrip()
        line.plain = line.plain.replace(_HELD, " ")  # which a search for "3 %" finds
        console.print(_no_command(lead + line), soft_wrap=True)
        lead = Text(" " * lead.cell_len)


def _no_command(line: Text) -> Text:
    """Replace a leading colon that a GitHub runner would read as a command (``::``).

    A foreign name, or wrapping, may put one there.
    """
    line.plain = re.sub(r"^(\s*):(?=:)", "\\1\N{RATIO}", line.plain)
    return line


def plain(show: Callable[[Console], None], width: int = _FILE_WIDTH) -> str:
    """Return what `show` prints, without colours."""
    stream = io.StringIO()
    show(Console(file=stream, width=width, color_system=None, highlight=False))
    return stream.getvalue()


class Output(Console):
    """A console that follows --quiet and --color.

    A closed pipe is not an error; rich would exit with 1, a regression.
    """

    def __init__(self, *, stderr: bool = False, highlight: bool = True) -> None:
        color = os.environ.get(streams.COLOR, "auto")
        systems: dict[str, Literal["auto", "standard"]] = {"auto": "auto", "always": "standard"}
        super().__init__(
            stderr=stderr,
            highlight=highlight,
            quiet=stderr and streams.QUIET in os.environ,
            color_system=systems.get(color),
            no_color=False if color == "always" else None,  # None: as NO_COLOR says
        )

    def on_broken_pipe(self) -> None:
        self.quiet = True
        streams.abandon()
