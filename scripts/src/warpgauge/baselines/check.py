# SPDX-License-Identifier: Apache-2.0
"""warpgauge baseline check: whether baselines are reliable, and match the built programs."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator, Sequence
from contextlib import suppress
from datetime import datetime
from pathlib import Path

from rich.console import Console

from warpgauge.baselines.recordable import FEWEST_PROCESSES, spoilt
from warpgauge.baselines.show import title
from warpgauge.baselines.store import Folder, slug
from warpgauge.measure import discovery, selection
from warpgauge.measure.discovery import Binary, Probe
from warpgauge.records import counters, sessions
from warpgauge.records.model import Record
from warpgauge.records.names import FULL_SUITE
from warpgauge.records.sessions import newest_last
from warpgauge.system.environment import started
from warpgauge.system.errors import ExitStatus, UserError
from warpgauge.system.layout import print_text
from warpgauge.system.text import inert, named, plural, quoted
from warpgauge.verdict import staleness


def check(folders: Sequence[Folder], root: Path, now: datetime, console: Console) -> ExitStatus:
    """Check and report each baseline, also against the programs in build/release, if any."""
    release, everything, default = root / "build" / "release", list[Binary](), list[Binary]()
    with tempfile.TemporaryDirectory(prefix="warpgauge-") as scratch, suppress(UserError):
        everything = discovery.find(release, Path(scratch), FULL_SUITE)
        default = discovery.find(release, Path(scratch))
    warned = 0
    for folder in folders:
        print_text(console, title(folder))
        warnings = [*_findings(folder, now)]
        if everything:
            rows = folder.whole.rows.values()
            whole = any(row.counters.get(counters.FULL_SUITE) for row in rows)
            warnings += _differences(folder, everything, everything if whole else default)
        for warning in warnings:
            print_text(console, f"warning: {warning}", indent=2, style="yellow")
        if missing := _not_compared(folder.whole, everything):
            print_text(console, missing, indent=2, style="dim")
        warned += len(warnings)
    print_text(console, plural(warned, "warning") if warned else "no warnings")
    return ExitStatus.NOT_MEASURED if warned else ExitStatus.OK


def _not_compared(record: Record, built: Sequence[Binary]) -> str:
    """Name families without a program, as in a build without nvcc, or with a broken one."""
    missing = {row.family for row in record.rows.values()} - _families(built)
    faults = {one.family: f" ({one.path.name} {one.fault})" for one in built if one.fault}
    listed = ", ".join(f"{family}{faults.get(family, '')}" for family in sorted(missing))
    return inert(f"not compared: build/release does not list {listed}") if missing else ""


def _families(built: Sequence[Binary]) -> set[str]:
    return {name.split("/", 1)[0] for binary in built for name in binary.names}


def _differences(folder: Folder, built: Sequence[Binary], suite: Sequence[Binary]) -> Iterator[str]:
    """Yield warnings from comparing a baseline's names with those of a build.

    `suite` are the programs whose benchmarks the baseline should have, if its GPUs suffice.
    """
    rows, gpus = folder.whole.rows, max(one.gpus for one in folder.whole.sessions.values())
    there, families = {name for binary in built for name in binary.names}, _families(built)
    if gone := [row.name for row in rows.values() if row.name not in there
                and row.family in families]:  # fmt: skip
        yield (
            f"in the baseline but no longer in the build: {named(gone)}; if this is intended, "
            f"remove them with {started('baseline prune --removed REGEX')}"
        )
    able = selection.able(suite, Probe({}, gpus=gpus))
    wanted = [one for one in able if one.skipped is None]
    if new := sorted({name for binary in wanted for name in binary.names} - {*rows}):
        further = " ".join(dict.fromkeys(word for binary in wanted for word in binary.arguments))
        together = f"--device {','.join(map(str, range(gpus)))}" if gpus > 1 else ""
        record = " ".join(filter(None, (started("bench --record"), further, together)))
        yield f"in the build but not in the baseline: {named(new)}; {record} adds them"


def _findings(folder: Folder, now: datetime) -> Iterator[str]:
    """Yield all warnings about a baseline, the most important first."""
    record = folder.whole
    if stale := staleness.note(record, now):
        yield str(stale)
    for session in newest_last(record.sessions.values()):  # what would not be recorded today
        faults = [reason for reason, _ in spoilt(session.context)]
        counts = {name: len(row.process_medians.get(session.key, ()))
                  for name, row in record.rows.items()}  # fmt: skip
        if few := [name for name, count in counts.items() if 0 < count < FEWEST_PROCESSES]:
            faults.append(f"{named(few)}: fewer than {FEWEST_PROCESSES} processes")
        for fault in faults:
            yield inert(f"session {session.key}: {fault}; record it again, or prune it")
    models = folder.gpu_names
    if len(models) != 1:
        yield f"its sessions name these GPU models: {', '.join(map(quoted, models)) or 'none'}"
    elif folder.path.is_dir() and folder.path.resolve().name != slug(models[0]):
        where = f"warpgauge bench looks for it in {slug(models[0])}"
        yield f"the folder is not named after {quoted(models[0])}: {where}"
    for file in folder.files:
        families = sorted({row.family for row in file.rows.values()})
        if families != [file.path.stem]:
            held = ", ".join(map(quoted, families))
            yield inert(f"{file.path.name} holds the family {held}: name the file after its family")
    newest = sessions.newest(record).key
    if old := [row.name for row in record.rows.values() if newest not in row.process_medians]:
        yield inert(f"the newest session, {newest}, has no time of {named(old)}")
