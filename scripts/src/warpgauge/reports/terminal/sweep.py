# SPDX-License-Identifier: Apache-2.0
"""A sweep on a terminal: a line for each value of the axis, the variants side by side."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from rich.cells import cell_len
from rich.console import Console

from warpgauge.records.counters import speed
from warpgauge.reports.provenance import side
from warpgauge.system.layout import print_facts, print_text, wrapped_name
from warpgauge.system.text import binary, duration, inert
from warpgauge.verdict.sweep import Gap, Measured, Sweep, Variant

_GAP = "   "
# A variant's name may make its column so wide before it is broken.
_NAME = 36


def render(sweep: Sweep, console: Console) -> None:
    """Print the table, in blocks where the variants are too many for the width; below it gaps."""
    print_facts(console, [("run", side(sweep.record))])
    first = [inert(sweep.axis), *map(binary, sweep.values)]
    for block in _blocks([_column(one, sweep.values) for one in sweep.variants], first, console):
        console.print()
        head, *rows = zip(*block, strict=True)
        names = [cell.split("\n") for cell in head]
        depth = max(map(len, names))
        above = [[" " * cell_len(name[0])] * (depth - len(name)) for name in names]
        heads = [lead + name for lead, name in zip(above, names, strict=True)]
        for line in zip(*heads, strict=True):
            print_text(console, _GAP.join(line).rstrip(), style="bold")
        for row in rows:
            print_text(console, _GAP.join(row).rstrip())
    for gap in sweep.gaps:
        print_text(console, f"\n{inert(f'{gap.benchmark}: {gap.reason}')}", style="yellow")
    for fault in sweep.faults:
        print_text(console, f"\n{inert(fault)}", style="yellow")


def _column(variant: Variant, values: Sequence[int]) -> list[str]:
    """The name, on as many lines as it needs, and a cell for each value, all of one width."""
    points = [variant.points.get(value) for value in values]
    pairs = [_pair(point) for point in points]
    time_width, rate_width = (max(cell_len(pair[at]) for pair in pairs) for at in (0, 1))
    cells = [f"{time:>{time_width}}  {rate:>{rate_width}}".rstrip() for time, rate in pairs]
    name = inert(variant.name)
    width = max(map(cell_len, cells), default=0)
    lines = wrapped_name(name, max(width, min(cell_len(name), _NAME)))
    width = max(width, *map(cell_len, lines))
    head = "\n".join(_filled(line, width) for line in lines)
    return [head, *(_filled(cell, width) for cell in cells)]


def _pair(point: Measured | Gap | None) -> tuple[str, str]:
    if isinstance(point, Measured):
        return duration(point.time), speed(point.rates)
    return ("–" if point is None else point.word), ""


def _filled(text: str, width: int) -> str:
    return text + " " * (width - cell_len(text))


def _blocks(
    columns: Sequence[Sequence[str]], first: Sequence[str], console: Console
) -> Iterator[list[list[str]]]:
    """The columns in groups as wide as the console, each behind the values of the axis."""
    size = max(map(cell_len, first))
    values = [f"{one:>{size}}" for one in first]
    block, width = [values], size
    for column in columns:
        wide = len(_GAP) + cell_len(column[-1])
        if len(block) > 1 and width + wide > console.width:
            yield block
            block, width = [values], size
        block.append([*column])
        width += wide
    yield block
