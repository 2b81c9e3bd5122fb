# SPDX-License-Identifier: Apache-2.0
"""The age of a baseline, and a note if it is too old."""

from __future__ import annotations

from datetime import date, datetime, time, timedelta, timezone

from warpgauge.records.model import Record, Session, Source
from warpgauge.records.sessions import STALE_DAYS, newest, when
from warpgauge.system.environment import started
from warpgauge.system.git import short
from warpgauge.system.text import foreign, inert, plural
from warpgauge.verdict.note import Note, commit_words

# A date without a zone is read as UTC and may be off by 14 hours, so less than a day is no error.
_CLOCK_SLACK = timedelta(days=1)


def note(record: Record, now: datetime) -> Note | None:
    """Return a note on a baseline that is old, undated or dated in the future, else None.

    `now` has a time zone. Other kinds of records get no note.
    """
    if record.source is not Source.BASELINE or not record.sessions:
        return None
    session, record_again = newest(record), foreign(started("bench --record"))
    then = measured(session)
    if then is None:
        words = "The baseline does not say when it was measured; refresh it with"
        return Note("undated", f"{words} {record_again}.")
    date = f"{then:%Y-%m-%d}"
    if is_future(session, now):
        return Note(
            "future",
            f"The baseline's newest session, {foreign(session.key)}, is dated in the future ({date}"
            f", in {plural(-_days_ago(then, now), 'day')}): the clock of this machine or of the "
            "measuring machine is wrong.",
        )
    if (now - then) / timedelta(days=1) <= STALE_DAYS:
        return None
    commit = commit_words(session.context.get("commit", ""))
    return Note(
        "stale",
        f"The baseline's newest session is {plural((now - then).days, 'day')} old ({date}, commit "
        f"{commit}); refresh it with {record_again}.",
    )


def notes(baseline: Record, candidate: Record, today: date) -> tuple[Note, ...]:
    """Return a comparison's notes; none if `today` is `date.min` or the candidate a baseline."""
    if today == date.min or candidate.source is Source.BASELINE:
        return ()
    # At the end of the day, so that a measurement of today, in any zone, is not in the future.
    found = note(baseline, datetime.combine(today, time.max, timezone.utc))
    return () if found is None else (found,)


def measured(session: Session) -> datetime | None:
    """Return when a session was measured, or None if unknown."""
    then = when(session)
    return None if then == datetime.min.replace(tzinfo=timezone.utc) else then


def is_future(session: Session, now: datetime) -> bool:
    """Return whether a session is dated after `now` by more than time zones explain."""
    then = measured(session)
    return then is not None and then - now > _CLOCK_SLACK


def told(session: Session, now: datetime) -> str:
    """Return ``2026-11-20, 3 days ago``, ``undated``, or ``in 3 days`` if a clock is wrong."""
    then = measured(session)
    if then is None:
        return "undated"
    days = _days_ago(then, now)
    age = f"{plural(days, 'day')} ago" if days > 0 else f"in {plural(-days, 'day')}"
    return f"{then:%Y-%m-%d}, {age if days else 'today'}"


def _days_ago(then: datetime, now: datetime) -> int:
    return (now.astimezone(then.tzinfo).date() - then.date()).days


def commit(session: Session) -> str:
    """Return the first digits of the measured commit, or ``unknown``."""
    return inert(short(session.context.get("commit", ""))) or "unknown"
