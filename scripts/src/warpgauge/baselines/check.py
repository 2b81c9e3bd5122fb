# SPDX-License-Identifier: Apache-2.0
"""warpgauge baseline check: whether baselines are reliable, and match the built programs."""

from __future__ import annotations

import os
import tempfile
from collections import Counter
from collections.abc import Collection, Iterator, Sequence
from datetime import datetime
from pathlib import Path

from rich.console import Console

from warpgauge.baselines import spread
from warpgauge.baselines.files import FamilyFile, Folder, open_readable
from warpgauge.baselines.recordable import FEWEST_PROCESSES, spoilt
from warpgauge.baselines.store import slug
from warpgauge.measure import discovery, selection
from warpgauge.measure.discovery import Binary, Probe
from warpgauge.records import counters, sessions
from warpgauge.records.model import FULL_SUITE, Record
from warpgauge.records.sessions import newest_last, session_hash
from warpgauge.system.errors import ExitStatus, UserError
from warpgauge.system.layout import print_text
from warpgauge.system.text import inert, named, percent, plural, quoted
from warpgauge.verdict import staleness
from warpgauge.verdict.controls import is_control


def check(
    folders: Sequence[Path], root: Path, now: datetime, stale_days: float, console: Console
) -> ExitStatus:
    """Check and report each baseline. Raises UserError at the end for unreadable ones."""
    release = root / "build" / "release"
    everything, built = _built(release)
    readable, faults = open_readable(folders)
    warned = remarked = 0
    for folder in readable:
        whole = any(row.counters.get(counters.FULL_SUITE) for row in folder.whole.rows.values())
        gpus = max(session.gpus for session in folder.whole.sessions.values())
        asked = selection.able(everything if whole else built, Probe({}, gpus=gpus))
        wanted = [one for one in asked if one.skipped is None]
        warnings, remarks = [*_findings(folder, now, stale_days)], [*_drowned(folder.whole)]
        if built:
            differing, unchecked = _compared(tuple(folder.whole.rows), everything, wanted, gpus)
            warnings += differing
            remarks += unchecked
        warned += len(warnings)
        remarked += len(remarks)
        print_text(console, _heading(folder, now))
        for warning in warnings:
            print_text(console, f"warning: {warning}", indent=2, style="yellow")
        for remark in remarks:
            print_text(console, remark, indent=2, style="dim")
    if not everything:
        remarked += 1
        unbuilt = (
            f"nothing is built in {os.path.relpath(release)}: not checked whether the benchmarks "
            "of the baseline and of the build are the same"
        )
        print_text(console, unbuilt, style="dim")
    if faults:
        raise UserError("; ".join(faults))
    ending = plural(warned, "warning") if warned else "no warnings"
    if remarked:
        ending += f", {plural(remarked, 'remark')} (for information)"
    print_text(console, ending)
    return ExitStatus.NOT_MEASURED if warned else ExitStatus.OK


def _built(folder: Path) -> tuple[list[Binary], list[Binary]]:
    """Return the programs with all benchmarks, and with the default suite; empty if not built."""
    with tempfile.TemporaryDirectory(prefix="warpgauge-") as scratch:
        try:
            everything = discovery.find(folder, Path(scratch), FULL_SUITE)
            return everything, discovery.find(folder, Path(scratch))
        except UserError:
            return [], []


def _heading(folder: Folder, now: datetime) -> str:
    record = folder.whole
    newest = sessions.newest(record)
    return inert(
        f"{os.path.relpath(folder.path)}: {', '.join(folder.gpu_names) or 'no GPU'}, "
        f"{plural(len(record.rows), 'benchmark')}, {plural(len(record.sessions), 'session')}; "
        f"newest {staleness.told(newest, now)}, commit {staleness.commit(newest)}"
    )


def _compared(
    names: Collection[str], built: Sequence[Binary], wanted: Sequence[Binary], gpus: int
) -> tuple[list[str], list[str]]:
    """Return warnings and remarks from comparing a baseline's names with those of a build.

    `wanted` are the programs whose benchmarks the baseline, made on `gpus` GPUs, should have.
    """
    listed = {name for binary in built for name in binary.names}
    silent = {binary.family for binary in built if binary.fault is not None}
    gone = [n for n in names if n not in listed and n.split("/", 1)[0] not in silent]
    remarks = [
        inert(f"{binary.family} was not compared with its program: {binary.path.name} {one}")
        for binary in built
        if (one := binary.fault) is not None
    ]
    if not any(binary.needs_gpu for binary in built):  # a build without nvcc
        families = {binary.family for binary in built}
        gone = [name for name in gone if name.split("/", 1)[0] in families]
        remarks.append(
            "no GPU benchmark is built, so the GPU benchmarks of the baseline were not "
            "compared with the programs"
        )
    new = sorted({name for binary in wanted for name in binary.names} - set(names))
    warnings = []
    if gone:
        warnings.append(
            f"in the baseline but no longer in the build: {named(gone)}; if this is intended, "
            "remove them with scripts/warpgauge baseline prune --removed REGEX"
        )
    if new:
        further = " ".join(dict.fromkeys(word for binary in wanted for word in binary.arguments))
        together = f"--device {','.join(map(str, range(gpus)))}" if gpus > 1 else ""
        record = " ".join(f"scripts/warpgauge baseline record {further} {together}".split())
        warnings.append(f"in the build but not in the baseline: {named(new)}; {record} adds them")
    return warnings, remarks


