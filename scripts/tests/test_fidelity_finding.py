# SPDX-License-Identifier: Apache-2.0
"""What one benchmark's two times say, and what all of them say together."""

from __future__ import annotations

import math

import pytest

from warpgauge.errors import ExitStatus
from warpgauge.fidelity_finding import Finding, Truth, status
from warpgauge.fidelity_table import summary

WITHIN = Finding("a", kernels=1, replay_ns=1060.0, busy_ns=1000.0)
OUTSIDE = Finding("b", kernels=1, replay_ns=939.9, busy_ns=1000.0)
ERROR = Finding("c", error="wrong result")


@pytest.mark.parametrize(
    ("replay", "busy", "kernels", "truth"),
    [
        (1060.0, 1000.0, 1, Truth.WITHIN),  # 60 ns a kernel
        (1060.1, 1000.0, 1, Truth.OUTSIDE),
        (1120.0, 1000.0, 2, Truth.WITHIN),
        (940.0, 1000.0, 1, Truth.WITHIN),
        (102_000.0, 100_000.0, 1, Truth.WITHIN),  # 2 %
        (102_001.0, 100_000.0, 1, Truth.OUTSIDE),
        (97_999.0, 100_000.0, 1, Truth.OUTSIDE),
        (math.nan, 1000.0, 1, Truth.OUTSIDE),
        (1000.0, math.nan, 1, Truth.OUTSIDE),
        (math.inf, 1000.0, 1, Truth.OUTSIDE),
    ],
)
def test_what_a_time_may_differ_by(replay: float, busy: float, kernels: int, truth: Truth) -> None:
    assert Finding("a", None, kernels, (), replay, busy).truth is truth


@pytest.mark.parametrize(
    ("findings", "expected"),
    [
        ([WITHIN, WITHIN], ExitStatus.OK),
        ([WITHIN, ERROR], ExitStatus.NOT_MEASURED),
        ([WITHIN, ERROR, OUTSIDE], ExitStatus.OUTSIDE),
        ([], ExitStatus.NOT_MEASURED),
    ],
)
def test_what_is_proved_wrong_outranks_what_is_unknown(
    findings: list[Finding], expected: ExitStatus
) -> None:
    assert status(findings) is expected


def test_the_sum_names_the_one_that_is_farthest_off_for_what_it_may() -> None:
    long = Finding("long", kernels=1, replay_ns=1_010_000.0, busy_ns=1_000_000.0)
    assert summary([WITHIN, long, OUTSIDE, ERROR]) == (
        "2 of 4 benchmarks within 2 % or 60 ns a kernel of CUPTI's busy time, 1 outside, "
        "1 not measured. Farthest, for what it may: b (−60.10 ns, −6.0 %)."
    )
    assert summary([ERROR]).endswith("1 not measured.")
