# SPDX-License-Identifier: Apache-2.0
"""The share of the machine's limit, and times that are no result, as a person reads them."""

from __future__ import annotations

import pytest
from conftest import Loader
from rich.cells import cell_len
from test_terminal import line_of, shown
from test_terminal_values import values

from builders import failed, row, run

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
