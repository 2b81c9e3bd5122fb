# SPDX-License-Identifier: Apache-2.0
"""The first line of every format, and the minimum effects that were in force."""

from __future__ import annotations

import math
from dataclasses import replace

from comparisons import comparison, of_every_kind, record, verdict
from warpgauge.records.model import Clock, Source
from warpgauge.reports.decision_text import minimum_effects, rounded_up, sentences
from warpgauge.reports.headline import headline, how_found
from warpgauge.reports.ranking import rank
from warpgauge.verdict.comparison import Evidence, Outcome

SLOWER = Outcome.REGRESSION


def test_every_outcome_is_counted_and_the_worst_named() -> None:
    assert str(headline(of_every_kind())) == (
        "2 regressions, 1 improvement; 2 of 10 unchanged (at most +0.30 %), 1 accepted, "
        "1 inconclusive, 1 not comparable, 1 failed, 1 missing, 1 new, 1 skipped. "
        "Worst: gemm/naive/n:64 (+30.0 %)."
    )
    inert = str(headline(comparison([verdict("a\x1b[2J\n", SLOWER, 0.1)])))
    assert "a\\x1b[2J\\n (+10.0 %)" in inert


def test_each_clock_has_its_largest_bound_but_not_in_a_plain_file() -> None:
    rows = [
        verdict("a/b", bound=0.002), verdict("a/c", bound=-0.1),
        verdict("b/c", bound=0.02, clock=Clock.HOST), verdict("b/d", accepted="known", bound=0.3),
    ]  # fmt: skip
    text = str(headline(comparison(rows)))
    assert "3 of 4 unchanged (at most +0.20 % device, +2.0 % host), 1 accepted" in text
    plain = record(source=Source.GOOGLE_BENCHMARK)
    assert "(at most +2.0 %)" in str(headline(comparison(rows, base=plain, cand=plain)))


def test_a_bound_is_rounded_up_and_none_is_beyond_all_reason() -> None:
    bounds = (0.01004, 0.0100, 0.00991, 0.0, -0.00999, 1.234, 20.0, math.inf)
    assert [rounded_up(bound) for bound in bounds] == [
        "+1.1 %", "+1.0 %", "+1.0 %", "0.00 %", "−0.90 %", "+124 %", *(["more than +999 %"] * 2),
    ]  # fmt: skip


def test_how_the_changes_were_found_names_each_kind_of_evidence() -> None:
    kinds = {kind: verdict(kind.value, SLOWER, 0.1, evidence=kind) for kind in Evidence}
    screened, paired, lock_step = (kinds[kind] for kind in [*Evidence][1:])
    assert how_found(comparison([lock_step, verdict("a")])).startswith("Confirmed in lock-step: ")
    assert how_found(comparison([paired])).startswith("Confirmed in alternating processes ")
    assert "1 in lock-step, 1 in alternating processes" in how_found(
        comparison([paired, lock_step])
    )
    assert "2 of the changes are confirmed" in how_found(comparison([screened, paired, lock_step]))


def test_the_rule_tells_the_tolerance_of_each_clock() -> None:
    host = verdict("b", clock=Clock.HOST)
    told = sentences(comparison([verdict("a"), host]))
    assert told.endswith("PASS: slower by at most 1 % of device time and 3 % of host time, "
                         "with 99 % confidence.")  # fmt: skip


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
    small = [verdict(f"a/{ns}", seconds=ns * 1e-9, minimum_effect=250 / ns) for ns in (520, 3000)]
    chain = verdict("c", seconds=16e-6, minimum_effect=0.25)
    chain = replace(chain, baseline_counters={"kernels": 16.0})
    words = "3 % or 250 ns per kernel, whichever is more, of device time"
    assert minimum_effects(comparison([verdict("a", minimum_effect=0.03), *small])) == words
    assert minimum_effects(comparison([*small, chain])) == words
    asked = replace(chain, minimum_effect=0.1)  # by a policy
    assert minimum_effects(comparison([*small, asked])) == "8.3 to 48 % of device time"
