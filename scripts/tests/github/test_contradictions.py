# SPDX-License-Identifier: Apache-2.0
"""A verdict that contradicts its own numbers is forged; no honest comparison has one."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import simulation
from comparisons import verdict
from warpgauge.reports.json_input import contradicts_itself
from warpgauge.statistics.error_rates import ALPHA
from warpgauge.verdict.comparison import Change, Outcome
from warpgauge.verdict.judge import judge

# Slower by 5 % at least, surely, and far more than what counts.
SLOWER = replace(verdict("a/b"), change=Change(0.06, 0.05, 0.07))


@given(
    st.sampled_from(sorted(simulation.NOISES)),
    st.sampled_from(sorted(simulation.SETTINGS)),
    st.lists(st.floats(-0.5, 0.5), min_size=1, max_size=12),
    st.integers(0, 2**32 - 1),
)
@settings(deadline=None, max_examples=150)
def test_no_simulated_suite_contradicts_itself(
    noise: str, setting: str, changes: list[float], seed: int
) -> None:
    kinds = simulation.NOISES[noise], simulation.SETTINGS[setting]
    found = judge(*simulation.suite(np.random.default_rng(seed), *kinds, np.array(changes)))
    assert not any(contradicts_itself(one, found.alpha) for one in found.verdicts)
    # But where a regression is called a pass, it does, unless interval and bound leave room.
    for one in found.verdicts:
        if one.outcome is Outcome.REGRESSION and one.change is not None:
            forged = replace(one, outcome=Outcome.PASS)
            surely = one.change.low > (one.minimum_effect or 0.0)
            unbounded = (one.bound or 0.0) > (one.tolerance or 0.0)
            assert contradicts_itself(forged, found.alpha) is (surely or unbounded)


def test_what_surely_got_slower_and_is_called_otherwise_contradicts_itself() -> None:
    for outcome in Outcome:  # undecided as where the host itself has moved
        forged = outcome in (Outcome.PASS, Outcome.IMPROVED)
        assert contradicts_itself(replace(SLOWER, outcome=outcome), ALPHA) is forged


@pytest.mark.parametrize(
    "honest",
    [
        {"accepted": "known, until 2030-01-01"},
        {"name": "host/memcpy", "counters": {"host_clock": 1.0}},
        *({"p": ALPHA}, {"p": None}, {"minimum_effect": 0.05}),
        *({"change": change} for change in (None, Change(-0.06, -0.07, -0.05))),
    ],
)
def test_what_the_rule_allows_is_no_contradiction(honest: dict[str, Any]) -> None:
    assert not contradicts_itself(replace(SLOWER, **honest), ALPHA)
