# SPDX-License-Identifier: Apache-2.0
"""The share of the machine's limit, and times that are no result, as a person reads them."""

from __future__ import annotations

import pytest
from conftest import Loader
from rich.cells import cell_len
from test_terminal import line_of, shown
from test_terminal_values import values

from builders import failed, row, run, scaled

SLOW = {"throttled": 7.0, "sm_clock_hz": 1.62e9, "clock_event_reasons": 4.0}


def test_the_share_of_the_limit_appears_where_there_is_room(loaded: Loader) -> None:
    base = loaded(run([row("a/b")]))
    cand = loaded(run([row("a/b", scaled(2), bytes_per_second=4.2e12, limit_fraction=0.969)]))
    text = shown(base, cand, 120)
    assert "of limit" in text.splitlines()[line_of(text, "benchmark  ")]
    assert "97 %" in text
    for width in (80, 100):
        assert "of limit" not in shown(base, cand, width)


@pytest.mark.parametrize("limit", [None, float("nan")])
def test_no_column_stands_empty(loaded: Loader, limit: float | None) -> None:
    keys = {} if limit is None else {"limit_fraction": limit}
    base, cand = loaded(run([row("a/b")])), loaded(run([row("a/b", scaled(2), **keys)]))
    assert "of limit" not in shown(base, cand, 120)
    assert "of limit" not in values(cand)


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


def test_where_nothing_is_a_result_the_reasons_are_shown_all_the_same(loaded: Loader) -> None:
    names = ["a/b", "a/c"]
    base = loaded(run([row(name) for name in names]))
    text = shown(base, loaded(run([row(name, **SLOW) for name in names])))
    assert text.startswith("0 regressions, 0 improvements; 0 of 2 unchanged, 2 not comparable.")
    assert text.count("(power cap)") == 2


def test_values_alone_show_the_share_of_the_limit(loaded: Loader) -> None:
    rows = [
        row("elementwise/thrust_square/f32/n:268435456", bytes_per_second=4.2e12,
            limit_fraction=1.04),
        row("a/b"),
        failed("a/c", "boom"),
    ]  # fmt: skip
    text = values(loaded(run(rows)))
    assert max(map(cell_len, text.splitlines())) <= 80
    assert "of limit" in text.splitlines()[0]
    assert " 104 %  " in text.splitlines()[line_of(text, "thrust_square")]
    assert text.splitlines()[line_of(text, "  c ")].endswith("ERROR")


def test_values_that_are_no_result_say_so(loaded: Loader) -> None:
    text = values(loaded(run([row("a/b", **SLOW), failed("a/c", "boom")])))
    below = text.splitlines()[line_of(text, "  b ") + 1]
    assert below.strip().startswith("no result: the SM clock was lowered to 1.620 GHz")
