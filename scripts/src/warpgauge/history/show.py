# SPDX-License-Identifier: Apache-2.0
"""The history as tables, and how each benchmark went as pages draw it."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterator, Sequence
from itertools import pairwise
from pathlib import Path

import numpy as np
from rich.console import Console

from warpgauge.history import changes
from warpgauge.history.changes import Alert, Cause, Change, Drift
from warpgauge.history.lines import LONGEST_REASON, History, Night, Times
from warpgauge.reports.drawing import course
from warpgauge.reports.drawing.course import Course, Mark
from warpgauge.statistics.change_points import FEWEST_NIGHTS
from warpgauge.statistics.log_ratios import Array
from warpgauge.system.git import short
from warpgauge.system.layout import Cells, Columns, print_text
from warpgauge.system.text import cut, duration, inert, percent, plural

_UNKNOWN = "–"
_DISPENSABLE = (0, 1)  # columns dropped from narrow tables
_LONGEST_FACT = 60  # characters
# Most nights in a plot; the history has older ones.
_MOST_NIGHTS = 120
# Facts that may explain a step in the times, and what they describe.
_EVENTS = {
    "gpu_uuid": "GPU",
    "driver_version": "driver",
    "cpu_model": "machine",
    "kernel_release": "machine",
}


def newest(nights: Sequence[Night], names: Collection[str], console: Console) -> None:
    """Print each benchmark's newest time and its change from earlier ones of these nights."""
    times = Times.of(nights, names)
    lines = []
    for row, name in enumerate(times.names):
        measured = np.flatnonzero(np.isfinite(times.log_seconds[row]))
        day = inert(nights[measured[-1]].date[:10])
        cells = (str(len(measured)), day, *_time_and_change(times, row, measured[-1]))
        lines.append(Cells(inert(name), cells))
    heading = Cells("benchmark", ("nights", "newest", "time", "change"))
    print_text(console, _title(nights), style="bold")
    _print(console, heading, lines, left=(1,))


def every_night(nights: Sequence[Night], benchmark: str, console: Console) -> None:
    """Print these nights of one benchmark, including those without a time."""
    times = Times.of(nights, [benchmark])
    in_pairs = bool(np.isfinite(times.log_ratios).any())
    lines = []
    for column, night in enumerate(nights):
        # The first digits of the UUID distinguish GPUs of the same model.
        gpu = inert(night.facts.get("gpu_uuid", _UNKNOWN).removeprefix("GPU-")[:8])
        driver = inert(cut(night.facts.get("driver_version", _UNKNOWN), _LONGEST_FACT))
        cells = [inert(short(night.commit)), gpu, driver]
        if benchmark in night.benchmarks:
            time, change = _time_and_change(times, 0, column)
            ratios = [_ratio(times, column)] if in_pairs else []
            cells += [time, _error(times.errors[0, column]), *ratios, change]
        else:
            why = night.unmeasured.get(benchmark, "not in the suite")
            nothing = [_UNKNOWN] * (3 if in_pairs else 2)
            cells += [*nothing, inert(cut(why, LONGEST_REASON))]
        lines.append(Cells(inert(night.date[:10]), tuple(cells)))
    print_text(console, _title(nights), style="bold")
    print_text(console, inert(benchmark))
    pairs = ("in pairs",) if in_pairs else ()
    heading = Cells("night", ("commit", "GPU", "driver", "time", "error", *pairs, "change"))
    _print(console, heading, lines, left=(0, 1, 2))
    print_text(console, "error: standard error, from the scatter of processes", style="dim")
    if in_pairs:
        print_text(console, "in pairs: change from the base, ± standard error", style="dim")


def alerts(found: Sequence[Alert], nights: Sequence[Night], console: Console) -> None:
    """Print one line per alert, by night."""
    print_text(console, _title(nights), style="bold")
    heading = Cells("benchmark", ("since", "commits", "others", "change", "cause"))
    lines = [_alert(alert, nights) for alert in found]
    if lines:
        _print(console, heading, lines, (0, 1, 4), "others: how many benchmarks changed alike")
    else:
        print_text(console, "0 changes", style="dim")
    if not found and len(nights) < FEWEST_NIGHTS:
        few = f"few nights: large changes are found from {FEWEST_NIGHTS} nights on"
        print_text(console, f"{few}, smaller ones later")


def drifts(moving: Sequence[Drift], console: Console) -> None:
    """Print one line per benchmark whose time moves slowly."""
    if moving:
        lines = [Cells(inert(drift.benchmark), (_slowly(drift),)) for drift in moving]
        heading = Cells("benchmark", ("moves slowly, which is no change of a night",))
        _print(console, heading, lines, (0,), "slowest from fastest level, apart from changes")


def _slowly(drift: Drift) -> str:
    if drift.a_year is not None:
        return f"drifting {percent(math.expm1(drift.a_year))} a year"
    return f"season of ±{math.expm1(drift.swing / 2.0):.1%}".replace("%", " %")


def _alert(alert: Alert, nights: Sequence[Night]) -> Cells:
    largest = alert.changes[0]
    causes = [*alert.machine, *(["code"] if alert.is_code else [])]
    cause = largest.explained or ", ".join(causes) or "unknown"
    if not largest.point.placed:
        cause += "; few nights"
    since = inert(_days(nights[alert.first], nights[alert.last]))
    commits = inert(f"{short(alert.good)}…{short(alert.bad)}")
    others, change = str(len(alert.changes) - 1), percent(math.expm1(largest.point.change))
    name = inert(largest.benchmark or "all host times")
    return Cells(name, (since, commits, others, change, inert(cause)))


def _days(first: Night, last: Night) -> str:
    days = first.date[:10], last.date[:10]
    return days[0] if days[0] == days[1] else " … ".join(days)


def _title(nights: Sequence[Night]) -> str:
    gpu = cut(nights[-1].facts.get("gpu_name", _UNKNOWN), _LONGEST_FACT)
    return inert(f"{gpu} · {plural(len(nights), 'night')}, {_days(nights[0], nights[-1])}")


def _print(
    console: Console,
    heading: Cells,
    lines: Sequence[Cells],
    left: Sequence[int],
    legend: str = "change: from the median of earlier nights",
) -> None:
    columns = Columns.fitting([heading, *lines], console.width, _DISPENSABLE)
    print_text(console, columns.line(heading, left), style="dim")
    for line in lines:
        print_text(console, columns.line(line, left))
    print_text(console, legend, style="dim")


def _time_and_change(times: Times, row: int, column: int) -> tuple[str, str]:
    """A benchmark's time in a night, and its change from the median of the earlier nights.

    The change is that of the ratios if earlier nights have the same base: no machine moves these.
    """

    def change(values: Array, earlier: Sequence[int]) -> str:
        before = values[row, earlier]
        before = before[np.isfinite(before)]
        if not len(before) or np.isnan(values[row, column]):
            return ""
        return percent(math.expm1(values[row, column] - np.median(before)))

    base = times.nights[column].base
    of_base = [at for at in range(column) if times.nights[at].base == base]
    shown = change(times.log_ratios, of_base) or change(times.log_seconds, range(column))
    return duration(math.exp(times.log_seconds[row, column])), shown or _UNKNOWN


def _ratio(times: Times, column: int) -> str:
    ratio, base = times.log_ratios[0, column], times.nights[column].base
    if np.isnan(ratio):
        return _UNKNOWN
    error = _error(times.ratio_errors[0, column])
    return f"{percent(math.expm1(ratio))} {error} of {inert(short(base))}"


def _error(error: float) -> str:
    return _UNKNOWN if np.isnan(error) else f"±{error:.2%}".replace("%", " %")


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
