# SPDX-License-Identifier: Apache-2.0
"""What a PASS is worth is said in one sentence."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import pytest

from warpgauge.records.model import Clock
from warpgauge.verdict.comparison import Outcome, Verdict
from warpgauge.verdict.detectable_effect import least, sentence


def verdicts(*sizes: float | None, family: str = "f", clock: Clock = Clock.HOST) -> list[Verdict]:
    verdict = Verdict("", Outcome.PASS, clock, counters={"host_clock": 1.0})
    return [
        replace(verdict, name=f"{family}/{number}", detectable=size)
        for number, size in enumerate(sizes)
    ]


def test_each_clock_has_its_own_figures() -> None:
    device = verdicts(0.02, 0.03, 0.04, clock=Clock.DEVICE)
    host = verdicts(0.2, 0.5, 300.0, family="sync")
    said = (
        "Device time: a change of 3 % would be found in half of the 3 benchmarks, 4 % in nine of "
        "ten, 4 % in the noisiest (f/2). Host time: a change of 50 % would be found in half of "
        "them, but not even ten times the time would be found in 1 of the 3 benchmarks (sync/2)."
    )
    assert sentence([*host, *device]) == said
    assert sentence([*verdicts(0.2), *device[:1]]) == (
        "Device time: a change of 2 % would be found nine times in ten. Host time: a change of "
        "20 % would be found nine times in ten."
    )


@pytest.mark.parametrize(
    ("sizes", "said"),
    [
        ([0.01 * (number + 1) for number in range(20)],
         "A change of 10 % would be found in half of the 20 benchmarks, 18 % in nine of ten, "
         "20 % in the noisiest (f/19)."),
        ((0.02, 0.03, 0.04, 300.0, 200.0),
         "A change of 4 % would be found in half of them, but not even ten times the time would be "
         "found in 2 of the 5 benchmarks (f/3)."),
        ((0.02, 300.0, 200.0),
         "Not even ten times the time would be found in 2 of the 3 benchmarks, f/1 among them."),
        ((9.5,), "Not even ten times the time would be found nine times in ten."),
    ],
)  # fmt: skip
def test_half_nine_of_ten_and_the_worst_are_named(sizes: Sequence[float], said: str) -> None:
    assert sentence(verdicts(*sizes)) == said


def test_of_one_benchmark_it_is_said_what_would_be_seen() -> None:
    assert least(0.12) == "only a change of 12 %"
    assert least(50.0) == "not even ten times the time"


@pytest.mark.parametrize("nothing", [[], verdicts(None), verdicts(0.5, family="host")])
def test_without_a_test_nothing_is_said(nothing: list[Verdict]) -> None:
    assert sentence(nothing) == ""
