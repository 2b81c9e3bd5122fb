# SPDX-License-Identifier: Apache-2.0
"""Another project's programs, which scripts/beside measures: no file of this tree is theirs."""

from __future__ import annotations

from warpgauge.verdict.comparison import Comparison
from warpgauge.verdict.context import PROGRAMS


def is_measured(comparison: Comparison) -> bool:
    """Whether the candidate is another project's programs."""
    return any(PROGRAMS in one.context for one in comparison.candidate.sessions.values())
