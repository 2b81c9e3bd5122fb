# SPDX-License-Identifier: Apache-2.0
"""The interval of a change as a line of characters."""

from __future__ import annotations

import io

import pytest
from rich.cells import cell_len
from rich.console import Console

from comparisons import of_every_kind
from warpgauge.reports.interval_bar import HEADING, WIDTH, interval_bar
from warpgauge.reports.terminal.report import render
from warpgauge.verdict.comparison import Change


def test_an_interval_stands_where_it_lies() -> None:
    assert interval_bar(Change(0.02, 0.01, 0.03), 0.01) == "          ┊ │ ━━●━       "
    assert interval_bar(Change(-0.02, -0.02, -0.02), 0.01) == "        ● ┊ │ ┊          "


def test_what_lies_beyond_ends_in_an_arrow() -> None:
    assert interval_bar(Change(0.9, 0.8, 1.0), 0.01) == "          ┊ │ ┊         ▶"
    assert interval_bar(Change(-0.9, -1.0, 0.0), 0.01) == "◀━━━━━━━━━━━━ ┊          "
    assert interval_bar(Change(0.0, -1.0, 1e305), 1e-9)[:: WIDTH - 1] == "◀▶"


@pytest.mark.parametrize("width", [139, 140, 200])
def test_only_wide_terminals_show_it_and_it_does_not_wrap(width: int) -> None:
    stream = io.StringIO()
    render(of_every_kind(), Console(file=stream, width=width))
    lines = stream.getvalue().splitlines()
    assert any(HEADING.strip() in line for line in lines) == (width >= 140)
    assert max(map(cell_len, lines)) <= width
    row = next(line for line in lines if line.startswith("  naive"))
    assert ("●" in row) == (width >= 140)
    assert row.endswith("REGRESSION")
