# SPDX-License-Identifier: Apache-2.0
"""An expression is exact arithmetic of the axes; anything else is refused at once."""

from __future__ import annotations

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from warpgauge.external.expressions import LARGEST, ExpressionError, evaluate

POINT = {"n": 4097, "m": 3, "zero": 0}


@pytest.mark.parametrize(
    ("expression", "value"),
    [
        (7, 7), ("7", 7), (" n ", 4097), ("n + m * 2", 4103), ("(n + m) * 2", 8200),
        ("n / 256", 16), ("n // 256", 16), ("ceil_div(n, 256)", 17), ("ceil_div(4096, 256)", 16),
        ("min(n, m, 2)", 2), ("max(n, m)", 4097), ("10 - m - 4", 3), ("-m + 10", 7),
        ("0 - 7 / 2 + 4", 1), ("(0 - 7) / 2 + 4", 0), ("ceil_div(0 - 7, 2) + 3", 0),
        (str(LARGEST), LARGEST), (f"{LARGEST} * 3 - {LARGEST} * 2", LARGEST),
        ("zero / n", 0), ("(\n n)", 4097), ("0x10", 16),
    ],
)  # fmt: skip
def test_arithmetic_is_exact_and_division_rounds_down(expression: int | str, value: int) -> None:
    assert evaluate(expression, POINT) == value


@given(st.integers(0, 2**62), st.integers(1, 2**62))
def test_ceil_div_is_the_least_multiple_that_is_enough(n: int, d: int) -> None:
    blocks = evaluate("ceil_div(n, d)", {"n": n, "d": d})
    assert (blocks - 1) * d < n <= blocks * d


@pytest.mark.parametrize(
    ("expression", "fault"),
    [
        ("n / zero", "divides by zero"),
        ("ceil_div(n, zero)", "divides by zero"),
        ("m - n", "is -4094, not between 0 and 9223372036854775807"),
        (-1, "is not between"),
        (f"{LARGEST} + 1", "is 9223372036854775808, not between"),
        ("*".join(["n"] * 240), "is not between"),
        ("k", "names the unknown axis 'k'"),
        ("", "is not an expression"),
        ("n n", "is not an expression"),
        ("n; m", "is not an expression"),
        ("0777", "is not an expression"),
        ("n\0", "is not an expression"),
        ("9**9**9", "is not an expression of a manifest"),
        ("n % 2", "is not an expression of a manifest"),
        ("1 << 4000000000", "is not an expression of a manifest"),
        ("2.5", "is not an expression of a manifest"),
        ("1e3", "is not an expression of a manifest"),
        ("True", "is not an expression of a manifest"),
        ("'a' * 3", "is not an expression of a manifest"),
        ("min(n)", "is not an expression of a manifest"),
        ("min(*[1, 2])", "is not an expression of a manifest"),
        ("ceil_div(n, m, 2)", "is not an expression of a manifest"),
        ("ceil_div(n, b=2)", "is not an expression of a manifest"),
        ("min", "names the unknown axis 'min'"),
        ("n.bit_length()", "is not an expression of a manifest"),
        ("__import__('os').system('true')", "is not an expression of a manifest"),
        ("(n := 3)", "is not an expression of a manifest"),
        ("[n for n in (1, 2)]", "is not an expression of a manifest"),
        ("n if m else 2", "is not an expression of a manifest"),
        ("not n", "is not an expression of a manifest"),
        ("n and m", "is not an expression of a manifest"),
        ("n < m", "is not an expression of a manifest"),
        ("(" * 100_000 + "n" + ")" * 100_000, "has more than 500 characters"),
        ("9" * 100_000, "has more than 500 characters"),
    ],
)  # fmt: skip
def test_what_is_no_number_is_refused_at_once(expression: int | str, fault: str) -> None:
    began = time.process_time()
    with pytest.raises(ExpressionError) as caught:
        evaluate(expression, POINT)
    said, remedy = caught.value.args
    assert said.startswith(fault)
    assert remedy
    assert time.process_time() - began < 0.5


@pytest.mark.parametrize("text", ["(" * 249 + "1" + ")" * 249, "-" * 499 + "1", "1" + "+1" * 249])
def test_what_is_nested_deeply_has_a_value_or_is_refused(text: str) -> None:
    try:
        assert evaluate(text, {}, low=-1) in (1, -1, 250)
    except ExpressionError as fault:
        assert "nested" in str(fault) or "not an expression" in str(fault)


@given(st.text(max_size=40))
def test_any_text_is_a_value_or_one_refusal(text: str) -> None:
    try:
        assert 0 <= evaluate(text, POINT) <= LARGEST
    except ExpressionError as fault:
        assert str(fault).isprintable()
