# SPDX-License-Identifier: Apache-2.0
"""Values that there is nothing to judge by, and times that are no result."""

from __future__ import annotations

import io
from collections.abc import Sequence

import pytest
from conftest import Loader
from rich.cells import cell_len
from rich.console import Console
from test_terminal import line_of, shown

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


SLOW = {"throttled": 7.0, "sm_clock_hz": 1.62e9, "clock_event_reasons": 4.0}


@pytest.mark.parametrize("width", [40, 80, 120])
def test_a_row_that_is_no_result_fits_and_says_why(loaded: Loader, width: int) -> None:
    base = loaded(run([row("gemm/cublas/f32/n:4096", limit_fraction=1.0)]))
    cand = loaded(run([row("gemm/cublas/f32/n:4096", limit_fraction=0.8, **SLOW)]))
    text = shown(base, cand, width)
    assert max(map(cell_len, text.splitlines())) <= width
    assert "INVALID" in text
    assert "1.620 GHz" in text
    assert "80 %" not in text
    assert "of 1 unchanged, 1 not comparable" in " ".join(text.split())


def test_values_that_are_no_result_say_so(loaded: Loader) -> None:
    text = values(loaded(run([row("a/b", **SLOW), failed("a/c", "boom")])))
    below = text.splitlines()[line_of(text, "  b ") + 1]
    assert below.strip().startswith("no result: the SM clock was lowered to 1.620 GHz")
