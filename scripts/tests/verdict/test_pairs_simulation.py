# SPDX-License-Identifier: Apache-2.0
"""Simulated pairs: the promises of statistics.md hold by every kind of noise, in every look."""

from __future__ import annotations

import math

import pytest

from simulated_pairs import (
    BY_THE_TEST_ALONE,
    NOISES,
    PAIRS,
    RUNS,
    SLOWER,
    SUITES,
    TOO_SLOW,
    cell,
    sequential,
)
from warpgauge.statistics.error_rates import ALPHA, BOUND_CONFIDENCE, CONFIDENCE
from warpgauge.verdict.comparison_settings import ComparisonSettings

DEFAULT = ComparisonSettings()

# Shares of a true 5 % that are found after 8, 12, 28 and 84 pairs, where processes scatter by 1 %.
FOUND = {
    "normal": (0.65, 0.95, 0.99, 0.99),
    "heavy tails": (0.0, 0.4, 0.85, 0.98),
    "5 % disturbed": (0.0, 0.1, 0.4, 0.98),
    "10 % disturbed": (0.0, 0.0, 0.1, 0.9),
    "20 % disturbed": (0.0, 0.0, 0.0, 0.4),
    "two states": (0.0, 0.1, 0.65, 0.98),
    "ticks of 32 ns": (0.75, 0.75, 0.75, 0.75),  # of 1 µs a tick is 3 %
    "drift": (0.4, 0.95, 0.99, 0.99),
    "order effect": (0.99, 0.99, 0.99, 0.99),
    "correlation 0.3": (0.25, 0.8, 0.99, 0.99),
    "correlation 0.6": (0.0, 0.0, 0.95, 0.99),
}


def most(count: int) -> float:
    """Of so many suites, that may alarm: the promise, and three standard errors of so few."""
    return ALPHA * count + 3.0 * math.sqrt(ALPHA * count)


@pytest.mark.parametrize("noise", NOISES)
def test_in_one_look_the_rule_errs_as_rarely_as_it_says_and_finds_what_it_can(noise: str) -> None:
    least = CONFIDENCE if noise != "correlation 0.6" else CONFIDENCE - 0.02
    cells = [cell(noise, pairs) for pairs in PAIRS]
    for pairs, one, found in zip(PAIRS, cells, FOUND[noise], strict=True):
        print(f"\n{noise}, {pairs} pairs: {one}")
        assert one.alarmed * SUITES <= most(SUITES)
        assert one.exceeded <= 1.0 - BOUND_CONFIDENCE
        assert one.held >= least
        assert one.found >= found
    assert sum(one.alarmed for one in cells) * SUITES <= most(SUITES * len(PAIRS))


@pytest.mark.parametrize("noise", NOISES)
def test_however_often_it_looks_the_rule_errs_as_rarely(noise: str) -> None:
    unchanged = sequential(noise, 0.0, BY_THE_TEST_ALONE, RUNS)
    too_slow = sequential(noise, TOO_SLOW, DEFAULT, RUNS)
    print(f"\n{noise}: {unchanged}; {too_slow}")
    assert unchanged.alarmed * RUNS <= most(RUNS)
    assert too_slow.passed <= 1.0 - BOUND_CONFIDENCE
    if "2" not in noise:  # neither "20 % disturbed" nor ticks of 32 ns
        assert unchanged.passed >= 0.8
        assert too_slow.slower >= 0.7


def test_looks_stop_early_where_it_is_quiet_and_find_more_where_it_is_not() -> None:
    quiet, noisy = (sequential(one, SLOWER, DEFAULT, RUNS) for one in ("normal", "two states"))
    assert quiet.slower >= 0.99
    assert quiet.pairs < 12.0
    assert noisy.slower >= 0.95
    assert noisy.pairs > 2.0 * quiet.pairs
