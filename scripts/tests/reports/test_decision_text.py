# SPDX-License-Identifier: Apache-2.0
"""The minimum effects that were in force read as a person would say them."""

from __future__ import annotations

from comparisons import comparison, verdict
from warpgauge.records.model import Clock
from warpgauge.reports.decision_text import minimum_effects


def test_one_size_a_clock() -> None:
    host = verdict("b", clock=Clock.HOST, minimum_effect=0.2)
    assert minimum_effects(comparison([verdict("a"), host])) == (
        "1 % of device time and 20 % of host time"
    )


def test_the_latency_of_siblings_is_named_and_not_the_range_that_it_makes() -> None:
    small = [verdict(f"a/{ns}", seconds=ns * 1e-9, minimum_effect=150 / ns) for ns in (520, 3000)]
    words = "3 % or 150 ns, whichever is more, of device time"
    assert minimum_effects(comparison([verdict("a", minimum_effect=0.03), *small])) == words
    assert minimum_effects(comparison(small)) == words
