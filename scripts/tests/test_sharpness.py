# SPDX-License-Identifier: Apache-2.0
"""What a PASS is worth is said in one sentence."""

from __future__ import annotations

import pytest

from warpgauge.comparison import Outcome, Verdict
from warpgauge.model import Clock
from warpgauge.sharpness import sentence


def verdicts(*sizes: float | None, family: str = "f") -> list[Verdict]:
    return [
        Verdict(f"{family}/{number}", Outcome.PASS, Clock.DEVICE, detectable=size)
        for number, size in enumerate(sizes)
    ]


def test_half_nine_of_ten_and_the_worst_are_named() -> None:
    said = sentence(verdicts(*(0.01 * (number + 1) for number in range(20))))
    assert said == (
        "A change of 10 % would be found in half of the 20 benchmarks, of 18 % in nine of ten, "
        "and in f/19 only one of 20 %."
    )


def test_of_a_single_benchmark_there_is_one_size() -> None:
    assert sentence(verdicts(0.02)) == "A change of 2 % would be found nine times in ten."


@pytest.mark.parametrize("nothing", [[], verdicts(None), verdicts(0.5, family="host")])
def test_without_a_test_nothing_is_said(nothing: list[Verdict]) -> None:
    assert sentence(nothing) == ""
