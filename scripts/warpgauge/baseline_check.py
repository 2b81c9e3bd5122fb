# SPDX-License-Identifier: Apache-2.0
"""scripts/baseline check: whether the baselines can be relied on."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Sequence
from datetime import datetime
from pathlib import Path

from rich.console import Console

from warpgauge import discovery, staleness
from warpgauge.baseline_findings import findings, remarks
from warpgauge.baseline_folder import Folder, open_folder
from warpgauge.baseline_suite import Suite, compared
from warpgauge.discovery import Binary
from warpgauge.errors import ExitStatus, UserError
from warpgauge.layout import print_text
from warpgauge.sessions import newest_last
from warpgauge.text import inert, plural


def check(
    folders: Sequence[Path], root: Path, now: datetime, stale_days: float, console: Console
) -> ExitStatus:
    """Check each, and say all; raises UserError for one that cannot be read, after the others."""
    built, unbuilt = _built(root / "build" / "release" / "benchmarks")
    count, faults = 0, []
    for path in folders:
        try:
            folder = open_folder(path)
        except UserError as fault:
            faults.append(str(fault))
            continue
        suite = compared(tuple(folder.whole.rows), built) if built else Suite((), ())
        warnings = [*findings(folder, now, stale_days), *suite.warnings]
        count += len(warnings)
        print_text(console, _heading(folder, now))
        for warning in warnings:
            print_text(console, f"warning: {warning}", indent=2, style="yellow")
        for remark in (*remarks(folder.whole), *suite.remarks):
            print_text(console, remark, indent=2, style="dim")
    if unbuilt:
        print_text(console, unbuilt, style="dim")
    if faults:
        raise UserError("; ".join(faults))
    print_text(console, plural(count, "warning") if count else "no warnings")
    return ExitStatus.NOT_MEASURED if count else ExitStatus.OK


def _built(folder: Path) -> tuple[list[Binary], str]:
    """The programs that are built, or why the baselines are not held against them."""
    with tempfile.TemporaryDirectory(prefix="warpgauge-") as scratch:
        try:
            return discovery.find(folder, Path(scratch)), ""
        except UserError:
            return [], (
                f"nothing is built in {os.path.relpath(folder)}: whether each benchmark still "
                "exists, and each is in the baseline, was not checked"
            )


def _heading(folder: Folder, now: datetime) -> str:
    record = folder.whole
    newest = newest_last(record.sessions.values())[-1]
    return inert(
        f"{os.path.relpath(folder.path)}: {', '.join(folder.gpu_names) or 'no GPU'}, "
        f"{plural(len(record.rows), 'benchmark')}, {plural(len(record.sessions), 'session')}; "
        f"newest {staleness.told(newest, now)}, commit {staleness.commit(newest)}"
    )
