# SPDX-License-Identifier: Apache-2.0
"""warpgauge baseline prune: decides what to remove, and produces the new files."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path

from warpgauge.baselines.files import FamilyFile, Folder, family_text
from warpgauge.records.benchmark_filter import found
from warpgauge.records.model import Session
from warpgauge.records.sessions import newest_last, when
from warpgauge.system.errors import UserError
from warpgauge.system.text import inert, named, quoted
from warpgauge.verdict import staleness


@dataclass(frozen=True)
class Criteria:
    """What to remove: everything that meets at least one criterion."""

    keep: int | None = None
    sessions: Sequence[str] = ()
    older_than_days: float | None = None
    removed: Sequence[str] = ()


@dataclass(frozen=True)
class Plan:
    """Changes to one baseline; a text of None deletes its file."""

    folder: Path
    sessions: tuple[Session, ...]
    rows: tuple[str, ...]
    texts: Mapping[Path, str | None]

    def lines(self, now: datetime) -> list[str]:
        """Describe the changes, one per line."""
        told = [
            f"removes session {one.key} ({staleness.told(one, now)}; {one.gpu_uuid or 'no GPU'})"
            for one in self.sessions
        ]
        told += [f"removes benchmark {name}" for name in self.rows]
        told += [
            f"deletes {path.name}, which is then empty"
            for path, text in self.texts.items()
            if text is None
        ]
        return [inert(line) for line in told]


def plans(folders: Sequence[Folder], criteria: Criteria, now: datetime) -> list[Plan]:
    """Plan the removals. Raises UserError for what must not be removed or does not exist."""
    for key in criteria.sessions:
        keys = [one for folder in folders for one in folder.whole.sessions]
        if key not in keys:
            raise UserError(
                inert(f"there is no session {quoted(key)}; there are {', '.join(sorted(keys))}")
            )
    for regex in criteria.removed:
        names = [name for folder in folders for name in folder.whole.rows]
        if not any(found("--removed", regex, name) for name in names):
            raise UserError(inert(f"--removed {quoted(regex)} matches no benchmark; correct it"))
    return [_plan(folder, criteria, now) for folder in folders]


def _plan(folder: Folder, criteria: Criteria, now: datetime) -> Plan:
    rows = folder.whole.rows
    removed = {n for n in rows if any(found("--removed", one, n) for one in criteria.removed)}
    going = {session.key for session in _going(folder, criteria, now)}
    staying = {
        name: {key for key in row.process_medians if key not in going}
        for name, row in rows.items()
        if name not in removed
    }
    if not any(staying.values()):
        raise UserError(
            inert(f"nothing of {folder.path} would remain; delete the folder if this is intended")
        )
    bare = [name for name, keys in staying.items() if not keys]
    if bare and (going or removed):
        raise UserError(
            inert(f"{folder.path} would have no session of {named(bare)}")
            + "; keep one, or name benchmarks that are no longer measured with --removed"
        )
    # A session is removed once all its benchmarks are.
    touched = going | {key for name in removed for key in rows[name].process_medians}
    gone_keys = touched - {key for keys in staying.values() for key in keys}
    sessions = [s for s in newest_last(folder.whole.sessions.values()) if s.key in gone_keys]
    texts = {
        file.path: _text(file, going, removed)
        for file in folder.files
        if going & file.record.sessions.keys() or removed & file.rows.keys()
    }
    gone = tuple(name for name in rows if name in removed)
    return Plan(folder.path, tuple(sessions), gone, texts)


def _going(folder: Folder, criteria: Criteria, now: datetime) -> list[Session]:
    days = criteria.older_than_days
    going: list[Session] = []
    left: list[Session] = []
    for session in folder.whole.sessions.values():
        is_old = days is not None and (now - when(session)) / timedelta(days=1) > days
        (going if session.key in criteria.sessions or is_old else left).append(session)
    return going + (surplus(left, criteria.keep) if criteria.keep is not None else [])


def _text(file: FamilyFile, going: set[str], removed: set[str]) -> str | None:
    """Return the file's new text; None if nothing is left."""
    sessions = [s for s in newest_last(file.record.sessions.values()) if s.key not in going]
    rows = [
        (row, {k: times for k, times in medians.items() if k not in going})
        for name, row in file.rows.items()
        if name not in removed and (medians := file.record.rows[name].process_medians)
    ]
    if not rows:
        return None
    gpu_name = next(s.gpu_name for s in file.record.sessions.values())
    return family_text(gpu_name or "", sessions, rows)


# Enough sessions to know how much boots and GPUs differ; few enough to keep the files small, and to
# keep the accepted times recent.
SESSIONS_KEPT = 8


def surplus(
    sessions: Iterable[Session], keep: int = SESSIONS_KEPT, staying: str | None = None
) -> list[Session]:
    """Return the sessions to drop, in order, so that at most `keep` are left.

    The oldest session of the GPU with the most sessions is dropped first, because the verdict
    learns from different GPUs how much they vary. The oldest of all is dropped only if all GPUs
    have equally many. The session with the key `staying` stays.
    """
    left, dropped = newest_last(sessions), []
    while len(left) > keep:
        count = Counter(session.gpu_uuid for session in left)
        going = [session for session in left if session.key != staying]
        most = max(count[session.gpu_uuid] for session in going)
        dropped.append(next(s for s in going if count[s.gpu_uuid] == most))
        left.remove(dropped[-1])
    return dropped
