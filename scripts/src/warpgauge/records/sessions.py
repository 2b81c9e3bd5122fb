# SPDX-License-Identifier: Apache-2.0
"""Sessions: their keys, the newest one, and whether two were measured in pairs."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping
from datetime import datetime, timezone

from warpgauge.records.model import Record, Session

# The context key that two run files measured in pairs have in common, and the one of their sides.
PAIR_KEY, PAIR_SIDE = "pair_id", "pair_side"
BASE, CANDIDATE = "base", "candidate"

# Fewer rounds do not show how far the next would lie.
FEWEST_ROUNDS = 2

# Fewer pairs bound nothing, and show no change: a pair of processes may keep one of two states, and
# by chance all pairs meet the same one. Of eight pairs, one benchmark in 256 then hides a slowdown;
# of fourteen, one in 8192 looks changed.
FEWEST_OF_A_PASS, FEWEST_OF_A_CHANGE = 8, 14

# Drivers and toolkits change about every quarter, so the machine has changed after this many days.
STALE_DAYS = 90

_UNDATED = datetime.min.replace(tzinfo=timezone.utc)


def session_hash(context: Mapping[str, str]) -> str:
    """Return eight hex digits that identify one boot of one GPU instance."""
    identity = context.get("gpu_uuid", "") + context.get("boot_id", "")
    return hashlib.sha256(identity.encode("utf-8", "surrogatepass")).hexdigest()[:8]


def session_key(context: Mapping[str, str], date: str) -> str:
    """Return ``2026-11-20-3f2a9c1d``: the day of `date` (ISO 8601) and the session's hash."""
    return f"{date[:10] or 'undated'}-{session_hash(context)}"


def when(session: Session) -> datetime:
    """Return when a session was measured, or the earliest datetime if unknown."""
    try:
        date = datetime.fromisoformat(session.context.get("date", "").replace("Z", "+00:00"))
    except ValueError:
        return _UNDATED
    return date if date.tzinfo else date.replace(tzinfo=timezone.utc)


def newest_last(sessions: Iterable[Session]) -> list[Session]:
    """Return the sessions ordered by time, then by key."""
    return sorted(sessions, key=lambda session: (when(session), session.key))


def newest(record: Record) -> Session:
    """Return the newest session of a record."""
    return newest_last(record.sessions.values())[-1]


def only_session(record: Record) -> Session:
    """Return the session of a run file, which has only one."""
    return next(iter(record.sessions.values()))


def are_paired(baseline: Record, candidate: Record) -> bool:
    """Return whether the two were measured in pairs, in one run."""
    sessions = (*baseline.sessions.values(), *candidate.sessions.values())
    ids = {session.context.get(PAIR_KEY, "") for session in sessions}
    return len(ids) == 1 and ids != {""} and bool(baseline.sessions and candidate.sessions)
