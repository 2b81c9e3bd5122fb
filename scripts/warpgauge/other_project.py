# SPDX-License-Identifier: Apache-2.0
"""Another project's programs, which scripts/beside measures: no file of this tree is theirs."""

from __future__ import annotations

from warpgauge.comparison import Comparison
from warpgauge.context import PROGRAMS

# How the note begins that says how they were measured.
IN_TURNS = "Measured in turns, the programs in "


def is_measured(comparison: Comparison) -> bool:
    """Whether the candidate is another project's programs."""
    return any(PROGRAMS in one.context for one in comparison.candidate.sessions.values())


def how_measured(comparison: Comparison) -> str:
    """The note on how they were measured; empty where there is none."""
    return next((one for one in comparison.notes if one.startswith(IN_TURNS)), "")
