# SPDX-License-Identifier: Apache-2.0
"""The measured values of a run, for when there is no baseline yet to hold them against."""

from __future__ import annotations

import math
import statistics

from rich.console import Console
from rich.text import Text

from warpgauge.records.families import by_family
from warpgauge.records.model import Record, Row, Source
from warpgauge.records.sessions import newest_last
from warpgauge.system.layout import Cells, Columns, print_text
from warpgauge.system.text import duration, inert, of_limit, rate
from warpgauge.verdict import disturbance

_ONE_PROCESS = "–"


def render_values(record: Record, console: Console) -> None:
    """Print every benchmark's time, rate and spread over processes, a family a block."""
    order = {s.key: index for index, s in enumerate(newest_last(record.sessions.values()))}
    limited = any("limit_fraction" in row.counters for row in record.rows.values())
    heading = Cells("benchmark", ("time", "rate", *(("of limit",) if limited else ()), "spread"))
    cells = {row.name: _cells(row, order, record.source, limited) for row in record.rows.values()}
    dispensable = range(len(heading.cells) - 2, 0, -1)  # time and spread stay
    columns = Columns.fitting([heading, *cells.values()], console.width, dispensable)
    print_text(console, columns.line(heading), style="dim")
    for family, rows in by_family(record.rows.values()).items():
        print_text(console, Text(inert(family), "bold"))
        for row in rows:
            print_text(console, columns.line(cells[row.name]))
            if row.error is not None:
                print_text(console, inert(row.error), indent=6, style="yellow")
            if (disturbed := disturbance.of(row, record.sessions)) is not None:
                fault = f"no result: {disturbed.fault}: {disturbed.remedy}"
                print_text(console, fault, indent=6, style="yellow")
    spread = "standard deviation from process to process"
    print_text(console, f"\nspread: {spread}, relative to the time", style="dim")


def _cells(row: Row, order: dict[str, int], source: Source, limited: bool) -> Cells:
    name = f"  {inert(row.name.partition('/')[2] or row.name)}"
    if row.error is not None:
        return Cells(name, ("", "", *(("",) if limited else ()), "ERROR"), "yellow")
    times = row.process_medians[max(row.process_medians, key=order.__getitem__)]
    logs = [math.log(time) for time in times]
    known = len(logs) > 1 and source is not Source.GOOGLE_BENCHMARK
    spread = statistics.stdev(logs) if known else 0.0
    speed = rate(row.counters.get("bytes_per_second"), row.counters.get("flops_per_second"))
    return Cells(
        name,
        (
            duration(math.exp(statistics.fmean(logs))),
            speed,
            *((of_limit(row.counters.get("limit_fraction")),) if limited else ()),
            f"{100 * spread:.2f} %" if known else _ONE_PROCESS,
        ),
    )
