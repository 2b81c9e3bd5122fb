# SPDX-License-Identifier: Apache-2.0
"""warpgauge baseline check: whether baselines are reliable, and match the built programs."""

from __future__ import annotations

import tempfile
from collections.abc import Collection, Iterable, Iterator, Sequence
from datetime import datetime
from pathlib import Path

from rich.console import Console

from warpgauge.baselines.recordable import FEWEST_PROCESSES, spoilt
from warpgauge.baselines.show import title
from warpgauge.baselines.store import FamilyFile, Folder, slug
from warpgauge.measure import discovery, selection
from warpgauge.measure.discovery import Binary, Probe
from warpgauge.records import counters, sessions
from warpgauge.records.model import Record
from warpgauge.records.names import FULL_SUITE
from warpgauge.records.sessions import newest_last
from warpgauge.system.errors import ExitStatus, UserError
from warpgauge.system.layout import print_text
from warpgauge.system.text import inert, named, plural, quoted
from warpgauge.verdict import staleness


def check(folders: Sequence[Folder], root: Path, now: datetime, console: Console) -> ExitStatus:
    """Check and report each baseline."""
    everything, default = _built(root / "build" / "release")
    warned = 0
    for folder in folders:
        whole = any(row.counters.get(counters.FULL_SUITE) for row in folder.whole.rows.values())
        gpus = max(session.gpus for session in folder.whole.sessions.values())
        wanted = selection.able(everything if whole else default, Probe({}, gpus=gpus))
        wanted = [one for one in wanted if one.skipped is None]
        warnings = [*_findings(folder, now)]
        if everything:
            warnings += _differences(folder.whole.rows, everything, wanted, gpus)
        print_text(console, title(folder))
        for warning in warnings:
            print_text(console, f"warning: {warning}", indent=2, style="yellow")
        if missing := _not_compared(folder.whole.rows, everything):
            print_text(console, missing, indent=2, style="dim")
        warned += len(warnings)
    print_text(console, plural(warned, "warning") if warned else "no warnings")
    return ExitStatus.NOT_MEASURED if warned else ExitStatus.OK


def _built(folder: Path) -> tuple[list[Binary], list[Binary]]:
    """Return the programs with all benchmarks, and with the default suite; empty if not built."""
    with tempfile.TemporaryDirectory(prefix="warpgauge-") as scratch:
        try:
            everything = discovery.find(folder, Path(scratch), FULL_SUITE)
            return everything, discovery.find(folder, Path(scratch))
        except UserError:
            return [], []


def _not_compared(names: Iterable[str], built: Sequence[Binary]) -> str:
    """Name families without a program, as in a build without nvcc, or with a broken one."""
    missing = {name.split("/", 1)[0] for name in names} - _families(built)
    faults = {one.family: f" ({one.path.name} {one.fault})" for one in built if one.fault}
    listed = ", ".join(f"{family}{faults.get(family, '')}" for family in sorted(missing))
    return inert(f"not compared: build/release does not list {listed}") if missing else ""


def _families(built: Sequence[Binary]) -> set[str]:
    return {name.split("/", 1)[0] for binary in built for name in binary.names}


def _differences(
    names: Collection[str], built: Sequence[Binary], wanted: Sequence[Binary], gpus: int
) -> Iterator[str]:
    """Yield warnings from comparing a baseline's names with those of a build.

    `wanted` are the programs whose benchmarks the baseline, made on `gpus` GPUs, should have.
    """
    there, families = {name for binary in built for name in binary.names}, _families(built)
    if gone := [n for n in names if n not in there and n.split("/", 1)[0] in families]:
        yield (
            f"in the baseline but no longer in the build: {named(gone)}; if this is intended, "
            "remove them with scripts/warpgauge baseline prune --removed REGEX"
        )
    if new := sorted({name for binary in wanted for name in binary.names} - {*names}):
        further = " ".join(dict.fromkeys(word for binary in wanted for word in binary.arguments))
        together = f"--device {','.join(map(str, range(gpus)))}" if gpus > 1 else ""
        record = " ".join(f"scripts/bench --record {further} {together}".split())
        yield f"in the build but not in the baseline: {named(new)}; {record} adds them"


def _findings(folder: Folder, now: datetime) -> Iterator[str]:
    """Yield all warnings about a baseline, the most important first."""
    if stale := staleness.note(folder.whole, now):
        yield str(stale)
    yield from _sessions(folder.whole)
    models = folder.gpu_names
    if len(models) != 1:
        yield f"its sessions name these GPU models: {', '.join(map(quoted, models)) or 'none'}"
    elif folder.path.is_dir() and folder.path.resolve().name != slug(models[0]):
        where = f"scripts/bench looks for it in {slug(models[0])}"
        yield f"the folder is not named after {quoted(models[0])}: {where}"
    yield from _files(folder.files)
    newest = sessions.newest(folder.whole).key
    rows = folder.whole.rows.values()
    if old := [row.name for row in rows if newest not in row.process_medians]:
        yield inert(f"the newest session, {newest}, has no time of {named(old)}")


def _sessions(record: Record) -> Iterator[str]:
    """Yield sessions that would not be recorded today."""
    for session in newest_last(record.sessions.values()):
        faults = [reason for reason, _ in spoilt(session.context)]
        rows = record.rows.items()
        counts = {name: len(row.process_medians.get(session.key, ())) for name, row in rows}
        if few := [name for name, count in counts.items() if 0 < count < FEWEST_PROCESSES]:
            faults.append(f"{named(few)}: fewer than {FEWEST_PROCESSES} processes")
        for fault in faults:
            yield inert(f"session {session.key}: {fault}; record it again, or prune it")


def _files(files: Sequence[FamilyFile]) -> Iterator[str]:
    """Yield misnamed files, and files that lack sessions."""
    every = {key: one for file in files for key, one in file.record.sessions.items()}
    ordered = [session.key for session in newest_last(every.values())]
    for file in files:
        families = sorted({row.family for row in file.record.rows.values()})
        if families != [file.path.stem]:
            held = ", ".join(map(quoted, families))
            yield inert(f"{file.path.name} holds the family {held}: name the file after its family")
        # A family may have begun later than the others, but must have all later sessions.
        since = min(map(ordered.index, file.record.sessions))
        lacks = ", ".join(key for key in ordered[since:] if key not in file.record.sessions)
        if lacks:
            yield inert(f"{file.path.name} lacks the session {lacks}, which other files have")
