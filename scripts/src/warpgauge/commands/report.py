# SPDX-License-Identifier: Apache-2.0
"""warpgauge report: a comparison, and the history of its benchmarks, as one HTML page."""

from __future__ import annotations

import math
import os
from argparse import Namespace
from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise
from pathlib import Path

import numpy as np

from warpgauge.baselines import store
from warpgauge.commands import command_lines, compare
from warpgauge.commands.output import unpaired_comparison
from warpgauge.commands.output_file import check_report, is_stream, write
from warpgauge.history import changes, show
from warpgauge.history.changes import Cause, Change
from warpgauge.history.lines import History, Night, Times
from warpgauge.records.load import load
from warpgauge.records.model import Record, Source
from warpgauge.reports.drawing import course
from warpgauge.reports.drawing.course import Course, Event
from warpgauge.reports.format import FORMATS
from warpgauge.reports.formats import html as page
from warpgauge.reports.view import gpu_name
from warpgauge.system.errors import ExitStatus, UserError
from warpgauge.system.git import short
from warpgauge.system.layout import Output, print_line, print_text
from warpgauge.system.location import STANDARD_INPUT
from warpgauge.system.text import duration, inert, percent

# Most nights in a plot; the history has older ones.
_MOST_NIGHTS = 120
# Facts that may explain a step in the times, and what they describe.
_EVENTS = {
    "gpu_uuid": "GPU",
    "driver_version": "driver",
    "cpu_model": "machine",
    "kernel_release": "machine",
}


def main(argv: Sequence[str], root: Path) -> ExitStatus:
    given, baselines, form = parse(argv), root / "baselines", FORMATS["html"]
    check_report(given.out, baselines, [], form.own, form.kind)
    *before, run = map(load, given.runs)
    base = before[0] if before else _baseline(run, baselines)
    if base is None:
        found = unpaired_comparison(run, given.allow)
    else:
        found = compare.judged(base, run, given, baselines)
    faults: list[str] = []
    try:
        histories = _histories(given, root, gpu_name(run), faults) if given.history else {}
        write(given.out, page.render(found, histories=histories))
    finally:
        status = show.left_out(faults)
    for fault in (unread := [fault for side in (*before, run) for fault in side.faults]):
        print_text(Output(stderr=True), fault)
    print_line(Output(stderr=is_stream(given.out)), f"Report: {inert(os.path.relpath(given.out))}")
    return ExitStatus.NOT_MEASURED if unread else status


def parse(argv: Sequence[str]) -> Namespace:
    """Parse `argv`; `runs` are the run, or the base and the run. Raises UserError."""
    parser = command_lines.report()
    options = parser.parse_args(argv)
    if len(options.runs) > 2:
        parser.error("a report has at most two sides: give one or two RUNs")
    if options.runs.count(STANDARD_INPUT) > 1:
        parser.error("standard input can be read only once: give a file instead of one '-'")
    if options.out is None:
        run = options.runs[-1]
        if run is STANDARD_INPUT:
            parser.error(
                "standard input has no file name to derive the report's name from: give --out"
            )
        run = run.resolve() if run.name in ("", "..") else run
        options.out = run.with_name(f"{run.name.removesuffix('.json')}.html")
    return options


def _baseline(run: Record, baselines: Path) -> Record | None:
    """Return the baseline of the run's GPU model; None if there is none."""
    gpu = gpu_name(run)
    path = store.find(baselines, gpu) if gpu and run.source is not Source.BASELINE else None
    return load(path) if path else None


def _histories(
    given: Namespace, root: Path, gpu: str | None, faults: list[str]
) -> Mapping[str, Course]:
    """Return the history of each benchmark on this GPU model; `faults` gets unreadable lines.

    Raises UserError if there is no history for it.
    """
    if not gpu:
        raise UserError(f"{given.runs[-1]} names no GPU, so it has no history: omit --history")
    checkout = Path(given.history)
    history = History.at(checkout, "HEAD") if checkout.is_dir() else History.at(root, given.history)
    ((_, nights),) = history.models(store.slug(gpu))
    faults += history.faults
    return courses(nights)


def courses(nights: Sequence[Night]) -> dict[str, Course]:
    """Return each benchmark's course over the last of a GPU model's nights."""
    times = Times.of(nights[-_MOST_NIGHTS:])
    points: dict[str, list[Change]] = {}
    for change in sorted(changes.found(times), key=lambda change: change.point.index):
        points.setdefault(change.benchmark, []).append(change)
    return {
        name: _course(times, row, points.get(name, ()))
        for name, row in sorted(zip(times.names, range(len(times.names)), strict=True))
    }


def _course(times: Times, row: int, points: Sequence[Change]) -> Course:
    measured = np.flatnonzero(np.isfinite(times.log_seconds[row])).tolist()
    shown = []
    for column in measured:
        night, seconds = times.nights[column], math.exp(times.log_seconds[row, column])
        error = float(np.nan_to_num(times.errors[row, column]))
        ratio = times.log_ratios[row, column]
        text = f"{night.date[:10]}: {duration(seconds)}, commit {short(night.commit)}"
        if not math.isnan(ratio):
            text += f", in pairs {percent(math.expm1(ratio))} beside {short(night.base)}"
        shown.append(course.Night(night.date[:10], seconds, error, text))
    marks = []
    for point, cause in ((found.point, found.cause) for found in points):
        change, low, high = (math.expm1(log) for log in (point.change, point.low, point.high))
        first, last = (times.nights[at].date[:10] for at in (point.first, point.last))
        place = first if first == last else f"one of {first} … {last}"
        whose = "" if cause is Cause.UNKNOWN else f", by the {cause.value}"
        text = f"{percent(change)} from {place} on{whose}"
        index = int(np.searchsorted(measured, point.index))
        marks.append(course.ChangePoint(index, change, low, high, text))
    events = _events([times.nights[column] for column in measured])
    return Course(times.names[row], shown, marks, [*events])


def _events(nights: Sequence[Night]) -> Iterator[Event]:
    for index, (before, after) in enumerate(pairwise(nights), 1):
        for fact, kind in _EVENTS.items():
            old, new = before.facts.get(fact, ""), after.facts.get(fact, "")
            if old != new:
                yield Event(index, kind, f"{kind}: {old or 'unknown'} → {new or 'unknown'}")
