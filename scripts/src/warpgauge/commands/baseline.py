# SPDX-License-Identifier: Apache-2.0
"""warpgauge baseline: add-session, show, export, prune, check."""

from __future__ import annotations

import argparse
import os
from collections.abc import Iterable, Sequence
from contextlib import ExitStack
from datetime import datetime, timezone
from pathlib import Path

from warpgauge.baselines import check, show, store
from warpgauge.baselines.store import open_folder
from warpgauge.commands import command_lines
from warpgauge.system import entry_point, streams
from warpgauge.system.atomic import replace_all
from warpgauge.system.errors import ExitStatus, UserError
from warpgauge.system.layout import Output, print_line
from warpgauge.system.locks import alone
from warpgauge.system.text import inert


def main(argv: Sequence[str], root: Path, now: datetime | None = None) -> ExitStatus:
    """Run a subcommand; ages are relative to `now`, with a time zone. Raises UserError."""
    given, now = command_lines.baseline().parse_args(argv), now or datetime.now(timezone.utc)
    console, baselines = Output(highlight=False), root / "baselines"
    if given.command == "add-session":
        recorded = store.record(given.run_file, baselines, now)
        with entry_point.telling(entry_point.CHANGED):
            _print(console, recorded.lines())
        return ExitStatus.OK
    if given.command == "prune" and not (given.session or given.removed):
        raise UserError("prune needs to know what to remove: give --session or --removed")
    folders = [open_folder(path) for path in store.chosen(baselines, given.asked)]
    if given.command == "check":
        return check.check(folders, root, now, console)
    if given.command == "export" and not given.where:
        streams.write(show.distribution(folders))
    elif given.command == "export":
        if len(folders) > 1:
            names = " or ".join(folder.path.name for folder in folders)
            raise UserError(f"a partition has one GPU model: name one of {names}")
        _print(console, [show.references(folders[0].whole, given.where)])
    elif given.command == "prune":
        _prune(given, [folder.path for folder in folders], now, console)
    else:
        for index, folder in enumerate(folders):
            if index:
                console.print()
            show.show(folder, now, console, rows=given.asked is not None)
    return ExitStatus.OK


def _prune(
    given: argparse.Namespace, folders: Sequence[Path], now: datetime, console: Output
) -> None:
    for path in folders:
        if not path.is_dir():
            what = f"{path} is one file of a baseline; name its folder, whose files change together"
            raise UserError(inert(what))
    with ExitStack() as held:
        for parent in sorted({path.resolve().parent for path in folders}):
            held.enter_context(alone(parent))
        opened = [open_folder(path) for path in folders]
        plans = store.pruned(opened, now, given.session, given.removed)
        texts = {path: text for plan in plans for path, text in plan.texts.items()}
        for plan in plans:
            if plan.texts:
                lines = [f"  {line}" for line in plan.lines]
                _print(console, [f"{os.path.relpath(plan.folder)}:", *lines])
        replace_all(texts, changed=entry_point.CHANGED)
        with entry_point.telling(entry_point.CHANGED):
            _print(console, (f"pruned: {os.path.relpath(path)}" for path in texts))


def _print(console: Output, lines: Iterable[str]) -> None:
    for line in lines:
        print_line(console, line)