def _findings(folder: Folder, now: datetime, stale_days: float) -> Iterator[str]:
    """Yield all warnings about a baseline, the most important first."""
    yield from _dates(folder.whole, now, stale_days)
    yield from _sessions(folder.whole)
    yield from _gpus(folder)
    yield from _files(folder.files)
    yield from _rows(folder.whole)


def _dates(record: Record, now: datetime, stale_days: float) -> Iterator[str]:
    if stale := staleness.note(record, now, stale_days):
        yield str(stale)
    *older, _ = newest_last(record.sessions.values())
    for session in older:
        if staleness.measured(session) is None:
            yield f"session {quoted(session.key)} does not say when it was measured"
        elif staleness.is_future(session, now):
            yield (
                f"session {quoted(session.key)} is dated in the future "
                f"({staleness.told(session, now)}): a clock is wrong"
            )


def _sessions(record: Record) -> Iterator[str]:
    """Yield sessions that would not be recorded today, and duplicates."""
    for session in newest_last(record.sessions.values()):
        faults = [reason for reason, _ in spoilt(session.context)]
        rows = record.rows.items()
        counts = {name: len(row.process_medians.get(session.key, ())) for name, row in rows}
        few = [name for name, count in counts.items() if 0 < count < FEWEST_PROCESSES]
        if few:
            faults.append(f"{named(few)}: fewer than {FEWEST_PROCESSES} processes")
        for fault in faults:
            yield inert(f"session {session.key}: {fault}; record it again, or prune it")
    seen: dict[str, str] = {}
    for session in record.sessions.values():
        identity = session_hash(session.context)
        if session.gpu_uuid and session.boot_id and identity in seen:
            yield inert(
                f"sessions {seen[identity]} and {session.key} are from the same boot of "
                "the same GPU"
            )
        seen[identity] = session.key


def _gpus(folder: Folder) -> Iterator[str]:
    models = folder.gpu_names
    sessions = [session for file in folder.files for session in file.record.sessions.values()]
    ((usual, _),) = Counter(session.gpu_name or "" for session in sessions).most_common(1)
    for file in folder.files:
        if file.gpu_name and usual and file.gpu_name != usual:
            yield inert(
                f"{file.path.name} names the GPU {quoted(file.gpu_name)}, but its sessions and the "
                f"other files name {quoted(usual)}: correct its 'context', or record it again"
            )
    if len(models) > 1:
        yield f"holds several GPU models: {', '.join(map(quoted, models))}"
    elif not models:
        yield "no session names its GPU"
    elif folder.path.is_dir() and folder.path.resolve().name != slug(models[0]):
        yield (
            f"the folder is not named after {quoted(models[0])}: scripts/bench looks for it in "
            f"{slug(models[0])}"
        )


def _files(files: Sequence[FamilyFile]) -> Iterator[str]:
    """Yield misnamed files, and contradictions between the files of one folder."""
    for file in files:
        families = {row.family for row in file.record.rows.values()}
        if families != {file.path.stem}:
            held = ", ".join(quoted(family) for family in sorted(families))
            yield inert(f"{file.path.name} holds the family {held}: name the file after its family")
    everything = {key: one for file in files for key, one in file.record.sessions.items()}
    ordered = [session.key for session in newest_last(everything.values())]
    for file in files:
        own = file.record.sessions
        # A family may have begun later than the others, but must have all later sessions.
        since = min(ordered.index(key) for key in own)
        lacks = [key for key in ordered[since:] if key not in own]
        if lacks:
            yield inert(
                f"{file.path.name} lacks the session {', '.join(lacks)}, which other files have"
            )
    for key in ordered:
        told = [file.record.sessions[key].context for file in files if key in file.record.sessions]
        names = sorted({name for context in told for name in context})
        differing = [n for n in names if len({c[n] for c in told if n in c}) > 1]
        if differing:
            yield inert(f"the files disagree on the {', '.join(differing)} of session {key}")


def _rows(record: Record) -> Iterator[str]:
    failed = [name for name, row in record.rows.items() if row.error is not None]
    if failed:
        yield f"holds no time of benchmarks that failed: {named(failed)}"
    newest = sessions.newest(record).key
    rows = record.rows.items()
    old = [n for n, row in rows if row.error is None and newest not in row.process_medians]
    if old:
        yield inert(f"the newest session, {newest}, has no time of {named(old)}")


def _drowned(record: Record) -> Iterator[str]:
    """Yield a remark on rows whose scatter hides their minimum effect."""
    blind: dict[str, tuple[float, float]] = {}
    for name, row in record.rows.items():
        if row.error is not None or is_control(row):  # controls decide nothing
            continue
        seen, wanted = spread.smallest_visible(row), spread.wanted(row)
        if seen is not None and seen > wanted:
            blind[name] = (seen, wanted)
    if blind:
        worst_first = sorted(blind, key=lambda name: blind[name][1] / blind[name][0])
        visible, minimum = (percent(one, sign=False) for one in blind[worst_first[0]])
        yield (
            "processes scatter too much to detect the change that should count: "
            f"{named(worst_first)}; at worst {visible} is detectable where {minimum} should count"
        )
