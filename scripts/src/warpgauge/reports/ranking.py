# SPDX-License-Identifier: Apache-2.0
"""In which order verdicts are shown: what matters most comes first."""

from __future__ import annotations

from warpgauge.verdict.comparison import Outcome, Verdict

_ORDER = {outcome: rank for rank, outcome in enumerate(Outcome)}

CHANGED = (Outcome.REGRESSION, Outcome.IMPROVED)


def rank(verdict: Verdict) -> tuple[int, bool, float]:
    """A sort key: changed rows by the size of the change, others in the order of the file.

    What fails on its resources alone comes behind what is slower.
    """
    changed = verdict.outcome in CHANGED
    size = abs(verdict.change.ratio) if changed and verdict.change is not None else 0.0
    return _ORDER[verdict.outcome], changed and verdict.by_time is not None, -size
