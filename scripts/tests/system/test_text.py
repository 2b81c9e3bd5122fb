# SPDX-License-Identifier: Apache-2.0
"""Quantities read as a person would write them; foreign text does nothing but be read."""

from __future__ import annotations

import re

import pytest

from warpgauge.records.counters import speed
from warpgauge.system.text import (
    binary,
    duration,
    inert,
    percent,
    quantity,
    quoted,
    span,
    typed,
)

MINUS = "\N{MINUS SIGN}"


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        *((0.613e-6, "613.0 ns"), (0.9999e-9, "0.9999 ns")),
        *((32.8e-6, "32.80 µs"), (999.96e-9, "1.000 µs"), (1.09192e-3, "1.092 ms")),
        *((1.0, "1.000 s"), (12345.0, "12345 s"), (1e-15, "1e-15 s"), (1e300, "1e+300 s")),
    ],
)
def test_durations(seconds: float, text: str) -> None:
    assert duration(seconds) == text


@pytest.mark.parametrize(
    ("fraction", "text"),
    [
        *((0.0, "0.00 %"), (-0.00001, "0.00 %"), (-0.0004, f"{MINUS}0.04 %")),
        *((0.051, "+5.1 %"), (0.0999, "+10.0 %"), (2.0, "+200 %"), (1e6, ">+9999 %")),
    ],
)
def test_changes(fraction: float, text: str) -> None:
    assert percent(fraction) == text


def test_sizes_and_spans() -> None:
    shown = [percent(fraction, sign=False) for fraction in (0.03, 0.1432, 2.0)]
    assert shown == ["3 %", "14 %", "200 %"]
    assert span(-0.002, 0.001) == f"{MINUS}0.20 … +0.10 %"
    assert span(0.00001, 0.00002) == "0.00 %"


def test_rates_carry_the_prefix_that_the_field_uses_and_arithmetic_goes_first() -> None:
    shown = [quantity(value, "B/s") for value in (4.287e12, 55.5e9, 12.0)]
    assert shown == ["4287 GB/s", "55.50 GB/s", "12.00 B/s"]
    assert quantity(51.3e12, "FLOP/s") == "51.30 TFLOP/s"
    both = {"bytes_per_second": 1e9, "flops_per_second": 2e12}
    rates = [speed(both), speed({"bytes_per_second": 1e9}), speed({})]
    assert rates == ["2.000 TFLOP/s", "1.000 GB/s", ""]


@pytest.mark.parametrize("hostile", ["\x1b[2J", "a\rb", "a\nb", "\u202egnp", "\x07", "\ud800"])
def test_no_control_character_survives_and_a_long_string_is_cut(hostile: str) -> None:
    assert inert(hostile).isprintable()
    for shown in (quoted, typed):
        assert shown(hostile).isprintable()
        assert len(shown("x" * 1000)) < 70


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("\u05d0\u0628\u0660", r"\u05d0\u0628\u0660"),  # Hebrew, Arabic and its digits
        ("a\u202eb\u2066c\u200f\u061c", r"a\u202eb\u2066c\u200f\u061c"),
        ("e\u0301\u20dd\u0903", r"e\u0301\u20dd\u0903"),  # Mn, Me, Mc
        ("\u200b\u2060\u00ad\ufeff\ufe0f", r"\u200b\u2060\xad\ufeff\ufe0f"),
        ("\u3164\u2800\u2028\u00a0\ue000", r"\u3164\u2800\u2028\xa0\ue000"),
        ("\U000e0041\U0001d159", r"\U000e0041\U0001d159"),
        ("Größe 中文 かな 한글 µ→∞ 😀", "Größe 中文 かな 한글 µ→∞ 😀"),
    ],
    ids=["right to left", "direction", "marks", "no width", "blank", "tag", "readable"],
)
def test_what_is_not_seen_or_moves_its_neighbours_is_an_escape(text: str, shown: str) -> None:
    assert inert(text) == shown
    assert quoted(text) == f"'{shown}'"
    assert typed(text) == f"'{shown}'"


def test_ordinary_names_and_what_was_typed_are_left_as_they_are() -> None:
    assert inert("gemm/cublas/bf16/n:4096 µ [b]") == "gemm/cublas/bf16/n:4096 µ [b]"
    assert typed(r"n:\d+'s") == r"'n:\d+'s'"


def test_a_command_of_a_build_servers_log_is_broken_wherever_it_stands() -> None:
    told = inert("x##[add-mask]y ###[error] ##vso[task.setvariable]z ##teamcity[x] ####")
    assert re.findall(r"##\w*\[", told) == []
    assert told.endswith(" ####")
    assert inert(inert("##[")) == inert("##[")


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0, "0"),
        (1000, "1000"),
        (1024, "1Ki"),
        (1536, "1536"),
        (3 << 20, "3Mi"),
        (2**63, "8Ei"),
        (0.5, "0.5"),
        (1e-9, "1e-09"),
        (1024.0, "1024"),
        (1e300, "1e+300"),
    ],
)
def test_a_size_is_written_in_the_largest_unit_that_it_is_whole_in(
    value: int | float, text: str
) -> None:
    assert binary(value) == text
