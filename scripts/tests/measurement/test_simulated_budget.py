# SPDX-License-Identifier: Apache-2.0
"""However often a run with a budget looks, unchanged code alarms as rarely as promised."""

from __future__ import annotations

import pytest

from simulated_budget import spent, until_it_looks_changed
from simulated_size import size
from warpgauge.records.model import Clock

# Promised, and looser than the gate's own: so that a few hundred runs can tell.
ALPHA = 0.08
RUNS = size(400)


@pytest.mark.parametrize("paired", [True, False])
def test_unchanged_code_alarms_no_more_often_than_promised(paired: bool) -> None:
    found = spent(0.02, 0.0, RUNS, paired=paired, clock=Clock.DEVICE, alpha=ALPHA)
    assert found.alarmed <= ALPHA
    assert found.rounds > 50  # after many looks


def test_measuring_until_something_looks_changed_would_break_the_promise() -> None:
    left = until_it_looks_changed
    found = spent(0.02, 0.0, RUNS, paired=True, clock=Clock.DEVICE, alpha=ALPHA, left=left)
    assert found.alarmed > ALPHA


@pytest.mark.parametrize(("sd", "clock"), [(0.04, Clock.HOST), (0.005, Clock.DEVICE)])
def test_a_pair_within_a_budget_keeps_the_gates_own_promise(sd: float, clock: Clock) -> None:
    assert spent(sd, 0.0, RUNS, paired=True, clock=clock).alarmed <= 0.01 + 0.015


@pytest.mark.parametrize(
    ("sd", "change", "clock"), [(0.04, 0.05, Clock.HOST), (0.005, 0.01, Clock.DEVICE)]
)
def test_what_is_sought_is_found_through_the_scatter(
    sd: float, change: float, clock: Clock
) -> None:
    assert spent(sd, change, 12, paired=True, clock=clock).slower >= 0.97


def test_more_time_finds_more() -> None:
    shares = [spent(0.04, 0.05, 12, paired=True, most=most).slower for most in (5, 18, 84)]
    assert shares[0] < 0.1 < shares[1] < shares[2]
