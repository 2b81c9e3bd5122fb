# SPDX-License-Identifier: Apache-2.0
"""The files of baselines: finds and reads them, adds runs as sessions, and prunes.

Their text is stable, so that a new session is one line per benchmark in a diff.
"""

from __future__ import annotations

import json
import os
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from msgspec import structs

from warpgauge.baselines.recordable import of_names, refuse, require_run
from warpgauge.measure.run_file import row_object
from warpgauge.records.benchmark_filter import found
from warpgauge.records.counters import OF_THE_MOMENT, RESOURCES
from warpgauge.records.document import read
from warpgauge.records.load import BASELINE_FORMAT, holds_results, load, load_document, result_files
from warpgauge.records.model import (
    BUILD_DIR,
    FILE,
    MANIFEST,
    Record,
    Session,
    Source,
    by_family,
    skips,
)
from warpgauge.records.row import Row
from warpgauge.records.sessions import PAIR_KEY, PAIR_SIDE, newest, newest_last, session_hash
from warpgauge.system import entry_point, environment
from warpgauge.system.atomic import replace_all
from warpgauge.system.errors import UserError
from warpgauge.system.location import Object
from warpgauge.system.locks import alone
from warpgauge.system.text import inert, named, quoted
from warpgauge.verdict import staleness

_UNSAFE = re.compile(r"[^a-z0-9]+")


def slug(gpu_name: str) -> str:
    """Return a GPU model's folder: ``nvidia-h200`` for ``NVIDIA H200``. Raises UserError."""
    name = _UNSAFE.sub("-", gpu_name.lower()).strip("-")
    if not name:
        why = f"the GPU name {quoted(gpu_name)} cannot be a folder name"
        raise UserError(f"{why}; name the folder yourself")
    return name


def find(baselines: Path, gpu_name: str) -> Path | None:
    """Return the folder with the baseline of a GPU model; None if there is none."""
    folder = baselines / slug(gpu_name)
    return folder if holds_results(folder) else None


def of_run(baselines: Path, run: Record) -> Record | None:
    """Return the baseline of a run's GPU model; None if there is none."""
    is_of_benchmarks = run.source in (Source.RUN, Source.GOOGLE_BENCHMARK)
    gpu = newest(run).gpu_name if is_of_benchmarks else None
    path = find(baselines, gpu) if gpu else None
    return load(path) if path else None


def folders(path: Path) -> list[Path]:
    """Return the baselines in `path`, which need not exist."""
    try:
        return sorted(entry for entry in path.iterdir() if holds_results(entry))
    except OSError:
        return []


def chosen(baselines: Path, asked: str | None) -> list[Path]:
    """Return the baselines that `asked` selects from `baselines`, or elsewhere. Raises UserError.

    `asked` is the path of a baseline, of a file in it or of a folder of baselines, or the name of a
    GPU model or its folder. Without it, return all.
    """
    there = folders(baselines)
    if asked is None and not there:
        remedy = f"measure one with {environment.started('bench --record')}"
        raise UserError(f"{baselines} holds no baseline; {remedy}")
    if asked is None:
        return there
    if asked and os.path.exists(path := Path(asked)):  # noqa: PTH110 - also for very long names
        return [path] if holds_results(path) else folders(path) or [path]
    if meant := [folder for folder in there if folder.name == slug(asked)]:
        return meant
    which = f"{baselines}, which has {', '.join(folder.name for folder in there) or 'none'}"
    raise UserError(inert(f"{quoted(asked)} is neither a path nor a GPU in {which}"))


@dataclass(frozen=True)
class Folder:
    """All files of one GPU model's baseline, and their combined record."""

    path: Path
    whole: Record
    files: tuple[Record, ...]

    @property
    def gpu_names(self) -> tuple[str, ...]:
        """The GPU models of its sessions; a good baseline has one."""
        names = {session.gpu_name for session in self.whole.sessions.values()}
        return tuple(sorted(name for name in names if name))


def open_folder(path: Path) -> Folder:
    """Load the baseline in a folder, or one file of it. Raises UserError."""
    files = tuple(load(file) for file in result_files(path))
    for record in files:
        if record.source is not Source.BASELINE:
            what = f"{record.path} is not a baseline but a {record.source.value}"
            raise UserError(inert(f"{what}; baseline add-session adds run files as sessions"))
    return Folder(path, load(path), files)


