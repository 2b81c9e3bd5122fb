# SPDX-License-Identifier: Apache-2.0
"""Error rates of verdicts. Standard library only, because every command line names them."""

from __future__ import annotations

# Probability that a run of unchanged code shows any false alarm, whatever the number of
# benchmarks.
ALPHA = 0.01

# Share of the shown intervals that hold the true change.
CONFIDENCE = 0.95

# Share of bounds that the true slowdown does not exceed.
BOUND_CONFIDENCE = 0.99
