# SPDX-License-Identifier: Apache-2.0
"""How often a verdict may err. Standard library only, for every command line tells of these."""

from __future__ import annotations

# Chance that a run of unchanged code shows even one false alarm by chance alone, whatever the
# number of benchmarks.
ALPHA = 0.01

# Share of intervals that hold the true change, for the intervals that are shown.
CONFIDENCE = 0.95

# Share of bounds that the true slowdown does not exceed.
BOUND_CONFIDENCE = 0.99
