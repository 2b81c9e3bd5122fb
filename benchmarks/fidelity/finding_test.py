# SPDX-License-Identifier: Apache-2.0
"""What one benchmark's two times say, and what all of them say together."""

from __future__ import annotations

import math
from dataclasses import replace

import pytest

from fidelity.finding import Finding, Truth, status, summary
from warpgauge.system.errors import ExitStatus


def finding(name: str, plain: float, traced: float, busy: float, kernels: int = 1) -> Finding:
    return Finding(name, kernels=kernels, replay_ns=plain, traced_ns=traced, busy_ns=busy)


WITHIN = finding("a", 1060.0, 1160.0, 1000.0)
OUTSIDE = finding("b", 900.0, 939.9, 1000.0)
DISTURBED = finding("d", 900.0, 1100.0, 1000.0)
ERROR = Finding("c", error="wrong result")


@pytest.mark.parametrize(
    ("plain", "traced", "busy", "kernels", "truth"),
    [
        (1060.0, 1200.0, 1000.0, 1, Truth.WITHIN),  # 60 ns a kernel
        (1060.1, 1200.0, 1000.0, 1, Truth.OUTSIDE),
        (1120.0, 1200.0, 1000.0, 2, Truth.WITHIN),
        (940.0, 1200.0, 1000.0, 1, Truth.WITHIN),
        (102_000.0, 110_000.0, 100_000.0, 1, Truth.WITHIN),  # 2 %
        (102_001.0, 110_000.0, 100_000.0, 1, Truth.OUTSIDE),
        # CUPTI slows the kernel: its time is that of the replay in its own process.
        (92_000.0, 102_000.0, 100_000.0, 1, Truth.WITHIN),
        # ... and adds more between kernels than may be: it can tell neither.
        (97_999.0, 102_001.0, 100_000.0, 1, Truth.DISTURBED),
        # Too short even with what CUPTI adds.
        (97_000.0, 97_999.0, 100_000.0, 1, Truth.OUTSIDE),
        (math.nan, 1000.0, 1000.0, 1, Truth.OUTSIDE),
        (1000.0, math.nan, 1000.0, 1, Truth.OUTSIDE),
        (1000.0, 1000.0, math.nan, 1, Truth.OUTSIDE),
        (math.inf, math.inf, 1000.0, 1, Truth.OUTSIDE),
    ],
)
def test_what_a_time_may_differ_by(
    plain: float, traced: float, busy: float, kernels: int, truth: Truth
) -> None:
    assert finding("a", plain, traced, busy, kernels).truth is truth


def test_a_row_that_states_its_error_is_held_to_that() -> None:
    off = replace(finding("a", 2500.0, 2600.0, 1000.0), stated_error_ns=1600.0)
    assert off.truth is Truth.WITHIN
    assert replace(off, stated_error_ns=1400.0).truth is Truth.OUTSIDE


def test_what_is_proved_wrong_outranks_what_is_unknown() -> None:
    assert status([WITHIN, WITHIN]) is ExitStatus.OK
    assert status([WITHIN, ERROR, OUTSIDE]) is ExitStatus.OUTSIDE
    for unknown in ([WITHIN, ERROR], [WITHIN, DISTURBED], []):
        assert status(unknown) is ExitStatus.NOT_MEASURED


def test_the_sum_names_the_one_that_is_farthest_off_for_what_it_may() -> None:
    long = finding("long", 1_010_000.0, 1_010_100.0, 1_000_000.0)
    assert summary([WITHIN, long, OUTSIDE, DISTURBED, ERROR]) == (
        "2 of 5 benchmarks within 2 % or 60 ns a kernel of CUPTI's busy time, 1 outside, "
        "1 disturbed by CUPTI, 1 not measured. Farthest, for what it may: d (−100.0 ns, −10.0 %)."
    )
    assert summary([ERROR]).endswith("1 not measured.")
