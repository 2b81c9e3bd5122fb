# SPDX-License-Identifier: Apache-2.0
"""Values that there is nothing to judge by: time, rate and spread."""

from __future__ import annotations

import io
from collections.abc import Sequence

from conftest import Loader
from rich.console import Console
from test_terminal import line_of

from builders import Json, failed, row, run
from warpgauge.records.model import Record
from warpgauge.reports.terminal.report import render_values


def values(record: Record, width: int = 80) -> str:
    stream = io.StringIO()
    render_values(record, Console(file=stream, width=width))
    return stream.getvalue()


def columns(text: str, word: str) -> Sequence[str]:
    return text.splitlines()[line_of(text, word)].split("  ")


def test_values_alone_show_time_rate_and_spread(loaded: Loader) -> None:
    rows: list[Json] = [
        row("memcpy/d2d", [9.9, 10.0, 10.1], bytes_per_second=4.287e12),
        row("sync/idle", [5.0]),
        failed("sync/[x]", "boom"),
    ]
    text = values(loaded(run(rows)))
    assert [cell.strip() for cell in columns(text, "d2d") if cell] == [
        "d2d",
        "10.00 µs",
        "4287 GB/s",
        "1.00 %",
    ]
    assert text.splitlines()[line_of(text, "idle")].endswith("\N{EN DASH}")
    assert text.splitlines()[line_of(text, "[x]") + 1].strip() == "boom"
