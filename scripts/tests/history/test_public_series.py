# SPDX-License-Identifier: Apache-2.0
"""Public series in which people marked the changes (series/README.md)."""

from __future__ import annotations

from dataclasses import replace

import pytest

from devtools.simulations import series
from devtools.simulations.series import Series

SERIES = {f"{one.source}-{one.name}": one for one in series.every()}

# Its values between 2 and 48 vary 24-fold, which logarithms make as large as the steps.
MISSED = "mongodb-random-ish"


@pytest.mark.parametrize("name", [name for name in SERIES if name != MISSED])
def test_the_marked_steps_are_found(name: str) -> None:
    assert SERIES[name].missed(SERIES[name].change_points()) == []


@pytest.mark.parametrize("name", [name for name, one in SERIES.items() if one.source != "otava"])
def test_no_other_slowdown_is_found(name: str) -> None:
    slower = [point for point in SERIES[name].change_points() if point.change > 0.0]
    assert len(slower) <= len(SERIES[name].steps)


def test_the_steps_of_tigerbeetle_do_not_depend_on_its_outlier_or_on_later_nights() -> None:
    whole = SERIES["otava-tigerbeetle"]
    values = whole.values[:10] + whole.values[11:]
    without = replace(whole, values=values, steps=tuple(step - 1 for step in whole.steps))
    begun = [Series("", "", "", whole.steps, whole.values[:nights]) for nights in (80, 120, 200)]
    for shorter in (without, *begun):
        assert shorter.missed(shorter.change_points()) == []
