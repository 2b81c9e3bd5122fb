# SPDX-License-Identifier: Apache-2.0
"""Both looks together: 5 % found through the scatter of host calls, and no more alarms."""

from __future__ import annotations

import pytest

from simulated_looks import looked


@pytest.mark.parametrize("sd", [0.01, 0.02, 0.04, 0.06])
def test_five_percent_are_found_through_a_scatter_of_six(sd: float) -> None:
    assert looked(sd, 0.05, 12).slower >= 0.98


@pytest.mark.parametrize("sd", [0.02, 0.06])
def test_unchanged_code_alarms_as_rarely_as_promised_over_both_looks(sd: float) -> None:
    found = looked(sd, 0.0, 200)
    assert found.alarmed <= 0.01 + 0.015  # 1 %, and what 200 runs leave open
    assert found.inconclusive <= 0.02


def test_the_second_look_is_what_finds_it() -> None:
    assert looked(0.04, 0.05, 12, second=False).slower < 0.5
