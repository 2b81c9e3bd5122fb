# SPDX-License-Identifier: Apache-2.0
"""How much slower than a usual core this one is just now: a test of a time is about the code."""

from __future__ import annotations

import time

# A loop of so many multiplications takes so long where Python 3.11 runs at 3 GHz.
_STEPS, _USUAL_S = 200_000, 0.015


def slowness() -> float:
    """1 on a usual core or a faster one, 2 where everything takes twice as long."""
    return max(1.0, min(_loop_s() for _ in range(3)) / _USUAL_S)


def _loop_s() -> float:
    begin, total = time.process_time(), 0
    for step in range(_STEPS):
        total += step * step
    return time.process_time() - begin
