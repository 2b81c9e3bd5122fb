# SPDX-License-Identifier: Apache-2.0
"""The minimum effects that were in force read as a person would say them."""

from __future__ import annotations

from comparisons import comparison, record, verdict
from warpgauge.records.model import Clock, Source
from warpgauge.reports.decision_text import minimum_effects
from warpgauge.verdict.comparison import Evidence


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


def test_sizes_that_differ_for_another_reason_are_a_range() -> None:
    asked = [verdict("a", minimum_effect=0.02), verdict("b", minimum_effect=0.07)]
    assert minimum_effects(comparison(asked)) == "2 to 7 % of device time"


def test_what_was_measured_in_turns_has_a_size_of_its_own() -> None:
    sibling = [verdict("a", minimum_effect=0.03), verdict("b", seconds=5e-7, minimum_effect=0.3)]
    again = verdict("c", minimum_effect=0.005, evidence=Evidence.PAIRED)
    assert minimum_effects(comparison([*sibling, again])) == (
        "3 % or 150 ns, whichever is more, of device time on, "
        "of what was measured again in turns from 0.5 % of device time"
    )
    assert minimum_effects(comparison([again])) == "0.5 % of device time"


def test_plain_files_have_one_clock_and_nothing_timed_has_no_size() -> None:
    plain = record(source=Source.GOOGLE_BENCHMARK)
    assert minimum_effects(comparison([verdict("a")], cand=plain)) == "1 % of the time"
    assert minimum_effects(comparison([])) == ""
