# SPDX-License-Identifier: Apache-2.0
"""A baseline's age is told, and one that is too old, undated or of the future is warned of."""

from __future__ import annotations

from datetime import datetime, timedelta, timezone
from pathlib import Path

import pytest
from conftest import Loader

import builders
from warpgauge.records.model import Record, Session, Source
from warpgauge.verdict import staleness
from warpgauge.verdict.comparison_settings import ComparisonSettings
from warpgauge.verdict.judge import judge

NOW = datetime(2026, 11, 20, 12, tzinfo=timezone.utc)


def record(*dates: str) -> Record:
    sessions = {
        f"s{n}": Session(f"s{n}", {"date": date, "commit": "0123456789abcdef"})
        for n, date in enumerate(dates)
    }
    return Record(Path("b"), Source.BASELINE, sessions, {})


def days_ago(days: float) -> str:
    return (NOW - timedelta(days=days)).isoformat()


@pytest.mark.parametrize(
    ("dates", "said"),
    [
        ((days_ago(400), days_ago(89.9)), None),
        ((days_ago(400), days_ago(100)),
         "The baseline's newest session is 100 days old (2026-08-12, commit 0123456789); refresh "
         "it with scripts/warpgauge baseline record."),
        (("",), "The baseline does not say when it was measured; refresh it with "
         "scripts/warpgauge baseline record."),
        (("yesterday",), "The baseline does not say when it was measured; refresh it with "
         "scripts/warpgauge baseline record."),
        ((days_ago(5), days_ago(-3)),
         "The baseline's newest session, s1, is of a day to come (2026-11-23, in 3 days): a clock "
         "is wrong, here or where it was measured."),
        ((days_ago(-0.6),), None),  # it may be another zone's
    ],
)  # fmt: skip
def test_an_old_undated_or_future_newest_session_is_told(
    dates: tuple[str, ...], said: str | None
) -> None:
    assert staleness.note(record(*dates), NOW) == said


def test_the_limit_is_the_callers() -> None:
    found = [staleness.note(record(days_ago(10)), NOW, limit) is None for limit in (9, 11, 1e300)]
    assert found == [False, True, True]


def test_a_comparison_with_an_old_baseline_says_so(loaded: Loader) -> None:
    rows = [builders.row("a", process_medians={"s": list(builders.STEADY)})]
    sessions = {"s": builders.context(date="2026-08-12T12:00:00+00:00")}
    old = loaded(builders.baseline(rows, sessions))
    run = loaded(builders.run([builders.row("a")]))
    now = ComparisonSettings(today=NOW.date())
    assert "The baseline's newest session is 100 days old" in judge(old, run, now).notes[-1]
    assert not any("newest session" in note for note in judge(old, run).notes)
    assert judge(old, old, now).notes == judge(old, old).notes
    assert judge(run, run, now).notes == judge(run, run).notes


def test_what_was_measured_today_is_of_today_in_every_zone() -> None:
    run = Record(Path("r"), Source.RUN, {}, {})
    for hours in (-12, 0, 14):
        now = (NOW + timedelta(hours=11.9)).astimezone(timezone(timedelta(hours=hours)))
        assert staleness.notes(record(now.isoformat()), run, NOW.date()) == ()
