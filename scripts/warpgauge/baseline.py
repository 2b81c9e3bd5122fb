# SPDX-License-Identifier: Apache-2.0
"""Baselines: where they lie, how a run becomes a session of one, how they show themselves."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

from warpgauge.baseline_file import family_text
from warpgauge.document import Object, read, rows_of
from warpgauge.errors import UserError
from warpgauge.files import replace_all
from warpgauge.load import load, load_document
from warpgauge.model import Record, Row, Session, Source
from warpgauge.recordable import require_family, require_no_losses, require_run
from warpgauge.sessions import newest_last, session_hash, session_key
from warpgauge.text import quoted

__all__ = ["find", "path_of", "record", "recorded_comparison", "session_key", "slug"]

# Enough sessions to know how far one boot lies from the next; few enough to keep the files small
# and the accepted times from being those of last year's code.
SESSIONS_KEPT = 5

_UNSAFE = re.compile(r"[^a-z0-9]+")


def slug(gpu_name: str) -> str:
    """The folder of a GPU model: ``NVIDIA H200`` is ``nvidia-h200``. Raises UserError."""
    name = _UNSAFE.sub("-", gpu_name.lower()).strip("-")
    if not name:
        raise UserError(f"the GPU name {quoted(gpu_name)} makes no folder name; name it yourself")
    return name


def path_of(baselines: Path, gpu_name: str) -> Path:
    """Where the baseline of a GPU model belongs, whether it is there or not."""
    return baselines / slug(gpu_name)


def find(baselines: Path, gpu_name: str) -> Path | None:
    """The folder that holds the baseline of a GPU model, if there is one."""
    folder = path_of(baselines, gpu_name)
    return folder if folder.is_dir() and any(folder.glob("*.json")) else None


def record(run_path: Path, baselines: Path) -> list[Path]:
    """Add the session of a run file to the baseline of its GPU model; returns the files written.

    A session of the same boot and GPU is replaced, and the `SESSIONS_KEPT` newest stay. Counters
    and labels become those of this run. Either all families' files are written or, where anything
    is wrong, none. Raises UserError.
    """
    document = read(run_path)
    run = load_document(document)
    session = require_run(run)
    gpu_name = session.gpu_name or ""
    folder = path_of(baselines, gpu_name)
    old = load(folder) if find(baselines, gpu_name) else None
    sessions = [*_kept_sessions(old, session), session]
    kept = {one.key for one in sessions}
    families: dict[str, list[tuple[Object, dict[str, tuple[float, ...]]]]] = {}
    for _, row in rows_of(document):
        name = str(row["name"])
        require_family(name)
        before = old.rows[name].process_medians if old is not None and name in old.rows else {}
        times = {key: medians for key, medians in before.items() if key in kept}
        times.update(run.rows[name].process_medians)
        families.setdefault(run.rows[name].family, []).append((row, times))
    texts = {
        folder / f"{family}.json": family_text(gpu_name, sessions, rows)
        for family, rows in families.items()
    }
    if old is not None:
        require_no_losses(str(run.path), run.rows.keys(), folder, old)
    replace_all(texts)
    return list(texts)


def _kept_sessions(old: Record | None, session: Session) -> list[Session]:
    """The sessions of a baseline that stay when `session` joins them, oldest first."""
    if old is None:
        return []
    own = session_hash(session.context)
    others = [one for one in old.sessions.values() if one.key.rpartition("-")[2] != own]
    return newest_last(others)[-(SESSIONS_KEPT - 1) :]


def recorded_comparison(folder: Path) -> tuple[Record, Record] | None:
    """A baseline's older sessions and its newest one, as the two sides of a comparison.

    For showing what a comparison looks like where there is no GPU. None with a single session.
    """
    whole = load(folder)
    *older, newest = newest_last(whole.sessions.values())
    if whole.source is not Source.BASELINE or not older:
        return None
    return only_sessions(whole, older), only_sessions(whole, [newest])


def only_sessions(whole: Record, sessions: list[Session]) -> Record:
    """A baseline with these of its sessions alone, and the rows that they have."""
    keys = {session.key for session in sessions}
    rows: dict[str, Row] = {}
    for name, row in whole.rows.items():
        times = {key: medians for key, medians in row.process_medians.items() if key in keys}
        if times or row.error is not None:
            rows[name] = replace(row, process_medians=times)
    return replace(whole, sessions={session.key: session for session in sessions}, rows=rows)