# Seven digits are a hundred times finer than the repeatability of any benchmark.
_DIGITS = 7
_LINES = ",\n"
# Context fields about the place and time of a run rather than about its results.
_NOT_KEPT = OF_THE_MOMENT.union(
    (BUILD_DIR, MANIFEST, FILE, PAIR_KEY, PAIR_SIDE),
    "warpgauge_format host_name executable json_schema_version order_seed".split(),
    # The build type of Google Benchmark's package ("debug" on Debian), not of the benchmarks.
    ("library_build_type",),
)


def family_text(sessions: Sequence[Session], rows: Sequence[Row]) -> str:
    """Return the text of a file: one line per session, oldest first, and one per row."""
    context = {"warpgauge_format": BASELINE_FORMAT, "gpu_name": sessions[0].gpu_name or ""}
    measured = {key for row in rows for key in row.process_medians}
    facts = {
        session.key: {k: one for k, one in session.context.items() if one and k not in _NOT_KEPT}
        for session in sessions
        if session.key in measured
    }
    session_lines = _LINES.join(f"{_json(key)}: {_json(one)}" for key, one in facts.items())
    row_lines = _LINES.join(_json(_object(row, facts)) for row in rows)
    return (
        f'{{\n"context": {_json(context)},\n"sessions": {{\n{session_lines}\n}},\n'
        f'"benchmarks": [\n{row_lines}\n]\n}}\n'
    )


def _object(row: Row, sessions: Iterable[str]) -> Object:
    """Return the JSON of a row, without what is about pairs or the moment of the measurement."""
    times = {key: row.process_medians[key] for key in sessions if key in row.process_medians}
    kept = structs.replace(row, process_medians=times, rounds=(), pairs=(), elapsed=(), why=None)
    found = {
        key: _rounded(value) if isinstance(value, float) and key not in RESOURCES else value
        for key, value in row_object(kept).items()
        if key not in OF_THE_MOMENT
    }
    in_ns = {key: [_rounded(1e9 * time) for time in own] for key, own in times.items()}
    return {**found, "process_medians": in_ns}


def _rounded(value: float) -> float:
    return float(f"{value:.{_DIGITS}g}")


def _json(value: object) -> str:
    return json.dumps(value, allow_nan=False)


# Enough sessions to know how much boots and GPUs differ; few enough to keep the files small, and to
# keep the accepted times recent.
SESSIONS_KEPT = 8


def surplus(sessions: Iterable[Session], staying: str, keep: int = SESSIONS_KEPT) -> list[Session]:
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


@dataclass(frozen=True)
class Recorded:
    """The files of a baseline that were written, and sentences on what else changed."""

    files: tuple[Path, ...]
    changes: tuple[str, ...]

    def lines(self) -> list[str]:
        """Describe files and changes, one per line."""
        files = (inert(f"recorded: {os.path.relpath(path)}") for path in self.files)
        return [*files, *self.changes]


def record(run_path: Path, baselines: Path, now: datetime | None = None) -> Recorded:
    """Add the session of a run file to the baseline of its GPU model.

    A session of the same boot and GPU is replaced, and at most `SESSIONS_KEPT` stay. If this is the
    newest session, counters and labels are taken from it. A run dated after `now` is rejected;
    None, for a run just measured, skips this. Raises UserError.
    """
    run = load_document(read(run_path))  # of one file, not of a folder
    session = require_run(run, now)
    gpu_name = session.gpu_name or ""
    at = baselines / slug(gpu_name)
    families = by_family(row for row in run.rows.values() if not row.skipped)
    names = {row.name for rows in families.values() for row in rows}
    with alone(baselines):  # otherwise concurrent additions could be lost
        old = open_folder(at) if holds_results(at) else None
        for other in {*old.gpu_names} - {gpu_name} if old else ():
            why = f"it was measured on {quoted(gpu_name)}, but {at} holds {quoted(other)}"
            refuse(str(run_path), [(why, "move the existing files to another folder")])
        suite = session.context.get("suite", "")
        refuse(str(run_path), of_names(names, old.whole if old else None, suite))
        own = session_hash(session.context)
        before = list(old.whole.sessions.values()) if old else []
        replaced = [one for one in before if one.key.rpartition("-")[2] == own]
        joined = [*(one for one in before if one not in replaced), session]
        dropped = surplus(joined, session.key)
        kept = newest_last(one for one in joined if one not in dropped)
        files = {file.path.stem: file for file in old.files} if old else {}
        texts = {
            at / f"{family}.json": _extended(files.get(family), rows, session, kept)
            for family, rows in families.items()
        }
        replace_all(texts, changed=entry_point.CHANGED)
    changes = [f"replaced: session {one.key}, of the same boot and GPU" for one in replaced]
    why = f"because a baseline keeps at most {SESSIONS_KEPT}"
    changes += [f"dropped: session {one.key} of {one.gpu_uuid}, {why}" for one in dropped]
    changes += skips(run.rows.values())
    if kept[-1] is not session:
        changes.append(f"counters and labels are still those of session {kept[-1].key}, the newest")
    return Recorded(tuple(texts), tuple(map(inert, changes)))


