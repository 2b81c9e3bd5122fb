# SPDX-License-Identifier: Apache-2.0
"""Shows a baseline: its sessions, its families, and on request every time; for ReFrame, or as CSV.

Scatter is the standard deviation of logarithms, a fraction of the time.
"""

from __future__ import annotations

import csv
import io
import json
import math
import os
import re
import statistics
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace
from datetime import datetime
from statistics import geometric_mean

import numpy as np
from msgspec import structs
from rich.console import Console
from scipy import special

from warpgauge.baselines.store import Folder
from warpgauge.records.counters import speed
from warpgauge.records.model import Record, Session, by_family
from warpgauge.records.row import Row
from warpgauge.records.sessions import newest_last
from warpgauge.system.environment import started
from warpgauge.system.errors import UserError
from warpgauge.system.layout import Cells, Columns, print_text
from warpgauge.system.text import duration, foreign, inert, of_limit, percent, plural, quoted
from warpgauge.verdict import staleness
from warpgauge.verdict.comparability import Comparability, minimum_effect
from warpgauge.verdict.comparison_settings import ComparisonSettings
from warpgauge.verdict.note import Note
from warpgauge.verdict.pairing import pair

_HEADINGS = ("measured", "commit", "GPU", "boot", "driver", "processes", "rows")
_TO_THE_LEFT = range(5)  # the last two columns are numbers
_DISPENSABLE = (3, 2, 4)  # columns dropped from narrow tables
_UNKNOWN = "–"
_DIGITS = 8  # characters shown of a GPU's or boot's identifier
_QUANTILES = (0.05, 0.25, 0.5, 0.75, 0.95)
_WHERE = re.compile(r"[\w.-]+:[\w.-]+")


def within(row: Row) -> float | None:
    """Return the scatter between processes, pooled over sessions; None if none has two."""
    squares = [len(times) * np.log(times).var() for times in row.process_medians.values()]
    freedom = len(row.times) - len(squares)
    return math.sqrt(sum(squares) / freedom) if freedom else None


def between(row: Row) -> float | None:
    """Return the scatter between sessions; None with a single one."""
    logs = [math.log(geometric_mean(times)) for times in row.process_medians.values()]
    return statistics.stdev(logs) if len(logs) > 1 else None


def title(folder: Folder) -> str:
    """Return a baseline's GPU model and path, and how much it holds."""
    sessions = folder.whole.sessions.values()
    gpus = len({session.gpu_uuid for session in sessions})
    return inert(
        f"{', '.join(folder.gpu_names) or 'no GPU'} · {os.path.relpath(folder.path)} · "
        f"{plural(len(sessions), 'session')} of {plural(gpus, 'GPU')} · "
        f"{plural(len(folder.whole.rows), 'benchmark')}"
    )


def show(folder: Folder, now: datetime, console: Console, rows: bool) -> None:
    """Print one baseline; ages are relative to `now`."""
    record = folder.whole
    sessions = newest_last(record.sessions.values())
    print_text(console, title(folder), style="bold")
    lines = [Cells("  session", _HEADINGS), *(_cells(one, record, now) for one in sessions)]
    columns = Columns.fitting(lines, console.width, _DISPENSABLE)
    for number, line in enumerate(lines):
        print_text(console, columns.line(line, _TO_THE_LEFT), style="" if number else "dim")
    families = Counter(row.family for row in record.rows.values())
    listed = ", ".join(f"{inert(name)} {count}" for name, count in sorted(families.items()))
    print_text(console, f"rows by family: {listed}", indent=2)
    if (stale := staleness.note(record, now)) is not None:
        print_text(console, f"warning: {stale}", indent=2, style="yellow")
    if rows:
        console.print()
        _print_rows(record, sessions, console)


def _cells(session: Session, record: Record, now: datetime) -> Cells:
    times = (row.process_medians.get(session.key) for row in record.rows.values())
    counts = [len(one) for one in times if one]
    names = (session.gpu_uuid or "").removeprefix("GPU-"), session.boot_id or ""
    return Cells(
        f"  {inert(session.key)}",
        (
            staleness.told(session, now),
            staleness.commit(session),
            *(inert(name[:_DIGITS]) or "unknown" for name in names),
            inert(session.context.get("driver_version", "")) or "unknown",
            "–".join(map(str, sorted({min(counts), max(counts)}))) if counts else "0",
            str(len(counts)),
        ),
    )


def _print_rows(record: Record, sessions: Sequence[Session], console: Console) -> None:
    """Print one line per row and one column per session, in the given order, by family."""
    titles = (inert(one.key.rpartition("-")[2] or one.key) for one in sessions)
    heading = Cells("benchmark", (*titles, "within", "between", "rate", "of limit"))
    lines = {}
    for row in record.rows.values():
        times = [row.process_medians.get(session.key) for session in sessions]
        cells = [_UNKNOWN if one is None else duration(geometric_mean(one)) for one in times]
        cells += [_share(within(row)), _share(between(row))]
        cells += [speed(row.counters), of_limit(row.counters.get("limit_fraction"))]
        name = inert(row.name.partition("/")[2] or row.name)
        lines[row.name] = Cells(f"  {name}", tuple(cells))
    older = range(len(sessions) - 1)  # the newest session is always shown
    columns = Columns.fitting([heading, *lines.values()], console.width, older)
    print_text(console, columns.line(heading), style="dim")
    for family, rows in by_family(record.rows.values()).items():
        print_text(console, inert(family), style="bold")
        for row in rows:
            print_text(console, columns.line(lines[row.name]))
    many = plural(len(columns.left_out), "older session")
    legend = (
        "each column is a session, headed by the end of its key; within: standard deviation "
        "between processes, between: between sessions, both relative to the time; of limit: of the "
        "copy, the write or the vendor's GEMM that the newest session measured"
        f"{f'; {many} do not fit here' if columns.left_out else ''}"
    )
    print_text(console, legend, style="dim")


