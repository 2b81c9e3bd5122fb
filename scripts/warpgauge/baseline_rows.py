# SPDX-License-Identifier: Apache-2.0
"""Every row of a baseline: its time in each session, and how far times scatter."""

from __future__ import annotations

from collections.abc import Sequence

from rich.console import Console
from rich.text import Text

from warpgauge import baseline_spread
from warpgauge.layout import Cells, Columns, print_text
from warpgauge.model import Record, Row, Session
from warpgauge.text import duration, inert

_UNKNOWN = "–"


def print_rows(record: Record, sessions: Sequence[Session], console: Console) -> None:
    """A line a row, a column a session in the order given, a family a block."""
    titles = tuple(inert(one.key.rpartition("-")[2] or one.key) for one in sessions)
    heading = Cells("benchmark", (*titles, "within", "between"))
    cells = {row.name: _cells(row, sessions) for row in record.rows.values()}
    columns = Columns.fitting([heading, *cells.values()], console.width)
    print_text(console, columns.line(heading), style="dim")
    families: dict[str, list[Row]] = {}
    for row in record.rows.values():
        families.setdefault(row.family, []).append(row)
    for family, rows in families.items():
        print_text(console, Text(inert(family), "bold"))
        for row in rows:
            print_text(console, columns.line(cells[row.name]))
    legend = (
        "a column is a session, headed by the end of its key; within: standard deviation from "
        "process to process, between: from session to session, both relative to the time"
    )
    console.print()
    print_text(console, legend, style="dim")


def _cells(row: Row, sessions: Sequence[Session]) -> Cells:
    times = [row.process_medians.get(session.key) for session in sessions]
    return Cells(
        f"  {inert(row.name.partition('/')[2] or row.name)}",
        (
            *(_UNKNOWN if one is None else duration(baseline_spread.center(one)) for one in times),
            _share(baseline_spread.within(row)),
            "ERROR" if row.error is not None else _share(baseline_spread.between(row)),
        ),
        "yellow" if row.error is not None else "",
    )


def _share(fraction: float | None) -> str:
    return _UNKNOWN if fraction is None else f"{100.0 * fraction:.2f} %"
