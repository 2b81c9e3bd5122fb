# SPDX-License-Identifier: Apache-2.0
"""The recorded sessions judged by each other: unchanged code on different GPUs, as it happened."""

from __future__ import annotations

from dataclasses import replace
from itertools import combinations
from pathlib import Path

import pytest

from warpgauge.baseline import only_sessions
from warpgauge.comparison import Comparison, Outcome
from warpgauge.load import load
from warpgauge.model import Record, Source
from warpgauge.verdict import judge

BASELINES = sorted(
    {path.parent for path in (Path(__file__).resolve().parents[2] / "baselines").glob("*/*.json")}
)
FEWEST_SESSIONS = 3


def judged(whole: Record, references: int) -> list[Comparison]:
    """Every session against every choice of `references` others."""
    sessions = list(whole.sessions.values())
    return [
        judge(
            only_sessions(whole, list(chosen)),
            replace(only_sessions(whole, [one]), source=Source.RUN),
        )
        for one in sessions
        for chosen in combinations([other for other in sessions if other is not one], references)
    ]


@pytest.mark.parametrize("folder", BASELINES, ids=lambda folder: folder.name)
def test_no_session_is_called_changed_by_the_others(folder: Path) -> None:
    whole = load(folder)
    assert len(whole.sessions) > FEWEST_SESSIONS, "record more sessions"
    others = len(whole.sessions) - 1
    for references in sorted({1, 2, FEWEST_SESSIONS, others}):
        comparisons = judged(whole, references)
        rows, passed, changed = (
            sum(one.count(*outcomes) for one in comparisons)
            for outcomes in (Outcome, (Outcome.PASS,), (Outcome.REGRESSION, Outcome.IMPROVED))
        )
        print(
            f"\n{folder.name}: judged by {references} of {others} others: {passed} of {rows} PASS"
        )
        assert changed == 0


@pytest.mark.parametrize("folder", BASELINES, ids=lambda folder: folder.name)
def test_hardly_any_row_is_inconclusive_with_three_sessions(folder: Path) -> None:
    whole = load(folder)
    comparisons = [*judged(whole, FEWEST_SESSIONS), *judged(whole, len(whole.sessions) - 1)]
    rows = sum(len(one.verdicts) for one in comparisons)
    unknown = sum(one.count(Outcome.INCONCLUSIVE, Outcome.INVALID) for one in comparisons)
    print(f"\n{folder.name}: {rows} comparisons, {unknown} inconclusive or invalid")
    assert unknown <= 0.02 * rows
