# SPDX-License-Identifier: Apache-2.0
"""warpgauge history: shows nightly times as tables, or exports them."""

from __future__ import annotations

import csv
import io
from argparse import Namespace
from collections.abc import Iterator, Sequence
from datetime import datetime, timezone
from pathlib import Path

from msgspec.structs import astuple

from warpgauge.commands import command_lines
from warpgauge.history import changes, show
from warpgauge.history.lines import FACTS, History, Night, Times, left_out
from warpgauge.records.benchmark_filter import hint, matching
from warpgauge.system import streams
from warpgauge.system.errors import ExitStatus, UserError
from warpgauge.system.layout import Output
from warpgauge.system.text import csv_cell, inert, typed
from warpgauge.verdict import policy

BRANCH = "origin/history"
_COLUMNS = ("gpu", "benchmark", "date", "commit", "run", "seconds", "log_sd", "processes",
            *FACTS, "base", "log_ratio", "log_ratio_sd", "pairs")  # fmt: skip


def main(argv: Sequence[str], root: Path) -> ExitStatus:
    given = command_lines.history().parse_args(argv)
    is_series = given.command == "series"
    if is_series is not bool(given.name) or (is_series and given.filter):
        raise UserError("history series takes the name of a benchmark, the others --filter")
    console = Output(highlight=False)
    history = History.at(root, BRANCH)
    try:
        with console.capture() as shown:  # a refusal is not preceded by half of the tables
            if is_series:
                _show_series(history, given, console)
            elif given.command == "changes":
                _show_changes(history, given, root, console)
            elif given.command == "export":
                streams.write(_csv(history, given))
            else:
                for _, nights, names in _selected(history, given):
                    show.newest(nights[-command_lines.NIGHTS :], names, console)
        streams.write(shown.get())
    finally:
        status = left_out(history.faults)
    return status


def _selected(history: History, given: Namespace) -> Iterator[tuple[str, list[Night], list[str]]]:
    """Yield each GPU model with its nights and the benchmarks that --filter selects.

    Raises UserError at the end if it selects none.
    """
    known: dict[str, None] = {}
    is_empty = True
    for model, nights in history.models(given.gpu):
        own = dict.fromkeys(name for night in nights for name in night.benchmarks)
        known |= own
        names = [*matching(given.filter, own)]
        is_empty = is_empty and not names
        yield model, nights, names
    if is_empty and given.filter:
        near = hint(given.filter, known)
        raise UserError(f"no benchmark matches --filter {typed(given.filter)}{near}")


def _show_series(history: History, given: Namespace, console: Output) -> None:
    known = set[str]()
    for _, nights in history.models(given.gpu):
        known.update(name for night in nights for name in (*night.benchmarks, *night.unmeasured))
        show.every_night(nights[-command_lines.NIGHTS :], given.name, console)
    if given.name not in known:
        near = hint(given.name, known)
        raise UserError(f"the history has no benchmark {typed(given.name, 200)}{near}")


def _show_changes(history: History, given: Namespace, root: Path, console: Output) -> None:
    rules = policy.named_or_in(root / "baselines", None)
    today = datetime.now(timezone.utc).date()
    for _, nights, names in _selected(history, given):
        if rules:
            rules.require_quick(names)
        times = Times.of(nights, names)
        found = changes.found(times)
        alerts = changes.alerts(found, times, rules, today)
        show.alerts(alerts, nights, console)
        show.drifts(changes.drifts(times, found), console)


def _csv(history: History, given: Namespace) -> str:
    """Return the times as CSV, by GPU model, benchmark and night."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(_COLUMNS)
    for gpu, nights, names in _selected(history, given):
        for name in names:
            for night in nights:
                if point := night.benchmarks.get(name):
                    ratio = night.ratios.get(name)
                    when = (night.date, night.commit, night.run)
                    facts = (night.facts.get(key) for key in FACTS)
                    pairs = (night.base, *astuple(ratio)) if ratio else [""] * 4
                    what = map(csv_cell, (gpu, name))
                    writer.writerow((*what, *when, *astuple(point), *facts, *pairs))
    return "\n".join(map(inert, text.getvalue().split("\n")))
