# SPDX-License-Identifier: Apache-2.0
"""The text plot of a comment: each change is drawn, however far out it lies."""

from __future__ import annotations

from dataclasses import replace

import pytest

from comparisons import comparison, verdict
from warpgauge.reports.interval_bar import plot
from warpgauge.reports.markdown.report import render
from warpgauge.verdict.comparison import Change, Evidence, Outcome, Verdict


def drawn(ratio: float, low: float, high: float, effect: float = 0.005) -> Verdict:
    outcome = Outcome.REGRESSION if ratio > 0 else Outcome.IMPROVED
    one = verdict(f"a/{ratio}", outcome, minimum_effect=effect)
    return replace(one, change=Change(ratio, low, high))


FAR = [drawn(3.83, 3.82, 3.84), drawn(-0.5, -0.51, -0.49), drawn(0.1, -0.2, 9.0)]


@pytest.mark.parametrize("one", FAR)
def test_a_change_of_a_pair_that_lies_far_out_is_a_point(one: Verdict) -> None:
    bar = plot([one]).splitlines()[2]
    assert "●" in bar
    assert "◀" not in bar
    assert "▶" not in bar
    assert "◀" not in plot([one])


def test_what_no_scale_holds_ends_in_an_arrow_and_the_legend_says_so() -> None:
    text = plot([drawn(1e300, 0.1, 1e305, effect=0.0)])
    assert text.splitlines()[2].count("▶") == 1
    assert text.splitlines()[-2].endswith("◀ ▶ farther out")


def test_the_old_share_of_the_limit_is_told_of_a_pair_only() -> None:
    one = verdict("a", Outcome.REGRESSION, 0.1, limit_fraction=0.4)
    one = replace(one, baseline_counters={"limit_fraction": 0.39})
    screened, paired = (
        render(comparison([replace(one, evidence=evidence)])).replace("\u00a0", " ")
        for evidence in (Evidence.SCREENED, Evidence.PAIRED)
    )
    assert "| 40 % |" in screened
    assert "39 %" not in screened
    assert "| 39 % → 40 % |" in paired
