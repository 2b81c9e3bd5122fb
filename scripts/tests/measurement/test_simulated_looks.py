# SPDX-License-Identifier: Apache-2.0
"""However often a run looks, unchanged code alarms as rarely as promised, and more is found."""

from __future__ import annotations

import math

import pytest

from simulated_budget import looked, spent, until_it_looks_changed
from simulation import size
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


def test_a_second_look_is_what_finds_five_percent_through_the_scatter_of_host_calls() -> None:
    assert looked(0.06, 0.05, 12).slower >= 0.98
    assert looked(0.04, 0.05, 12, second=False).slower < 0.5


@pytest.mark.parametrize("sd", [0.02, 0.06])
def test_unchanged_code_alarms_as_rarely_as_promised_over_both_looks(sd: float) -> None:
    found = looked(sd, 0.0, RUNS)
    assert found.alarmed <= 0.01 + 3 * math.sqrt(0.01 / RUNS)
    assert found.inconclusive <= 0.02
