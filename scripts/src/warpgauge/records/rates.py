# SPDX-License-Identifier: Apache-2.0
"""The counters that say how fast a benchmark is, which every export has beside its time."""

from __future__ import annotations

import math
from collections.abc import Mapping

RATES = ("bytes_per_second", "flops_per_second", "limit_fraction")


def rates_of(counters: Mapping[str, float]) -> dict[str, float]:
    """Those that are there, and finite."""
    found = {key: counters[key] for key in RATES if key in counters}
    return {key: value for key, value in found.items() if math.isfinite(value)}
