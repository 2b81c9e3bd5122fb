# SPDX-License-Identifier: Apache-2.0
"""Exports a baseline as ReFrame references: times and their limits by system and partition."""

from __future__ import annotations

import json
import math
import re
import statistics

from scipy import special

from warpgauge.baselines.spread import between, center
from warpgauge.records.model import Record, Row
from warpgauge.system.errors import UserError
from warpgauge.system.text import quoted
from warpgauge.verdict.comparability import Comparability, minimum_effect
from warpgauge.verdict.comparison_settings import ComparisonSettings

_WHERE = re.compile(r"[\w.-]+:[\w.-]+")


def references(baseline: Record, where: str) -> str:
    """Return JSON for a test's `reference`; `where` is ``SYSTEM:PARTITION``. Raises UserError.

    Each benchmark has its median over the sessions (us), no lower limit, and an upper limit (a
    fraction). Another healthy GPU of the model exceeds any of the limits with a probability of 1 %.
    """
    if not _WHERE.fullmatch(where):
        raise UserError(f"--reframe {quoted(where)} is not SYSTEM:PARTITION, e.g. cluster:gpu")
    measured = [row for row in baseline.rows.values() if row.error is None]
    chance = ComparisonSettings.alpha / max(len(measured), 1)
    rows = {row.name.replace(":", "="): _reference(row, chance) for row in measured}
    return json.dumps({where: rows}, indent=1)


def _reference(row: Row, chance: float) -> tuple[float, None, float, str]:
    seconds = statistics.median(map(center, row.process_medians.values()))
    least = minimum_effect(row.clock, Comparability.SIBLING, seconds, row.counters)
    sessions, scatter = len(row.process_medians), between(row)
    if scatter is not None:
        # Student's t prediction interval for one more session.
        reach = float(special.stdtrit(sessions - 1, 1.0 - chance))
        least = max(least, math.expm1(min(reach * scatter * math.sqrt(1 + 1 / sessions), 1.0)))
    return float(f"{1e6 * seconds:.7g}"), None, round(least, 4), "us"
