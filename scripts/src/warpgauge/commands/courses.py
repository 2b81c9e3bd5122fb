# SPDX-License-Identifier: Apache-2.0
"""How each benchmark developed over the last nights, from the history's database, for plots."""

from __future__ import annotations

import math
import sqlite3
from bisect import bisect_left
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import pairwise

from warpgauge.history import changes, series
from warpgauge.history.changes import Change
from warpgauge.history.code_series import Cause
from warpgauge.history.series import Night, Series
from warpgauge.records.model import Clock
from warpgauge.reports.drawing import course
from warpgauge.reports.drawing.course import Course, Event
from warpgauge.system.git import short
from warpgauge.system.text import duration, percent

# Most nights in a plot; the history has older ones.
_MOST_NIGHTS = 120
# Facts that may explain a step in the times, and what they describe.
_EVENTS = {
    "gpu_uuid": "GPU",
    "driver_version": "driver",
    "cpu_model": "machine",
    "kernel_release": "machine",
}


def of(
    asked: sqlite3.Connection, slug: str, clocks: Mapping[str, Clock]
) -> tuple[int, dict[str, Course]]:
    """Return a GPU model's number of nights, and each benchmark's course over the last ones.

    `clocks` are as in `changes.found`.
    """
    nights = series.nights_of(asked, slug)
    if not nights:
        return 0, {}
    first = max(len(nights) - _MOST_NIGHTS, 0)
    every = [
        replace(one, nights=tuple(index - first for index in one.nights))
        for one in series.all_series(asked, slug, last=_MOST_NIGHTS)
    ]
    points: dict[str, list[Change]] = {}
    found = changes.found(every, nights[first:], clocks)
    for change in sorted(found, key=lambda one: one.point.index):
        points.setdefault(change.benchmark, []).append(change)
    every.sort(key=lambda one: one.benchmark)
    return len(nights), {
        one.benchmark: _course(one, nights[first:], points.get(one.benchmark, ())) for one in every
    }


def _course(one: Series, nights: Sequence[Night], points: Sequence[Change]) -> Course:
    measured = [nights[index] for index in one.nights]
    shown = []
    columns = one.log_seconds, one.errors, one.log_ratios
    for night, log, error, ratio in zip(measured, *columns, strict=True):
        day, seconds = night.date[:10], math.exp(log)
        told = f"{day}: {duration(seconds)}, commit {short(night.commit)}"
        if not math.isnan(ratio):
            told += f", in pairs {percent(math.expm1(ratio))} beside {short(night.base)}"
        shown.append(course.Night(day, seconds, 0.0 if math.isnan(error) else error, told))
    marks = []
    for point, cause in ((found.point, found.cause) for found in points):
        change, low, high = (math.expm1(log) for log in (point.change, point.low, point.high))
        first, last = (nights[at].date[:10] for at in (point.first, point.last))
        place = first if first == last else f"one of {first} … {last}"
        whose = "" if cause is Cause.UNKNOWN else f", by the {cause.value}"
        told = f"{percent(change)} from {place} on{whose}"
        index = bisect_left(one.nights, point.index)
        marks.append(course.ChangePoint(index, change, low, high, told))
    return Course(one.benchmark, shown, marks, [*_events(measured)])


def _events(nights: Sequence[Night]) -> Iterator[Event]:
    for index, (before, after) in enumerate(pairwise(nights), 1):
        for fact, kind in _EVENTS.items():
            old, new = before.facts.get(fact, ""), after.facts.get(fact, "")
            if old != new:
                yield Event(index, kind, f"{kind}: {old or 'unknown'} → {new or 'unknown'}")
