# SPDX-License-Identifier: Apache-2.0
"""Who asks for what is not there is told what is."""

from __future__ import annotations

import time

import pytest

from warpgauge.records.benchmark_filter import hint

NAMES = ["gemm/cublas/f32/n:1024", "gemm/tiled/f32/n:256", "memcpy/h2d_pinned/bytes:4096"]


@pytest.mark.parametrize(
    ("asked", "meant"),
    [
        ("gemn", "'gemm'"),
        ("GEMM", "'gemm'"),
        ("^memcopy/", "'memcpy'"),
        ("cublass$", "'cublas'"),
        ("gemm/tilde", "'gemm/tiled'"),
        ("memcpy/h2d_pined", "'memcpy/h2d_pinned'"),
    ],
)
def test_a_slip_of_the_pen_is_answered_with_the_nearest_part_of_a_name(
    asked: str, meant: str
) -> None:
    assert hint(asked, NAMES).startswith(f": did you mean {meant}")
    assert hint(asked, NAMES).endswith("?")


def test_several_near_ones_are_all_named() -> None:
    names = ["gemm/tiled", "gemm/tiles_2", "gemm/naive"]
    assert hint("tiles", names) == ": did you mean 'tiles_2' or 'tiled'?"


@pytest.mark.parametrize("asked", ["softmax", "-.*", "", "-gemm|memcpy", "x" * 10_000])
def test_what_is_like_nothing_is_answered_with_the_families(asked: str) -> None:
    assert hint(asked, NAMES) == ": the families are gemm and memcpy"


def test_one_family_and_many_are_named_too() -> None:
    assert hint("x", ["host/a", "host/b"]) == ": the only family is host"
    many = [f"family_{index:02}/a" for index in range(20)]
    assert hint("x", many).endswith("family_05, family_06 and 13 more")
    assert hint("x", []) == ""


def test_a_foreign_name_does_nothing_but_be_read() -> None:
    assert hint("gemm\x1b[2", ["gemm\x1b[2J/a"]).isprintable()
    assert hint("nothing", ["\x1b[2J/a"]).isprintable()


@pytest.mark.timed
def test_a_name_of_thousands_of_parts_is_nobodys_slip() -> None:
    start = time.perf_counter()
    assert hint("zzzz", ["a/" * 2000 + str(index) for index in range(1000)]).endswith("is a")
    assert time.perf_counter() - start < 0.5


def test_ten_thousand_names_take_no_time() -> None:
    began = time.monotonic()
    hint("memcopy/h2d", [f"family_{index}/variant_{index}/n:{index}" for index in range(10_000)])
    assert time.monotonic() - began < 2.0
