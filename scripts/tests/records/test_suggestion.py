# SPDX-License-Identifier: Apache-2.0
"""Who asks for what is not there is told what is near."""

from __future__ import annotations

import time

import pytest

from warpgauge.records.benchmark_filter import hint

NAMES = ["gemm/cublas/f32/n:1024", "gemm/tiled/f32/n:256", "memcpy/h2d_pinned/bytes:4096"]


@pytest.mark.parametrize(
    ("asked", "told"),
    [
        ("gemn", ": did you mean 'gemm'?"),
        ("^memcopy/", ": did you mean 'memcpy'?"),
        ("gemm/tilde/f32/n:256", ": did you mean 'gemm/tiled/f32/n:256'?"),
        *((far, "") for far in ("softmax", "-.*", "", "x" * 10_000)),
    ],
)
def test_a_slip_of_the_pen_is_answered_with_the_nearest_name(asked: str, told: str) -> None:
    assert hint(asked, NAMES) == told


def test_a_foreign_name_does_nothing_but_be_read() -> None:
    assert hint("gemm\x1b[2", ["gemm\x1b[2J/a"]).isprintable()


def test_ten_thousand_names_take_no_time() -> None:
    began = time.monotonic()
    hint("memcopy/h2d", [f"family_{index}/variant_{index}/n:{index}" for index in range(10_000)])
    assert time.monotonic() - began < 2.0
