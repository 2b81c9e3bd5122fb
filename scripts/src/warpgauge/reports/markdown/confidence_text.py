# SPDX-License-Identifier: Apache-2.0
"""How sure a verdict is, in a few words."""

from __future__ import annotations

from warpgauge.system.text import plural
from warpgauge.verdict.comparison import Evidence, Verdict

# Smaller ones say no more to anybody.
_LEAST_P = 0.001


def certainty(verdict: Verdict) -> list[str]:
    """``confirmed in turns``, ``7 rounds``, ``p < 0.001``; ``screened only``, ``p = 0.004``."""
    if verdict.by_time is not None:
        return ["exact: resources carry no noise"]
    if verdict.evidence is Evidence.NONE:
        return [""]
    rounds = verdict.processes[0] if verdict.processes is not None else 0
    paired = verdict.evidence is Evidence.PAIRED
    how = ["confirmed in turns"] if paired else ["screened only"]
    how += [plural(rounds, "round")] if paired and rounds else []
    how += [_chance(verdict.p)] if verdict.p is not None else []
    return how


def _chance(p: float) -> str:
    if p < _LEAST_P:
        return f"p < {_LEAST_P}"
    return f"p = {p:.2g}"
