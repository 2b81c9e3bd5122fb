# SPDX-License-Identifier: Apache-2.0
"""Shows a baseline: its sessions, its families, and with --rows every time."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Sequence
from datetime import datetime

from rich.console import Console
from rich.text import Text

from warpgauge.baselines import spread
from warpgauge.baselines.files import Folder
from warpgauge.records.model import Record, Row, Session, by_family
from warpgauge.records.sessions import newest_last
from warpgauge.system.layout import Cells, Columns, print_text
from warpgauge.system.text import duration, inert, plural
from warpgauge.verdict import staleness

_HEADINGS = ("measured", "commit", "GPU", "boot", "driver", "processes", "rows")
_TO_THE_LEFT = range(5)  # the last two columns are numbers
_UNKNOWN = "–"
_DIGITS = 8  # characters shown of a GPU's or boot's identifier


def show(folder: Folder, now: datetime, console: Console, rows: bool) -> None:
    """Print one baseline; ages are relative to `now`."""
    record = folder.whole
    sessions = newest_last(record.sessions.values())
    gpu = inert(", ".join(folder.gpu_names)) or "no GPU"
    instances = len({session.gpu_uuid for session in sessions})
    title = Text(gpu, "bold")
    title.append(
        f" · {inert(os.path.relpath(folder.path))} · {plural(len(sessions), 'session')} of "
        f"{plural(instances, 'GPU')} · {plural(len(record.rows), 'benchmark')}",
        "not bold",
    )
    print_text(console, title)
    _print_sessions([_cells(one, record, now) for one in sessions], console)
    families = Counter(row.family for row in record.rows.values())
    listed = ", ".join(f"{inert(name)} {count}" for name, count in sorted(families.items()))
    print_text(console, f"rows by family: {listed}", indent=2)
    if (stale := staleness.note(record, now)) is not None:
        print_text(console, f"warning: {stale}", indent=2, style="yellow")
    if rows:
        console.print()
        _print_rows(record, sessions, console)


def _print_sessions(lines: Sequence[Cells], console: Console) -> None:
    """Print a table if it fits, otherwise one paragraph per session."""
    heading = Cells("  session", _HEADINGS)
    columns = Columns.fitting([heading, *lines], console.width)
    needed = max(columns.line(line, left=_TO_THE_LEFT).cell_len for line in (heading, *lines))
    if needed <= console.width and columns.name >= max(len(line.name) for line in lines):
        print_text(console, columns.line(heading, left=_TO_THE_LEFT), style="dim")
        for line in lines:
            print_text(console, columns.line(line, left=_TO_THE_LEFT))
        return
    for line in lines:
        facts = ", ".join(f"{k} {v}" for k, v in zip(_HEADINGS, line.cells, strict=True))
        print_text(console, f"{line.name.strip()}: {facts}", indent=2)


def _cells(session: Session, record: Record, now: datetime) -> Cells:
    counts = [
        len(row.process_medians[session.key])
        for row in record.rows.values()
        if session.key in row.process_medians
    ]
    return Cells(
        f"  {inert(session.key)}",
        (
            staleness.told(session, now),
            staleness.commit(session),
            _start((session.gpu_uuid or "").removeprefix("GPU-")),
            _start(session.boot_id or ""),
            inert(session.context.get("driver_version", "")) or "unknown",
            "–".join(map(str, sorted({min(counts), max(counts)}))) if counts else "0",
            str(len(counts)),
        ),
    )


def _start(text: str) -> str:
    return inert(text[:_DIGITS]) or "unknown"


def _print_rows(record: Record, sessions: Sequence[Session], console: Console) -> None:
    """Print one line per row and one column per session, in the given order, by family."""
    titles = tuple(inert(one.key.rpartition("-")[2] or one.key) for one in sessions)
    heading = Cells("benchmark", (*titles, "within", "between"))
    cells = {row.name: _row_cells(row, sessions) for row in record.rows.values()}
    older = range(len(sessions) - 1)  # the newest session is always shown
    columns = Columns.fitting([heading, *cells.values()], console.width, older)
    print_text(console, columns.line(heading), style="dim")
    for family, rows in by_family(record.rows.values()).items():
        print_text(console, Text(inert(family), "bold"))
        for row in rows:
            print_text(console, columns.line(cells[row.name]))
    legend = (
        "each column is a session, headed by the end of its key; within: standard deviation "
        "between processes, between: between sessions, both relative to the time"
    )
    if columns.left_out:
        many = plural(len(columns.left_out), "older session")
        legend = f"{legend}; {many} do not fit here"
    console.print()
    print_text(console, legend, style="dim")


def _row_cells(row: Row, sessions: Sequence[Session]) -> Cells:
    times = [row.process_medians.get(session.key) for session in sessions]
    return Cells(
        f"  {inert(row.name.partition('/')[2] or row.name)}",
        (
            *(_UNKNOWN if one is None else duration(spread.center(one)) for one in times),
            _share(spread.within(row)),
            "ERROR" if row.error is not None else _share(spread.between(row)),
        ),
        "yellow" if row.error is not None else "",
    )


def _share(fraction: float | None) -> str:
    return _UNKNOWN if fraction is None else f"{100.0 * fraction:.2f} %"
