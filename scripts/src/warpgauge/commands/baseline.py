# SPDX-License-Identifier: Apache-2.0
"""warpgauge baseline: record, add-session, show, limits, prune, check."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from contextlib import ExitStack
from datetime import datetime, timezone
from pathlib import Path

from warpgauge.baselines import check, prune, show, store
from warpgauge.baselines.files import open_folder, open_readable
from warpgauge.baselines.store import chosen
from warpgauge.commands import bench
from warpgauge.commands.baseline_options import (
    AddSession,
    Check,
    Limits,
    Options,
    Prune,
    RecordNow,
    Show,
    parse,
)
from warpgauge.files.atomic import replace_all
from warpgauge.reports.markdown import limits
from warpgauge.system import interrupts
from warpgauge.system.errors import ExitStatus, UserError, of_system
from warpgauge.system.layout import Output
from warpgauge.system.locks import alone
from warpgauge.system.text import inert


def main(argv: Sequence[str], root: Path, now: datetime | None = None) -> ExitStatus:
    """Raises UserError for what the user can mend. `now`, with a zone, is what ages count to."""
    try:
        return _run(parse(argv), root, now or datetime.now(timezone.utc))
    except OSError as fault:
        raise of_system(fault) from fault


def _run(options: Options, root: Path, now: datetime) -> ExitStatus:
    console, baselines = Output(highlight=False), root / "baselines"
    if isinstance(options, RecordNow):
        return bench.main(["--record", *options.bench_arguments], root)
    if isinstance(options, AddSession):
        recorded = store.record(options.run_file, baselines, now)
        with interrupts.telling(interrupts.CHANGED):
            _print(console, recorded.lines())
        return ExitStatus.OK
    folders = chosen(baselines, options.asked)
    if isinstance(options, Check):
        return check.check(folders, root, now, options.stale_days, console)
    if isinstance(options, Limits):
        for path in folders:
            _print(console, limits.table(open_folder(path).whole, options.filter))
        return ExitStatus.OK
    if isinstance(options, Prune):
        _prune(options, folders, now, console)
        return ExitStatus.OK
    _show(options, folders, now, console)
    return ExitStatus.OK


def _show(options: Show, folders: Sequence[Path], now: datetime, console: Output) -> None:
    """Raises UserError, a line each, for those that cannot be read when the others are shown."""
    readable, faults = open_readable(folders)
    for index, folder in enumerate(readable):
        if index:
            console.print()
        show.show(folder, now, console, options.rows)
    if faults:
        raise UserError("\n".join(faults))


def _prune(options: Prune, folders: Sequence[Path], now: datetime, console: Output) -> None:
    for path in folders:
        if not path.is_dir():
            raise UserError(
                inert(f"{path} is one file of a baseline; give its folder, for they change as one")
            )
    with ExitStack() as held:
        for parent in sorted({path.resolve().parent for path in folders}):
            held.enter_context(alone(parent))
        _prune_held(options, folders, now, console)


def _prune_held(options: Prune, folders: Sequence[Path], now: datetime, console: Output) -> None:
    plans = prune.plans([open_folder(path) for path in folders], options.criteria, now)
    texts = {path: text for plan in plans for path, text in plan.texts.items()}
    for plan in plans:
        if plan.texts:
            _print(console, [f"{os.path.relpath(plan.folder)}:"])
            _print(console, [f"  {line}" for line in plan.lines(now)])
    if not texts:
        _print(console, ["nothing to remove: no session and no benchmark matches"])
    elif options.dry_run:
        _print(console, ["nothing was changed (--dry-run)"])
    else:
        replace_all(texts, changed=interrupts.CHANGED)
        with interrupts.telling(interrupts.CHANGED):
            _print(console, (f"pruned: {os.path.relpath(path)}" for path in texts))


def _print(console: Output, lines: Iterable[str]) -> None:
    for line in lines:
        console.print(line, markup=False, highlight=False, soft_wrap=True)
