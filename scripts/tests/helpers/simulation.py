# SPDX-License-Identifier: Apache-2.0
"""The size of simulations."""

from __future__ import annotations

import os


def size(whole: int) -> int:
    """Of a simulation: an eighth of `whole` each time, the whole each night."""
    return whole if os.environ.get("WARPGAUGE_SIMULATIONS") == "whole" else whole // 8
