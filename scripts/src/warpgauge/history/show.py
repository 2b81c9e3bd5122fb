# SPDX-License-Identifier: Apache-2.0
"""warpgauge history show, series and changes: the times of a GPU model as tables."""

from __future__ import annotations

import math
import re
import sqlite3
from collections.abc import Collection, Sequence

import numpy as np
from rich.console import Console

from warpgauge.history import series
from warpgauge.history.changes import Alert
from warpgauge.history.lines import LONGEST_REASON
from warpgauge.history.series import Night, Series
from warpgauge.records import benchmark_filter
from warpgauge.records.benchmark_filter import SEARCH_LIMIT_S, cpu_limit, hint
from warpgauge.statistics.change_points import FEWEST_NIGHTS
from warpgauge.system.errors import ExitStatus, UserError
from warpgauge.system.git import short
from warpgauge.system.layout import Cells, Columns, Output, print_text
from warpgauge.system.text import cut, duration, inert, percent, plural, suggestion, typed

_UNKNOWN = "–"
_DISPENSABLE = (0, 1)  # columns dropped from narrow tables
_LONGEST_FACT = 60  # characters
_GPU = re.compile(r"(?:GPU-)?([0-9A-Za-z]{1,8})")


def models(database: sqlite3.Connection, asked: str) -> list[str]:
    """The GPU model `asked` for by slug; empty: all. Raises UserError if it has no night."""
    known = series.gpu_models(database)
    if not known:
        raise UserError("the history has no nights yet: the workflow nightly adds them")
    if asked and asked not in known:
        raise UserError(f"the history has no nights of {typed(asked)}: {suggestion(asked, known)}")
    return [asked] if asked else known


def matching(database: sqlite3.Connection, filter: str) -> set[str]:
    """The benchmarks that `filter` selects. Raises UserError if there is none."""
    names = series.benchmarks(database)
    with cpu_limit(SEARCH_LIMIT_S, f"--filter {typed(filter)} takes too long; simplify it"):
        found = {name for name in names if benchmark_filter.matches(filter, name, "--filter")}
    if not found and filter:
        raise UserError(f"no benchmark matches --filter {typed(filter)}{hint(filter, names)}")
    return found


def left_out(faults: Sequence[str]) -> ExitStatus:
    """Name the unreadable lines of the history on standard error. Returns the exit status."""
    notes = Output(stderr=True)
    for sentence in faults:
        print_text(notes, sentence)
    if not faults:
        return ExitStatus.OK
    print_text(notes, f"{plural(len(faults), 'line')} of the history left out")
    return ExitStatus.NOT_MEASURED


def newest(
    database: sqlite3.Connection,
    gpu_model: str,
    names: Collection[str],
    last: int,
    console: Console,
) -> None:
    """Print each benchmark's newest time and its change from earlier ones of the `last` nights."""
    nights = series.nights_of(database, gpu_model)
    heading = Cells("benchmark", ("nights", "newest", "time", "change"))
    lines = [
        Cells(
            inert(one.benchmark),
            (
                str(len(one.nights)),
                inert(nights[one.nights[-1]].date[:10]),
                *_time(one, nights, len(one.nights) - 1),
            ),
        )
        for one in series.all_series(database, gpu_model, names, last)
    ]
    print_text(console, _title(nights[-last:]), style="bold")
    _print(console, heading, lines, left=(1,))


