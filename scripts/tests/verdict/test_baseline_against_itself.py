# SPDX-License-Identifier: Apache-2.0
"""The recorded sessions judged by each other: unchanged code on different GPUs, as it happened."""

from __future__ import annotations

import math
from dataclasses import replace
from itertools import combinations
from pathlib import Path

import pytest
from msgspec import structs

from simulation import size
from warpgauge.records.load import load
from warpgauge.records.model import Record, Session, Source
from warpgauge.records.row import Row
from warpgauge.verdict import pairing
from warpgauge.verdict.comparison import Comparison, Outcome, Verdict
from warpgauge.verdict.judge import judge

BASELINES = sorted(
    {path.parent for path in (Path(__file__).resolve().parents[3] / "baselines").glob("*/*.json")}
)
FEWEST_SESSIONS = 3
CHOICES = size(64)
NEVER = (Outcome.REGRESSION, Outcome.IMPROVED, Outcome.INVALID)


def only_sessions(whole: Record, sessions: list[Session]) -> Record:
    """A baseline with these of its sessions alone, and the rows that they have."""
    keys = {session.key for session in sessions}
    rows: dict[str, Row] = {}
    for name, row in whole.rows.items():
        times = {key: medians for key, medians in row.process_medians.items() if key in keys}
        if times or row.error is not None:
            rows[name] = structs.replace(row, process_medians=times)
    return replace(whole, sessions={session.key: session for session in sessions}, rows=rows)


def judged(whole: Record, references: int) -> list[Comparison]:
    """Every session against each choice of `references` others, or some of many choices."""
    sessions = list(whole.sessions.values())

    def choices(one: Session) -> list[tuple[Session, ...]]:
        every = list(combinations([other for other in sessions if other is not one], references))
        return every[:: math.ceil(len(every) / CHOICES)]

    return [
        judge(
            only_sessions(whole, list(chosen)),
            replace(only_sessions(whole, [one]), source=Source.RUN),
        )
        for one in sessions
        for chosen in choices(one)
    ]


def judgeable(comparison: Comparison) -> list[Verdict]:
    """Without the controls, which never regress, and what one side did not have yet."""
    nothing_beside = (Outcome.NEW, Outcome.MISSING)
    return [
        verdict
        for verdict in comparison.verdicts
        if verdict.family != pairing.FAMILY and verdict.outcome not in nothing_beside
    ]


@pytest.mark.parametrize("folder", BASELINES, ids=lambda folder: folder.name)
def test_no_session_is_called_changed_by_the_others(folder: Path) -> None:
    whole = load(folder)
    if len(whole.sessions) <= FEWEST_SESSIONS:
        assert all(one.gpus > 1 for one in whole.sessions.values()), "record more sessions"
        pytest.skip(
            f"{folder.name} has {len(whole.sessions)} sessions of several GPUs: record more"
        )
    rows = passed = 0
    for references in sorted({1, FEWEST_SESSIONS, len(whole.sessions) - 1}):
        verdicts = [one for found in judged(whole, references) for one in judgeable(found)]
        assert not [one for one in verdicts if one.outcome in NEVER]
        if references >= FEWEST_SESSIONS:
            rows += len(verdicts)
            passed += sum(one.outcome is Outcome.PASS for one in verdicts)
    print(f"\n{folder.name}: {rows} comparisons, {passed} bounded; pairs decide the others")
