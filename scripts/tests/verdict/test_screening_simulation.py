# SPDX-License-Identifier: Apache-2.0
"""Screening of simulated suites: rare false alarms, and bounds that hold, whatever the noise."""

from __future__ import annotations

import math

import numpy as np
import pytest

from simulated_screening import (
    BASELINES,
    KINDS,
    PROCESSES,
    ROWS,
    SUITES,
    bounds,
    drawn,
    records,
    simulated,
)
from warpgauge.statistics.error_rates import ALPHA

# Of rows whose bound is wrong, or that pass although they are too slow.
WRONG = 0.01


@pytest.mark.parametrize(
    ("baseline", "processes"),
    [("this boot", 3), ("1 other boot", 3), ("4 other boots", PROCESSES), ("2 other GPUs", 3)],
)
@pytest.mark.parametrize("kind", KINDS)
def test_unchanged_suites_hardly_alarm_and_bounds_hold(
    kind: str, baseline: str, processes: int
) -> None:
    cell = simulated(KINDS[kind], BASELINES[baseline], processes)
    print(f"\n{kind}, {baseline}, {processes}: {cell}")
    assert cell.alarmed <= ALPHA + 3 * math.sqrt(ALPHA / SUITES)
    few = 3 * math.sqrt(WRONG / (SUITES * ROWS / 2))
    assert cell.exceeded <= WRONG + few
    assert cell.missed <= WRONG + few


@pytest.mark.parametrize("place", ["boots", "GPUs"])
def test_another_session_or_gpu_never_makes_a_baseline_blinder(place: str) -> None:
    kind, widths = KINDS["normal"], []
    counts = (1, 2, 4) if place == "boots" else (1, 2, 3, 4)
    for count in counts:
        name = f"{count} other {place if count > 1 else place[:-1]}"
        source, baseline, found = np.random.default_rng(1), BASELINES[name], []
        for _ in range(SUITES):
            logs = drawn(source, kind, baseline)
            found.append(bounds(*records(logs, kind, baseline, PROCESSES, np.zeros(ROWS)))[1])
        device = np.stack(found)[:, : ROWS // 2]
        widths.append(np.quantile(device, [0.5, 0.9]))
    assert np.all(np.diff([half for half, _ in widths]) < 0.0)
    # Of the few whose GPUs happened to lie apart, too, hardly any is known worse than by one.
    assert all(most <= 1.15 * widths[0][1] for _, most in widths)
