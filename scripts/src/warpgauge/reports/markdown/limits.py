# SPDX-License-Identifier: Apache-2.0
"""How near each benchmark of a baseline comes to what bounds it, as a Markdown table to quote."""

from __future__ import annotations

from collections.abc import Iterator
from statistics import median

from warpgauge.records import benchmark_filter
from warpgauge.records.benchmark_filter import hint
from warpgauge.records.counters import speed
from warpgauge.records.model import Record, Row, Session
from warpgauge.records.sessions import newest
from warpgauge.reports.markdown.text import code, table_head, table_row
from warpgauge.system.errors import UserError
from warpgauge.system.text import duration, of_limit, typed

_HEADINGS = ("benchmark", "time", "rate", "of its limit")


def table(record: Record, filter: str) -> list[str]:
    """The lines of the table: the benchmarks that `filter` lets through, in file order.

    All of the newest session, whose counters a baseline keeps. Raises UserError for no benchmark.
    """
    session = newest(record)
    lines = [
        table_row(cells)
        for row in record.rows.values()
        if benchmark_filter.matches(filter, row.name, "--filter")
        for cells in _cells(row, session)
    ]
    if not lines:
        names = list(record.rows)
        raise UserError(f"no benchmark matches --filter {typed(filter)}{hint(filter, names)}")
    return [*table_head(_HEADINGS, numbers=(1, 2, 3)).splitlines(), *lines]


def _cells(row: Row, session: Session) -> Iterator[tuple[str, ...]]:
    """None where the session has no time of it."""
    if not (times := row.process_medians.get(session.key)):
        return
    counters = row.counters
    yield (
        code(row.name),
        duration(median(times)),
        speed(counters),
        of_limit(counters.get("limit_fraction")),
    )
