# SPDX-License-Identifier: Apache-2.0
"""warpgauge baseline check: whether the baselines can be relied on, and fit what is built."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from rich.console import Console

from warpgauge.baselines.files import Folder, open_readable
from warpgauge.baselines.findings import findings, remarks
from warpgauge.execution import discovery
from warpgauge.execution.discovery import Binary
from warpgauge.records import counters
from warpgauge.records.model import FULL_SUITE
from warpgauge.records.sessions import newest_last
from warpgauge.system.errors import ExitStatus, UserError
from warpgauge.system.layout import print_text
from warpgauge.system.text import inert, named, plural
from warpgauge.verdict import staleness


@dataclass(frozen=True)
class Suite:
    """What was found: `warnings` are to be mended, `remarks` say what was not checked."""

    warnings: tuple[str, ...]
    remarks: tuple[str, ...]


def check(
    folders: Sequence[Path], root: Path, now: datetime, stale_days: float, console: Console
) -> ExitStatus:
    """Check each, and say all; raises UserError for one that cannot be read, after the others."""
    everything, built, unbuilt = _built(root / "build" / "release")
    readable, faults = open_readable(folders)
    warned = remarked = 0
    for folder in readable:
        whole = any(row.counters.get(counters.FULL_SUITE) for row in folder.whole.rows.values())
        wanted = everything if whole else built
        suite = compared(tuple(folder.whole.rows), everything, wanted) if built else Suite((), ())
        warnings = [*findings(folder, now, stale_days), *suite.warnings]
        told = [*remarks(folder.whole), *suite.remarks]
        warned += len(warnings)
        remarked += len(told)
        print_text(console, _heading(folder, now))
        for warning in warnings:
            print_text(console, f"warning: {warning}", indent=2, style="yellow")
        for remark in told:
            print_text(console, remark, indent=2, style="dim")
    if unbuilt:
        remarked += 1
        print_text(console, unbuilt, style="dim")
    if faults:
        raise UserError("; ".join(faults))
    print_text(console, _ending(warned, remarked))
    return ExitStatus.NOT_MEASURED if warned else ExitStatus.OK


def _ending(warned: int, remarked: int) -> str:
    """What was printed, counted: ``no warnings, 1 remark (no fault, but worth knowing)``."""
    warnings = plural(warned, "warning") if warned else "no warnings"
    if not remarked:
        return warnings
    return f"{warnings}, {plural(remarked, 'remark')} (no fault, but worth knowing)"


def _built(folder: Path) -> tuple[list[Binary], list[Binary], str]:
    """The programs that are built, with all their benchmarks and with those of the default suite,
    or why the baselines are not held against them.
    """
    with tempfile.TemporaryDirectory(prefix="warpgauge-") as scratch:
        try:
            everything = discovery.find(folder, Path(scratch), FULL_SUITE)
            return everything, discovery.find(folder, Path(scratch)), ""
        except UserError:
            return (
                [],
                [],
                (
                    f"nothing is built in {os.path.relpath(folder)}: whether each benchmark still "
                    "exists, and each is in the baseline, was not checked"
                ),
            )


def _heading(folder: Folder, now: datetime) -> str:
    record = folder.whole
    newest = newest_last(record.sessions.values())[-1]
    return inert(
        f"{os.path.relpath(folder.path)}: {', '.join(folder.gpu_names) or 'no GPU'}, "
        f"{plural(len(record.rows), 'benchmark')}, {plural(len(record.sessions), 'session')}; "
        f"newest {staleness.told(newest, now)}, commit {staleness.commit(newest)}"
    )


def compared(names: Collection[str], built: Sequence[Binary], wanted: Sequence[Binary]) -> Suite:
    """The names of a baseline's rows beside those of the programs of a build.

    `wanted` has of these programs what belongs into the baseline.
    """
    listed = {name for binary in built for name in binary.names}
    silent = {binary.family for binary in built if binary.fault is not None}
    gone = [n for n in names if n not in listed and n.split("/", 1)[0] not in silent]
    remarks = [
        inert(f"{binary.family} was not held against its program: {binary.path.name} {one}")
        for binary in built
        if (one := binary.fault) is not None
    ]
    if not any(binary.needs_gpu for binary in built):  # a build without nvcc
        families = {binary.family for binary in built}
        gone = [name for name in gone if name.split("/", 1)[0] in families]
        remarks.append("no GPU benchmark is built, so theirs were not held against the programs")
    new = sorted({name for binary in wanted for name in binary.names} - set(names))
    warnings = []
    if gone:
        warnings.append(
            f"in the baseline and no longer in the build: {named(gone)}; if this is meant, "
            "scripts/warpgauge baseline prune --removed REGEX takes it out"
        )
    if new:
        further = " ".join(dict.fromkeys(word for binary in wanted for word in binary.arguments))
        record = f"scripts/warpgauge baseline record {further}".rstrip()
        warnings.append(f"in the build and not in the baseline: {named(new)}; {record} adds it")
    return Suite(tuple(warnings), tuple(remarks))
