# SPDX-License-Identifier: Apache-2.0
"""A Markdown table of how near each benchmark of a baseline comes to its limit, for documents."""

from __future__ import annotations

from statistics import median

from warpgauge.records import benchmark_filter
from warpgauge.records.benchmark_filter import hint
from warpgauge.records.counters import speed
from warpgauge.records.model import Record
from warpgauge.records.sessions import newest
from warpgauge.reports.markdown_text import code, table_head, table_row
from warpgauge.system.errors import UserError
from warpgauge.system.text import duration, of_limit, typed


def table(record: Record, filter: str) -> list[str]:
    """Return the lines of the table: the benchmarks that `filter` selects, in file order.

    All are from the newest session, whose counters a baseline keeps. Raise UserError if none match.
    """
    session = newest(record)
    lines = [
        table_row(
            (
                code(row.name),
                duration(median(times)),
                speed(row.counters),
                of_limit(row.counters.get("limit_fraction")),
            )
        )
        for row in record.rows.values()
        if benchmark_filter.matches(filter, row.name, "--filter")
        and (times := row.process_medians.get(session.key))
    ]
    if not lines:
        near = hint(filter, list(record.rows))
        raise UserError(f"no benchmark matches --filter {typed(filter)}{near}")
    head = table_head(("benchmark", "time", "rate", "of its limit"), numbers=(1, 2, 3))
    return [*head.splitlines(), *lines]
