# SPDX-License-Identifier: Apache-2.0
"""A picture of the changes and their intervals: what changed, and what nobody can tell. Pure."""

from __future__ import annotations

from warpgauge.verdict.comparison import Comparison

# In every such file: by it a later run knows that it may replace one.
MARK = "warpgauge intervals of changes"


def drawn(comparison: Comparison) -> str:
    """The element."""
    raise NotImplementedError