def every_night(
    database: sqlite3.Connection, gpu_model: str, benchmark: str, last: int, console: Console
) -> None:
    """Print the `last` nights of one benchmark, including those without a time."""
    told = series.series(database, benchmark, gpu_model)
    reasons = series.reasons(database, benchmark, gpu_model)
    nights = series.nights_of(database, gpu_model)
    first = max(len(nights) - last, 0)
    at = {night: position for position, night in enumerate(told.nights)}
    lines = []
    in_pairs = bool(np.isfinite(told.log_ratios[np.array(told.nights) >= first]).any())
    for index, night in list(enumerate(nights))[first:]:
        # The first digits of the UUID distinguish GPUs of the same model.
        gpu = _GPU.match(night.facts.get("gpu_uuid", ""))
        driver = inert(cut(night.facts.get("driver_version", _UNKNOWN), _LONGEST_FACT))
        cells: tuple[str, ...] = (
            inert(short(night.commit)),
            gpu.group(1) if gpu else _UNKNOWN,
            driver,
        )
        if index in at:
            own = at[index]
            time, change = _time(told, nights, own, first)
            ratio = _UNKNOWN
            if np.isfinite(told.log_ratios[own]):
                of_base = percent(math.expm1(told.log_ratios[own]))
                ratio = f"{of_base} {_error(told.ratio_errors[own])} of {inert(short(night.base))}"
            ratios = (ratio,) if in_pairs else ()
            cells = (*cells, time, _error(told.errors[own]), *ratios, change)
        else:
            why = reasons.get(night.id, "not in the suite")
            nothing = [_UNKNOWN] * (3 if in_pairs else 2)
            cells = (*cells, *nothing, inert(cut(why, LONGEST_REASON)))
        lines.append(Cells(inert(night.date[:10]), cells))
    print_text(console, _title(nights[first:]), style="bold")
    print_text(console, inert(benchmark))
    pairs = ("in pairs",) if in_pairs else ()
    heading = Cells("night", ("commit", "GPU", "driver", "time", "error", *pairs, "change"))
    _print(console, heading, lines, left=(0, 1, 2))
    print_text(console, "error: standard error, from the scatter of processes", style="dim")
    if in_pairs:
        print_text(console, "in pairs: change from the base, ± standard error", style="dim")


def alerts(
    told: Sequence[Alert], nights: Sequence[Night], console: Console, *, verbose: bool
) -> None:
    """Print one line per alert, by night; explained ones only if `verbose`."""
    shown = [one for one in told if verbose or not one.is_quiet]
    quiet = len(told) - len(shown)
    print_text(console, _title(nights), style="bold")
    heading = Cells("benchmark", ("since", "commits", "others", "change", "cause"))
    lines = [_alert(one, nights) for one in shown]
    if lines:
        _print(console, heading, lines, (0, 1, 4), "others: more benchmarks with the same change")
    if not lines or quiet:
        left = f"; {quiet} explained, shown with --verbose" if quiet else ""
        print_text(console, f"{plural(len(shown), 'change')}{left}", style="dim")
    if not told and len(nights) < FEWEST_NIGHTS:
        few = f"few nights: large changes are found from {FEWEST_NIGHTS} nights on"
        print_text(console, f"{few}, smaller ones later")


def _alert(one: Alert, nights: Sequence[Night]) -> Cells:
    largest = one.changes[0]
    first, last = (nights[at].date[:10] for at in (one.first, one.last))
    since = first if first == last else f"{first} … {last}"
    causes = [*one.machine, *(["code"] if one.is_code else [])]
    cause = largest.explained or ", ".join(causes) or "unknown"
    if not largest.point.placed:
        cause += "; few nights"
    return Cells(
        inert(largest.benchmark or "all host times"),
        (
            inert(since),
            inert(f"{short(one.good)}…{short(one.bad)}"),
            str(len(one.changes) - 1),
            percent(math.expm1(largest.point.change)),
            inert(cause),
        ),
    )


def _title(nights: Sequence[Night]) -> str:
    first, last = (night.date[:10] for night in (nights[0], nights[-1]))
    gpu = cut(nights[-1].facts.get("gpu_name", _UNKNOWN), _LONGEST_FACT)
    days = first if first == last else f"{first} … {last}"
    return inert(f"{gpu} · {plural(len(nights), 'night')}, {days}")


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


def _time(one: Series, nights: Sequence[Night], position: int, first: int = 0) -> tuple[str, str]:
    """The time at `position`, and its change from the median of the earlier nights since `first`.

    The change is that of the ratios if earlier nights have the same base: no machine moves these.
    """
    begin = int(np.searchsorted(one.nights, first))
    base = nights[one.nights[position]].base
    same = np.array([nights[at].base == base for at in one.nights[begin:position]], dtype=bool)
    now, before = one.log_ratios[position], one.log_ratios[begin:position][same]
    before = before[np.isfinite(before)]
    if np.isnan(now) or not len(before):
        now, before = one.log_seconds[position], one.log_seconds[begin:position]
    change = percent(math.expm1(now - np.median(before))) if len(before) else _UNKNOWN
    return duration(math.exp(one.log_seconds[position])), change


def _error(error: float) -> str:
    return _UNKNOWN if np.isnan(error) else f"±{error:.2%}".replace("%", " %")
