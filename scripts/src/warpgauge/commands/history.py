# SPDX-License-Identifier: Apache-2.0
"""warpgauge history: shows nightly times as tables, or exports them."""

from __future__ import annotations

import re
import signal
import sqlite3
import tempfile
from argparse import Namespace
from collections.abc import Collection, Iterator, Sequence
from concurrent.futures import Executor, ProcessPoolExecutor, ThreadPoolExecutor
from contextlib import closing, contextmanager
from datetime import datetime, timezone
from multiprocessing import get_context
from pathlib import Path

from warpgauge.commands import command_lines
from warpgauge.history import changes, database, export, series, show
from warpgauge.records.benchmark_filter import hint
from warpgauge.system import streams
from warpgauge.system.atomic import is_stream
from warpgauge.system.errors import ExitStatus, UserError, of_system
from warpgauge.system.layout import Output, print_line
from warpgauge.system.output_file import check_report
from warpgauge.system.text import plural, typed
from warpgauge.verdict import policy

# Number of points above which a process per GPU model saves more than the seconds of its start.
_WORTH_PROCESSES = 300_000
_PARQUET = re.compile(rb"\APAR1")


def main(argv: Sequence[str], root: Path) -> ExitStatus:
    given = command_lines.history().parse_args(argv)
    console = Output(highlight=False)
    faults: list[str] = []

    def answer(asked: sqlite3.Connection) -> str:
        """Return the output. Nothing is printed earlier, because a damaged database is retried."""
        faults[:] = database.faults(asked)
        with console.capture() as shown:
            _COMMANDS[given.command](asked, given, root, console)
        return shown.get()

    try:
        streams.write(database.ask(root, given.ref, answer))
    finally:
        status = show.left_out(faults)
    return status


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
    models = show.models(asked, given.gpu)
    nights = {model: series.nights_of(asked, model) for model in models}
    many = len(models) > 1 and len(names) * sum(map(len, nights.values())) > _WORTH_PROCESSES
    place = database.place_of(asked)
    with _pool(many) as pool:
        searches = [pool.submit(_found, *place, one, names, given.newest) for one in models]
        today = datetime.now(timezone.utc).date()
        for model, search in zip(models, searches, strict=True):
            told = changes.alerts(search.result(), nights[model], clocks, rules, today)
            show.alerts(told, nights[model], console, verbose=given.verbose)


def _found(
    path: Path, commit: str, model: str, names: Collection[str], newest: bool
) -> list[changes.Change]:
    """Return a GPU model's changes. Reading takes as long as the search, so each process reads."""
    found = database.opened(path, commit)
    if found is None:
        raise sqlite3.DatabaseError(f"{path} was replaced meanwhile")
    with closing(found) as asked:
        every, nights = series.all_series(asked, model, names), series.nights_of(asked, model)
        return changes.found(every, nights, series.clocks(asked), newest=newest)


@contextmanager
def _pool(many: bool) -> Iterator[Executor]:
    """Yield a process pool, or one thread for little work; cancel what is left at the end."""
    pool: Executor = (
        ProcessPoolExecutor(
            mp_context=get_context("spawn"),
            initializer=signal.signal,
            initargs=(signal.SIGINT, signal.SIG_IGN),  # the parent reports interrupts, once
        )
        if many
        else ThreadPoolExecutor(1)
    )
    try:
        yield pool
    finally:
        pool.shutdown(cancel_futures=True)


def _export(asked: sqlite3.Connection, given: Namespace, root: Path, console: Output) -> None:
    path: Path = given.file
    if is_stream(path):
        raise UserError(f"cannot write {path}: it is not a regular file")
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
