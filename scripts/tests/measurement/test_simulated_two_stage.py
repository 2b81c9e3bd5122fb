# SPDX-License-Identifier: Apache-2.0
"""Both looks together: 5 % found through the scatter of host calls, and no more alarms."""

from __future__ import annotations

import math

import pytest

from simulated_budget import looked
from simulated_size import size


def test_five_percent_are_found_through_a_scatter_of_six() -> None:
    assert looked(0.06, 0.05, 12).slower >= 0.98


@pytest.mark.parametrize("sd", [0.02, 0.06])
def test_unchanged_code_alarms_as_rarely_as_promised_over_both_looks(sd: float) -> None:
    runs = size(400)
    found = looked(sd, 0.0, runs)
    assert found.alarmed <= 0.01 + 3 * math.sqrt(0.01 / runs)
    assert found.inconclusive <= 0.02


def test_the_second_look_is_what_finds_it() -> None:
    assert looked(0.04, 0.05, 12, second=False).slower < 0.5