def _share(fraction: float | None) -> str:
    return _UNKNOWN if fraction is None else f"{100.0 * fraction:.2f} %"


def by_link(baseline: Record) -> Iterator[tuple[str, Record]]:
    """Yield each link between its GPUs, "" for a single one, with what was measured over it."""
    links: dict[str, dict[str, Session]] = {}
    for key, session in baseline.sessions.items():
        links.setdefault(session.context.get("peer_link", ""), {})[key] = session
    for link, sessions in links.items():
        rows = {}
        for name, row in baseline.rows.items():
            if own := {key: its for key, its in row.process_medians.items() if key in sessions}:
                rows[name] = structs.replace(row, process_medians=own)
        yield link, replace(baseline, sessions=sessions, rows=rows)


def quantiles(row: Row) -> list[float]:
    """Return the 5, 25, 50, 75 and 95 % quantiles of the times of all processes, in seconds."""
    return [float(time) for time in np.quantile(row.times, _QUANTILES)]


def changes(row: Row) -> list[float]:
    """Return the times of all processes as changes from their median."""
    median = statistics.median(row.times)
    return [time / median - 1.0 for time in row.times]


def distribution(folders: Sequence[Folder]) -> str:
    """Return quantiles of each benchmark's times (seconds) as CSV, with lines for each link."""
    text = io.StringIO()
    lines = csv.writer(text, lineterminator="\n")
    heads = (f"q{100 * quantile:.0f}" for quantile in _QUANTILES)
    lines.writerow(["gpu", "link", "benchmark", "sessions", "processes", *heads])
    for folder in folders:
        gpu = inert(" or ".join(folder.gpu_names))
        for link, record in by_link(folder.whole):
            for row in record.rows.values():
                counts = [*map(len, row.process_medians.values())]
                what = gpu, inert(link), inert(row.name), len(counts), sum(counts)
                lines.writerow([*what, *(f"{time:.7g}" for time in quantiles(row))])
    return text.getvalue()


def references(baseline: Record, where: str) -> str:
    """Return JSON for a ReFrame test's `reference`; `where` is ``SYSTEM:PARTITION``.

    Each benchmark has its median (us), no lower limit, and an upper limit (a fraction). Raises
    UserError.
    """
    if not _WHERE.fullmatch(where):
        raise UserError(f"{quoted(where)} is not SYSTEM:PARTITION, e.g. cluster:gpu")
    rows = {
        name.replace(":", "="): (float(f"{1e6 * seconds:.7g}"), None, share, "us")
        for name, (seconds, share) in limits(baseline).items()
    }
    return json.dumps({where: rows}, indent=1)


def machine(baseline: Record, here: Record) -> Iterator[Note]:
    """Yield a note on a machine that the baseline has not seen, by its own code's times `here`.

    None with a single session, which does not show how healthy GPUs differ.
    """
    pairings, _, _ = pair(baseline, here, here.rows)
    rows = [pairing.candidate for pairing in pairings if not pairing.is_control]
    if len(baseline.sessions) < 2 or not rows:
        return
    known = limits(baseline)
    more = {row.name: row.seconds / known[row.name][0] - 1.0 for row in rows}
    slower = [name for name, excess in more.items() if excess > known[name][1]]
    count = f"in {len(slower) or len(rows)} of {plural(len(rows), 'benchmark')}"
    words = f"within the baseline's sessions {count}"
    if slower:
        worst = max(slower, key=more.__getitem__)
        words = f"slower than the baseline's {len(baseline.sessions)} sessions allow {count}, "
        words += f"the worst {percent(more[worst])} ({foreign(worst)}): compare machines with "
        words += foreign(started("fleet"))
    yield Note("machine", f"This machine is {words}.")


def limits(baseline: Record) -> dict[str, tuple[float, float]]:
    """Return each benchmark's median over the sessions (seconds), and what is too much more.

    That is a fraction, which another healthy GPU exceeds anywhere with a probability of 1 %.
    """
    measured = [row for row in baseline.rows.values() if row.error is None]
    chance = ComparisonSettings.alpha / max(len(measured), 1)
    return {row.name: _limit(row, chance) for row in measured}


def _limit(row: Row, chance: float) -> tuple[float, float]:
    seconds = statistics.median(map(geometric_mean, row.process_medians.values()))
    least = minimum_effect(row.clock, Comparability.SIBLING, seconds, row.counters)
    sessions, scatter = len(row.process_medians), between(row)
    if scatter is not None:
        # Student's t prediction interval for one more session.
        reach = float(special.stdtrit(sessions - 1, 1.0 - chance))
        least = max(least, math.expm1(min(reach * scatter * math.sqrt(1 + 1 / sessions), 1.0)))
    return seconds, round(least, 4)
