# SPDX-License-Identifier: Apache-2.0
"""The first line of every format, and the minimum effects that were in force."""

from __future__ import annotations

from dataclasses import replace

from comparisons import comparison, of_every_kind, verdict
from warpgauge.records.model import Clock
from warpgauge.reports.decision_text import minimum_effects
from warpgauge.reports.headline import headline
from warpgauge.reports.ranking import rank
from warpgauge.verdict.comparison import Outcome

SLOWER = Outcome.REGRESSION


def test_every_outcome_is_counted_and_the_worst_named() -> None:
    assert str(headline(of_every_kind())) == (
        "2 regressions, 1 improvement; 2 of 10 unchanged, 1 accepted, 1 inconclusive, "
        "1 not comparable, 1 failed, 1 missing, 1 new. Worst: gemm/naive/n:64 (+30.0 %)."
    )
    inert = str(headline(comparison([verdict("a\x1b[2J\n", SLOWER, 0.1)])))
    assert "a\\x1b[2J\\n (+10.0 %)" in inert


def test_a_refusal_is_said_instead_but_hides_no_regression() -> None:
    assert str(headline(comparison([], refusal="Other GPUs."))) == "Not compared. Other GPUs."
    found = headline(comparison([verdict("a", SLOWER, 0.1)], refusal="Other GPUs."))
    assert str(found).startswith("1 regression")


def test_what_fails_on_its_resources_is_called_no_slower_than_it_is() -> None:
    gated = replace(verdict("a", SLOWER, 0.004), by_time=Outcome.PASS)
    assert str(headline(comparison([gated]))).endswith("Worst: a (by its resources).")
    found = comparison([replace(gated, name="b"), verdict("c", SLOWER, 0.002)])
    assert str(headline(found)).endswith("Worst: c (+0.20 %).")
    assert [one.name for one in sorted(found.verdicts, key=rank)] == ["c", "b"]


def test_minimum_effects_are_one_size_a_clock_and_the_latency_of_siblings_is_no_range() -> None:
    host = verdict("b", clock=Clock.HOST, minimum_effect=0.2)
    both = "1 % of device time and 20 % of host time"
    assert minimum_effects(comparison([verdict("a"), host])) == both
    small = [verdict(f"a/{ns}", seconds=ns * 1e-9, minimum_effect=150 / ns) for ns in (520, 3000)]
    words = "3 % or 150 ns, whichever is more, of device time"
    assert minimum_effects(comparison([verdict("a", minimum_effect=0.03), *small])) == words
    assert minimum_effects(comparison(small)) == words
