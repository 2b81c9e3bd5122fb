# SPDX-License-Identifier: Apache-2.0
"""warpgauge ci pages: the folder that GitHub Pages publishes, of what the last nights found."""

from __future__ import annotations

import math
import os
import re
import sqlite3
import sys
from bisect import bisect_left
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

from warpgauge.commands.ci import command_lines
from warpgauge.files.output_file import require_empty
from warpgauge.github import gpus
from warpgauge.github.api import GitHub
from warpgauge.github.branch import Repository
from warpgauge.github.gpus import Gpu
from warpgauge.github.newest_nights import Newest, NewestNights
from warpgauge.history import changes, database, series
from warpgauge.history.series import Night, Series
from warpgauge.records.model import Clock
from warpgauge.reports import site
from warpgauge.reports.drawing import course
from warpgauge.reports.drawing.course import Course, Event
from warpgauge.reports.formats import FORMATS
from warpgauge.reports.headline import check_word
from warpgauge.reports.workflow_commands import command
from warpgauge.statistics.change_points import ChangePoint
from warpgauge.system.errors import ExitStatus
from warpgauge.system.git import short
from warpgauge.system.text import duration, percent, plural

# Of a picture; older nights are in the history.
_MOST_NIGHTS = 120
# What a file of the site may be called, but for those that are there.
_FAMILY = re.compile(r"[a-z0-9][a-z0-9_]{0,63}")
# What explains a step in the times, by the facts that tell it.
_EVENTS = {
    "gpu_uuid": "GPU",
    "driver_version": "driver",
    "cpu_model": "machine",
    "kernel_release": "machine",
}


def main(
    argv: Sequence[str], root: Path, environment: Mapping[str, str] = os.environ
) -> ExitStatus:
    """Raises UserError for a folder that is not empty, and where GitHub does not tell."""
    given = command_lines.pages().parse_args(argv)
    require_empty(given.out_dir)
    models = gpus.read(gpus.file_of(root))
    nights = NewestNights(Repository(GitHub.of(environment), given.repository))
    newest = nights.by_slug(models)
    for refusal in nights.refusals:
        print(command("warning", {"title": "Not shown"}, refusal), file=sys.stderr)
    rows = [_write_gpu(given.out_dir, given.history, gpu, newest.get(gpu.slug)) for gpu in models]
    _write(given.out_dir / site.INDEX, site.index(rows))
    print(f"made: {given.out_dir}, of {plural(len(models), 'GPU')}, {len(newest)} with a report")
    return ExitStatus.OK


def _write_gpu(out: Path, history: Path, gpu: Gpu, newest: Newest | None) -> site.Gpu:
    """A GPU's folder; what the index says of it."""
    verdicts = newest.found.verdicts if newest is not None else ()
    clocks = {verdict.name: verdict.clock for verdict in verdicts}
    count, families = database.ask(history, "HEAD", lambda db: _families(db, gpu.slug, clocks))
    row = site.Gpu(gpu.slug, gpu.name, count)
    folder = out / gpu.slug
    if newest is not None:
        told = (check_word(newest.found.exit_status), newest.day, short(newest.commit), newest.url)
        row = site.Gpu(gpu.slug, gpu.name, count, *told)
        _write(folder / site.REPORT, FORMATS["html"].render(newest.found))
    for family, courses in families.items():
        _write(folder / f"{family}.html", site.of_family(row, family, map(course.drawn, courses)))
    counts = {family: len(courses) for family, courses in families.items()}
    _write(folder / site.INDEX, site.of_gpu(row, counts))
    return row


def _families(
    asked: sqlite3.Connection, slug: str, clocks: Mapping[str, Clock]
) -> tuple[int, dict[str, list[Course]]]:
    """How many nights there are, and how the last ones went, by family and name."""
    nights = series.nights_of(asked, slug)
    if not nights:
        return 0, {}
    first = max(len(nights) - _MOST_NIGHTS, 0)
    every = [
        replace(one, nights=tuple(index - first for index in one.nights))
        for one in series.all_series(asked, slug, last=_MOST_NIGHTS)
    ]
    points: dict[str, list[ChangePoint]] = {}
    for change in changes.found(every, nights[first:], clocks):
        points.setdefault(change.benchmark, []).append(change.point)
    found: dict[str, list[Course]] = {}
    for one in sorted(every, key=lambda one: one.benchmark):
        family = one.benchmark.partition("/")[0]
        if _FAMILY.fullmatch(family) and f"{family}.html" not in (site.INDEX, site.REPORT):
            drawn = _course(one, nights[first:], points.get(one.benchmark, ()))
            found.setdefault(family, []).append(drawn)
    return len(nights), found


def _course(one: Series, nights: Sequence[Night], points: Sequence[ChangePoint]) -> Course:
    measured = [nights[index] for index in one.nights]
    shown = []
    for night, log, error in zip(measured, one.log_seconds, one.errors, strict=True):
        day, seconds = night.date[:10], math.exp(log)
        told = f"{day}: {duration(seconds)}, commit {short(night.commit)}"
        shown.append(course.Night(day, seconds, 0.0 if math.isnan(error) else error, told))
    marks = []
    for point in points:
        change, low, high = (math.expm1(log) for log in (point.change, point.low, point.high))
        told = f"{percent(change)} from {nights[point.index].date[:10]} on"
        index = bisect_left(one.nights, point.index)
        marks.append(course.ChangePoint(index, change, low, high, told))
    return Course(one.benchmark, shown, marks, [*_events(measured)])


def _events(nights: Sequence[Night]) -> Iterator[Event]:
    for index, (before, after) in enumerate(pairwise(nights), 1):
        for fact, kind in _EVENTS.items():
            old, new = before.facts.get(fact, ""), after.facts.get(fact, "")
            if old != new:
                yield Event(index, kind, f"{kind}: {old or 'unknown'} → {new or 'unknown'}")


def _write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
