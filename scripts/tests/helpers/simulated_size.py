# SPDX-License-Identifier: Apache-2.0
"""How large a simulation is: an eighth each time, the whole each night."""

from __future__ import annotations

import os

VARIABLE = "WARPGAUGE_SIMULATIONS"


def size(whole: int) -> int:
    """`whole` where the variable says "whole"; else an eighth of it."""
    return whole if os.environ.get(VARIABLE) == "whole" else whole // 8
