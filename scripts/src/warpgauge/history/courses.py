# SPDX-License-Identifier: Apache-2.0
"""How each benchmark went over the nights, as pages draw it."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from itertools import pairwise
from pathlib import Path

import numpy as np

from warpgauge.history import changes
from warpgauge.history.changes import Cause, Change
from warpgauge.history.lines import History, Night, Times
from warpgauge.reports.drawing import course
from warpgauge.reports.drawing.course import Course, Mark
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


def of_model(slug: str, given: str, root: Path, faults: list[str]) -> dict[str, Course]:
    """Return the course of each benchmark on a GPU model; `faults` gets unreadable lines.

    `given` is a branch of the clone `root`, or the folder of its checkout. Raises UserError if
    there is no history for this model.
    """
    checkout = Path(given)
    history = History.at(checkout, "HEAD") if checkout.is_dir() else History.at(root, given)
    ((_, nights),) = history.models(slug)
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
        change = math.expm1(point.change)
        first, last = (times.nights[at].date[:10] for at in (point.first, point.last))
        place = first if first == last else f"one of {first} … {last}"
        whose = "" if cause is Cause.UNKNOWN else f", by the {cause.value}"
        text = f"{percent(change)} from {place} on{whose}"
        index = int(np.searchsorted(measured, point.index))
        marks.append(Mark(index, change, tooltip=text))
    marks += _events([times.nights[column] for column in measured])
    return Course(times.names[row], shown, marks)


def _events(nights: Sequence[Night]) -> Iterator[Mark]:
    for index, (before, after) in enumerate(pairwise(nights), 1):
        for fact, kind in _EVENTS.items():
            old, new = before.facts.get(fact, ""), after.facts.get(fact, "")
            if old != new:
                yield Mark(index, 0.0, kind, f"{kind}: {old or 'unknown'} → {new or 'unknown'}")
