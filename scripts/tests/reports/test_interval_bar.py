# SPDX-License-Identifier: Apache-2.0
"""The interval of a change as a line of characters, and the text plot of several."""

from __future__ import annotations

import io
from dataclasses import replace

import pytest
from rich.cells import cell_len
from rich.console import Console

from comparisons import of_every_kind, verdict
from warpgauge.reports.interval_bar import HEADING, WIDTH, interval_bar, plot
from warpgauge.reports.terminal.report import render
from warpgauge.verdict.comparison import Change, Outcome, Verdict


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


def drawn(ratio: float, low: float, high: float, effect: float = 0.005) -> Verdict:
    outcome = Outcome.REGRESSION if ratio > 0 else Outcome.IMPROVED
    one = verdict(f"a/{ratio}", outcome, minimum_effect=effect)
    return replace(one, change=Change(ratio, low, high))


FAR = [drawn(3.83, 3.82, 3.84), drawn(-0.5, -0.51, -0.49), drawn(0.1, -0.2, 9.0)]


@pytest.mark.parametrize("one", FAR)
def test_a_change_of_a_pair_that_lies_far_out_is_a_point(one: Verdict) -> None:
    bar = plot([one]).splitlines()[2]
    assert "●" in bar
    assert "◀" not in bar
    assert "▶" not in bar
    assert "◀" not in plot([one])


def test_what_no_scale_holds_ends_in_an_arrow_and_the_legend_says_so() -> None:
    text = plot([drawn(1e300, 0.1, 1e305, effect=0.0)])
    assert text.splitlines()[2].count("▶") == 1
    assert text.splitlines()[-2].endswith("◀ ▶ farther out")
