# SPDX-License-Identifier: Apache-2.0
"""Finds baselines, and adds runs to them as sessions."""

from __future__ import annotations

import os
import re
from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import Path

from warpgauge.baselines.files import Folder, Times, family_text, open_folder
from warpgauge.baselines.prune import SESSIONS_KEPT, surplus
from warpgauge.baselines.recordable import (
    require_family,
    require_gpu,
    require_no_losses,
    require_run,
)
from warpgauge.records.load import holds_results, load_document
from warpgauge.records.model import Record, Row, Session, skips
from warpgauge.records.sessions import newest_last, session_hash
from warpgauge.system import interrupts
from warpgauge.system.atomic import replace_all
from warpgauge.system.document import Document, read, rows_of
from warpgauge.system.errors import UserError
from warpgauge.system.json_file import Object
from warpgauge.system.locks import alone
from warpgauge.system.text import inert, quoted

_UNSAFE = re.compile(r"[^a-z0-9]+")


def slug(gpu_name: str) -> str:
    """Return a GPU model's folder: ``nvidia-h200`` for ``NVIDIA H200``. Raises UserError."""
    name = _UNSAFE.sub("-", gpu_name.lower()).strip("-")
    if not name:
        raise UserError(
            f"the GPU name {quoted(gpu_name)} cannot be a folder name; name the folder yourself"
        )
    return name


def path_of(baselines: Path, gpu_name: str) -> Path:
    """Return the path for the baseline of a GPU model, whether it exists or not."""
    return baselines / slug(gpu_name)


def find(baselines: Path, gpu_name: str) -> Path | None:
    """Return the folder with the baseline of a GPU model; None if there is none."""
    folder = path_of(baselines, gpu_name)
    return folder if holds_results(folder) else None


@dataclass(frozen=True)
class Recorded:
    """Changes to a baseline: its new session, replaced and dropped ones, and the files written."""

    files: tuple[Path, ...]
    session: Session
    newest: Session
    replaced: tuple[Session, ...]
    dropped: tuple[Session, ...]
    skipped: tuple[Row, ...]

    def lines(self) -> list[str]:
        """Describe files and changes, one per line."""
        return [inert(f"recorded: {os.path.relpath(path)}") for path in self.files] + self.changes()

    def changes(self) -> list[str]:
        """Describe the changes, one per line."""
        told = [f"replaced: session {one.key}, of the same boot and GPU" for one in self.replaced]
        told += [
            f"dropped: session {one.key} of {one.gpu_uuid}, because a baseline keeps at most "
            f"{SESSIONS_KEPT}"
            for one in self.dropped
        ]
        told += skips(self.skipped)
        if self.newest is not self.session:
            told.append(
                f"counters and labels are still those of session {self.newest.key}, the newest"
            )
        return [inert(line) for line in told]


def record(run_path: Path, baselines: Path, now: datetime | None = None) -> Recorded:
    """Add the session of a run file to the baseline of its GPU model.

    A session of the same boot and GPU is replaced, and at most `SESSIONS_KEPT` stay. If this is the
    newest session, counters and labels are taken from it. A run dated after `now` is rejected;
    None, for a run just measured, skips this. Raises UserError.
    """
    document = read(run_path)
    run = load_document(document)
    session = require_run(run, now)
    at = path_of(baselines, session.gpu_name or "")
    with alone(baselines):  # otherwise concurrent additions could be lost
        return _added(document, run, session, at)


def _added(document: Document, run: Record, session: Session, at: Path) -> Recorded:
    gpu_name = session.gpu_name or ""
    skipped = tuple(row for row in run.rows.values() if row.skipped)
    run = replace(run, rows={name: row for name, row in run.rows.items() if not row.skipped})
    old = open_folder(at) if holds_results(at) else None
    if old is not None:
        require_gpu(str(run.path), gpu_name, at, old.gpu_names)
        suite = session.context.get("suite", "")
        require_no_losses(str(run.path), run.rows.keys(), at, old.whole, suite)
    before = list(old.whole.sessions.values()) if old is not None else []
    own = session_hash(session.context)
    replaced = [one for one in before if one.key.rpartition("-")[2] == own]
    joined = [*(one for one in before if one not in replaced), session]
    dropped = surplus(joined, staying=session.key)
    kept = newest_last(one for one in joined if one not in dropped)
    families = _families(
        {name: row for _, row in rows_of(document) if (name := str(row["name"])) in run.rows},
        run,
        old,
        kept,
        run_is_newest=kept[-1] is session,
    )
    texts: dict[Path, str] = {}
    for family, rows in families.items():
        # Take each session from the family's own file, so that its line does not change.
        told = [s if s is session or not old else old.session(family, s.key) for s in kept]
        texts[at / f"{family}.json"] = family_text(gpu_name, told, rows)
    replace_all(texts, changed=interrupts.CHANGED)
    return Recorded(tuple(texts), session, kept[-1], tuple(replaced), tuple(dropped), skipped)


def _families(
    measured: dict[str, Object],
    run: Record,
    old: Folder | None,
    kept: list[Session],
    run_is_newest: bool,
) -> dict[str, list[tuple[Object, Times]]]:
    """Return the rows of each family's file, each with its times by session.

    Order and counters are those of the newest session; `measured` are the run's own rows.
    """
    there = {name: row for file in old.files for name, row in file.rows.items()} if old else {}
    known = old.whole.rows if old else {}
    keys = {session.key for session in kept}
    families: dict[str, list[tuple[Object, Times]]] = {}
    for name in measured if run_is_newest else {**there, **measured}:
        require_family(name)
        times = dict(known[name].process_medians) if name in known else {}
        told = measured[name] if run_is_newest or not times else there[name]
        times = {key: medians for key, medians in times.items() if key in keys}
        times.update(run.rows[name].process_medians)
        families.setdefault(run.rows[name].family, []).append((told, times))
    return families


def chosen(baselines: Path, asked: str | None) -> list[Path]:
    """Return the baselines that `asked` selects from `baselines`, or elsewhere. Raises UserError.

    `asked` is the path of a baseline, of a file in it or of a folder of baselines, or the name of a
    GPU model or its folder. Without it, return all.
    """
    if asked is None:
        there = folders(baselines)
        if not there:
            raise UserError(
                f"{baselines} holds no baseline; measure one with scripts/warpgauge baseline record"
            )
        return there
    path = Path(asked)
    if asked and os.path.exists(path):  # noqa: PTH110 - handles names too long for a path
        several = [] if holds_results(path) else folders(path)
        return several or [path]
    there = folders(baselines)
    meant = [folder for folder in there if folder.name == slug(asked)]
    if not meant:
        names = ", ".join(folder.name for folder in there) or "none"
        raise UserError(
            inert(f"{quoted(asked)} is neither a path nor a GPU in {baselines}, which has {names}")
        )
    return meant


def folders(path: Path) -> list[Path]:
    """Return the baselines in `path`, which need not exist."""
    try:
        return sorted(entry for entry in path.iterdir() if holds_results(entry))
    except OSError:
        return []
