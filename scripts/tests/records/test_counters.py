# SPDX-License-Identifier: Apache-2.0
"""Counters of several measurements: a middle of what was measured, the worst of what disturbs."""

from __future__ import annotations

import statistics

import pytest
from hypothesis import given
from hypothesis import strategies as st

from warpgauge.records.counters import (
    OF_THE_MOMENT,
    OTHER_PROCESSES,
    RESOURCES,
    RESOURCES_VARY,
    THROTTLED,
    combined,
    is_disturbed,
)

NAMES = ("x", "clock_event_reasons", "sm_clock_hz", THROTTLED, OTHER_PROCESSES, *RESOURCES)
COUNTERS = st.dictionaries(st.sampled_from(NAMES), st.floats(-1e300, 1e300), max_size=6)


@pytest.mark.parametrize(
    ("name", "values", "made"),
    [
        ("power_watts", (300.0, 700.0, 310.0), 310.0),
        ("temperature_celsius", (40.0, 44.0), 42.0),
        ("clock_event_reasons", (4.0, 32.0, 4.0), 36.0),
        (OTHER_PROCESSES, (0.0, 2.0, 0.0), 2.0),
        (THROTTLED, (0.0, 1.0, 0.0), 1.0),
        ("discarded", (0.0, 9.0, 1.0), 9.0),
        ("max_error", (2.0**-24, 2.0**-22, 0.0), 2.0**-22),
        ("energy_error_joules", (0.1, 0.3, 0.2), 0.3),
        ("sm_clock_hz", (1.98e9, 1.62e9, 1.98e9), 1.62e9),
        ("registers", (40.0, 41.0), 40.0),
        ("peak_device_bytes", (2147483648.0,) * 2, 2147483648.0),
        ("source_line", (43.0, 44.0), 43.0),
    ],
)
def test_each_counter_is_combined_by_what_it_tells(
    name: str, values: tuple[float, ...], made: float
) -> None:
    assert combined([{name: value} for value in values])[name] == made


@pytest.mark.parametrize("name", RESOURCES)
def test_a_resource_that_varies_is_marked(name: str) -> None:
    assert combined([{name: 2.0}, {name: 2.0}, {}]) == {name: 2.0}
    mixed = combined([{name: 2.0}, {name: 3.0}])
    assert mixed == {name: 2.0, RESOURCES_VARY: 1.0}
    assert combined([mixed, {name: 2.0}])[RESOURCES_VARY] == 1.0


def test_rates_and_waves_may_vary() -> None:
    assert RESOURCES_VARY not in combined([{"x": 1.0, "waves": 1.0}, {"x": 2.0, "waves": 2.0}])


def test_what_tells_of_the_moment_is_no_resource() -> None:
    assert not OF_THE_MOMENT & RESOURCES.keys()


@given(st.lists(COUNTERS, min_size=1, max_size=7))
def test_a_disturbance_never_hides_among_the_others(several: list[dict[str, float]]) -> None:
    for middle in (statistics.median, statistics.median_low):
        together = combined(several, middle)
        disturbed = (OTHER_PROCESSES, THROTTLED)
        if any(row.get(name, 0.0) > 0.0 for row in several for name in disturbed):
            assert is_disturbed(together)
        for name in RESOURCES:
            assert name not in together or together[name] in [one.get(name) for one in several]
