# SPDX-License-Identifier: Apache-2.0
"""A console whose reader may go away, and aligned columns that read well where it is narrow."""

from __future__ import annotations

import io
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from rich.cells import cell_len
from rich.console import Console
from rich.text import Text

from warpgauge.system import streams
from warpgauge.system.text import LONGEST_NAME, LONGEST_TEXT, cut

# Of the name column: where it would be narrower, cells give way, as long as some are left.
_NARROWEST_NAME, _SHORTEST_PIECE = 16, 8
_LONGEST_KEY = 40  # of a fact
_FILE_WIDTH = 120  # columns of what is written to a file


@dataclass(frozen=True)
class Cells:
    """One line of a table: a name, then cells, with a style for the last of them."""

    name: str
    cells: tuple[str, ...]
    style: str = ""


@dataclass(frozen=True)
class Columns:
    """Widths of a table's columns, the name's first, those that are `left_out`, and the gap."""

    name: int
    widths: tuple[int, ...]
    gap: int
    left_out: frozenset[int] = frozenset()

    @staticmethod
    def fitting(rows: Sequence[Cells], width: int, dispensable: Sequence[int] = ()) -> Columns:
        """Columns as wide as `rows` need; where `width` does not suffice, the name gives way.

        Where too little is left of the name, `dispensable` columns go one by one.
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
        """`row` as text; its cells to the right, but those numbered in `left` to the left."""
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
    """A benchmark's name in lines of at most `width` cells, broken after a slash if it can be."""
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
    """A paragraph, wrapped at words; nothing in it is taken for markup."""
    _print_indented(console, Text(" " * indent), text, style)


def print_line(console: Console, line: str) -> None:
    """Print a line without wrapping it."""
    console.print(line, markup=False, highlight=False, soft_wrap=True)


def print_facts(console: Console, facts: Sequence[tuple[str, str]]) -> None:
    """``key  value`` lines with the values aligned, long ones wrapped under themselves."""
    shown = [(cut(key, _LONGEST_KEY), value) for key, value in facts]
    width = max((cell_len(key) for key, _ in shown), default=0)
    for key, value in shown:
        fill = " " * (width - cell_len(key) + 2)
        _print_indented(console, Text(f"  {key}{fill}", "dim"), value)


def _print_indented(console: Console, lead: Text, text: Text | str, style: str = "") -> None:
    body = Text(cut(text, LONGEST_TEXT)) if isinstance(text, str) else text
    if style:
        body.stylize(style)
    room = max(console.width - lead.cell_len, 1)
    for line in body.wrap(console, room, overflow="fold"):
        line.rstrip()
        console.print(_no_command(lead + line), soft_wrap=True)
        lead = Text(" " * lead.cell_len)


def _no_command(line: Text) -> Text:
    """`line`, with another first colon where a GitHub runner would take it for a command (``::``).

    A foreign name may stand there, or be wrapped so.
    """
    line.plain = re.sub(r"^(\s*):(?=:)", "\\1\N{RATIO}", line.plain)
    return line


def plain(show: Callable[[Console], None], width: int = _FILE_WIDTH) -> str:
    """What `show` prints, without colours."""
    stream = io.StringIO()
    show(Console(file=stream, width=width, color_system=None, highlight=False))
    return stream.getvalue()


class Output(Console):
    """rich's own would end the program with status 1, which means a regression here."""

    def on_broken_pipe(self) -> None:
        self.quiet = True
        streams.abandon()
