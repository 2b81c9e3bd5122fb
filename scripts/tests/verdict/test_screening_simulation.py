# SPDX-License-Identifier: Apache-2.0
"""Simulated suites against a baseline: rare false alarms, and bounds that hold but still pass."""

from __future__ import annotations

import math

import pytest

from devtools.simulations.screening import NOISES, REFERENCES, ROWS, simulated

SUITES, SEED = 40, 7
WRONG = 0.01


@pytest.mark.parametrize(
    ("noise", "references", "processes"),
    [
        ("a candidate ten times as noisy", "this boot", 7),
        ("two states", "this boot", 7),
        ("correlation 0.6", "this boot", 7),
        ("states that last a session", "2 other boots", 7),
        ("states that last a session", "4 other boots", 3),
        ("boots three times as far apart", "2 other boots", 3),
        ("unequal rows, boots of t4", "1 other boot", 3),
        ("unequal rows, boots of t4", "4 other boots", 3),
        ("very unequal rows, t3, boots of t4", "4 other boots", 7),
        ("unequal rows, boots of t4", "1 other GPU", 3),
        ("another host", "4 other GPUs", 7),
    ],
)
def test_unchanged_suites_hardly_alarm_and_bounds_hold(
    noise: str, references: str, processes: int
) -> None:
    cell = simulated(NOISES[noise], REFERENCES[references], processes, SUITES, SEED)
    assert cell.alarmed <= WRONG + 3 * math.sqrt(WRONG / SUITES)
    assert cell.false_pass <= WRONG + 3 * math.sqrt(WRONG / (3 * SUITES))
    assert cell.exceeded <= WRONG + 3 * math.sqrt(WRONG / (SUITES * ROWS / 2))


@pytest.mark.parametrize(
    ("references", "processes", "device"),
    [("this boot", 3, 0.98), ("1 other boot", 7, 0.88), ("2 other boots", 7, 0.97),
     ("4 other boots", 7, 0.98)],
)  # fmt: skip
def test_sessions_of_the_same_gpu_bound_nearly_all_device_rows(
    references: str, processes: int, device: float
) -> None:
    cell = simulated(NOISES["normal"], REFERENCES[references], processes, SUITES // 2, SEED)
    assert cell.device >= device


def test_other_gpus_send_device_rows_to_pairs() -> None:
    cell = simulated(NOISES["normal"], REFERENCES["4 other GPUs"], 3, SUITES // 2, SEED)
    assert cell.device <= 0.20