def _extended(
    file: Record | None, measured: Sequence[Row], session: Session, kept: Sequence[Session]
) -> str:
    """Return a family's file with the `kept` sessions, among them that of the run.

    Order and counters are those of the newest session.
    """
    is_newest = kept[-1] is session
    old = file.rows if file else {}
    new = {row.name: row for row in measured}
    rows = []
    for name in new if is_newest else {**old, **new}:
        newest = new[name] if name in new and (is_newest or name not in old) else old[name]
        both = [side[name].process_medians for side in (old, new) if name in side]
        times = {key: own for medians in both for key, own in medians.items()}
        rows.append(structs.replace(newest, process_medians=times))
    sessions = {**(file.sessions if file else {}), session.key: session}
    return family_text([sessions[one.key] for one in kept if one.key in sessions], rows)


@dataclass(frozen=True)
class Pruned:
    """Changes to one baseline, in words and as files; a text of None deletes its file."""

    folder: Path
    lines: tuple[str, ...]
    texts: Mapping[Path, str | None]


def pruned(
    folders: Sequence[Folder], now: datetime, keys: Sequence[str], removed: Sequence[str]
) -> list[Pruned]:
    """Remove the sessions with these keys, and benchmarks that match a `removed` expression.

    Writes nothing. Raises UserError for what must not be removed or does not exist.
    """
    known = sorted({key for folder in folders for key in folder.whole.sessions})
    for key in keys:
        if key not in known:
            there = ", ".join(known)
            raise UserError(inert(f"there is no session {quoted(key)}; there are {there}"))
    for regex in removed:
        names = (name for folder in folders for name in folder.whole.rows)
        if not any(found("--removed", regex, name) for name in names):
            raise UserError(inert(f"--removed {quoted(regex)} matches no benchmark; correct it"))
    changes = []
    for folder in folders:
        rows = folder.whole.rows
        gone = [name for name in rows if any(found("--removed", one, name) for one in removed)]
        going = {*keys}.intersection(folder.whole.sessions)
        changes.append(_without(folder, going, gone, now))
    return changes


def _without(folder: Folder, going: set[str], removed: Sequence[str], now: datetime) -> Pruned:
    """Return a baseline without the `going` sessions and the `removed` benchmarks."""
    rows = folder.whole.rows
    left = [row for name, row in rows.items() if name not in removed]
    bare = [row.name for row in left if going.issuperset(row.process_medians)]
    if len(bare) == len(left):
        why = f"nothing of {folder.path} would remain"
        raise UserError(inert(f"{why}; delete the folder if this is intended"))
    if bare and (going or removed):
        why = f"{folder.path} would have no session of {named(bare)}; keep one, or name benchmarks "
        raise UserError(inert(f"{why}that are no longer measured with --removed"))
    texts: dict[Path, str | None] = {}
    for file in folder.files:
        if going & file.sessions.keys() or file.rows.keys() & {*removed}:
            own = [row for name, row in file.rows.items() if name not in removed]
            ordered = newest_last(file.sessions.values())
            sessions = [session for session in ordered if session.key not in going]
            texts[file.path] = family_text(sessions, own) if own else None
    # A session is removed once all its benchmarks are.
    kept = {key for row in left for key in row.process_medians} - going
    gone = going.union(*(rows[name].process_medians for name in removed)) - kept
    lines = [
        f"removes session {one.key} ({staleness.told(one, now)}; {one.gpu_uuid or 'no GPU'})"
        for one in newest_last(folder.whole.sessions.values())
        if one.key in gone
    ]
    lines += [f"removes benchmark {name}" for name in removed]
    lines += [f"deletes {path.name}" for path, text in texts.items() if text is None]
    return Pruned(folder.path, tuple(map(inert, lines)), texts)
