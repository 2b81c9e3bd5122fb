# SPDX-License-Identifier: Apache-2.0
"""warpgauge history: what the nights measured, as tables or for other tools."""

from __future__ import annotations

import re
import sqlite3
import tempfile
from argparse import Namespace
from collections.abc import Sequence
from datetime import datetime, timezone
from pathlib import Path

from warpgauge.commands.history_options import command_line
from warpgauge.files.atomic import is_stream
from warpgauge.files.output_file import check_report
from warpgauge.history import changes, database, export, series, show
from warpgauge.records.benchmark_filter import hint
from warpgauge.system import streams
from warpgauge.system.errors import ExitStatus, UserError, of_system
from warpgauge.system.layout import Output, print_line
from warpgauge.system.text import plural, typed
from warpgauge.verdict import policy

_PARQUET = re.compile(rb"\APAR1")


def main(argv: Sequence[str], root: Path) -> ExitStatus:
    """Raises UserError for what the user can mend."""
    given = command_line().parse_args(argv)
    console = Output(highlight=False)

    def answer(asked: sqlite3.Connection) -> str:
        """What is printed; nothing is before all was read: a damaged database is asked again."""
        with console.capture() as shown:
            _COMMANDS[given.command](asked, given, root, console)
        return shown.get()

    streams.write(database.ask(root, given.ref, answer))
    return ExitStatus.OK


def _show(asked: sqlite3.Connection, given: Namespace, root: Path, console: Output) -> None:
    names = show.matching(asked, given.filter)
    for model in show.models(asked, given.gpu):
        show.newest(asked, model, names, given.nights, console)


def _series(asked: sqlite3.Connection, given: Namespace, root: Path, console: Output) -> None:
    names = series.benchmarks(asked)
    if given.benchmark not in names:
        word = given.benchmark
        raise UserError(f"the history has no benchmark {typed(word, 200)}{hint(word, names)}")
    for model in show.models(asked, given.gpu):
        show.every_night(asked, model, given.benchmark, given.nights, console)


def _changes(asked: sqlite3.Connection, given: Namespace, root: Path, console: Output) -> None:
    names, clocks = show.matching(asked, given.filter), series.clocks(asked)
    rules = policy.named_or_in(root / "baselines", given.policy)
    if rules:
        rules.require_quick(names)
    for model in show.models(asked, given.gpu):
        nights = series.nights_of(asked, model)
        found = changes.found(
            series.all_series(asked, model, names), nights, clocks, newest=given.newest
        )
        told = changes.alerts(found, nights, clocks, rules, datetime.now(timezone.utc).date())
        show.alerts(told, nights, console, verbose=given.verbose)


def _export(asked: sqlite3.Connection, given: Namespace, root: Path, console: Output) -> None:
    path: Path = given.file
    if is_stream(path):
        raise UserError(f"cannot write {path}: it is no regular file")
    check_report(path, root / "baselines", [], _PARQUET, "Parquet file")
    models, names = show.models(asked, given.gpu), show.matching(asked, given.filter)
    target = path.resolve()
    try:
        with tempfile.TemporaryDirectory(prefix=".warpgauge-", dir=target.parent) as scratch:
            made = Path(scratch, target.name)
            count = export.parquet(asked, models, names, made)
            made.replace(target)
    except OSError as fault:
        raise of_system(fault) from None
    print_line(console, f"{path}: {plural(count, 'time')} of {plural(len(models), 'GPU model')}")


_COMMANDS = {"show": _show, "series": _series, "changes": _changes, "export": _export}
