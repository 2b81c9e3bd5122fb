# SPDX-License-Identifier: Apache-2.0
"""A run that there is nothing to compare with, in the shape of a comparison."""

from __future__ import annotations

from collections.abc import Collection

from warpgauge.records.model import Record, Source
from warpgauge.verdict.comparison import Comparison
from warpgauge.verdict.override import Allowance
from warpgauge.verdict.pairing import pair


def comparison_of(run: Record, allow: Collection[Allowance] = frozenset()) -> Comparison:
    """All that has a time which counts is NEW; the rest says why it has none.

    What the machine cannot run is nobody's fault, and no part of it.
    """
    nothing = Record(run.path, Source.BASELINE, {}, {})
    asked = [row.name for row in run.rows.values() if not row.skipped]
    _, verdicts = pair(nothing, run, asked, allow)
    return Comparison(nothing, run, tuple(verdicts), refusal="There is nothing to compare with.")
