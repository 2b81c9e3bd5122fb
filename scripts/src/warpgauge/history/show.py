# SPDX-License-Identifier: Apache-2.0
"""warpgauge ci history show: how the times of a GPU model went, night by night."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path
from statistics import median

from rich.console import Console

from warpgauge.files.location import Place
from warpgauge.history import entry
from warpgauge.history.entry import Night
from warpgauge.records import benchmark_filter
from warpgauge.records.benchmark_filter import hint
from warpgauge.system import git
from warpgauge.system.errors import UserError
from warpgauge.system.git import short
from warpgauge.system.layout import Cells, Columns, print_text
from warpgauge.system.text import duration, inert, percent, plural, quoted, typed

_UNKNOWN = "–"
_DISPENSABLE = (0, 1)  # columns of either table, where there is no room
_GPU = re.compile(r"(?:GPU-)?([0-9A-Za-z]{1,8})")


def nights(root: Path, ref: str, slug: str) -> list[Night]:
    """Those of a GPU model that the commit `ref` holds, by date. Raises UserError."""
    found = git.run(root, "rev-parse", "--verify", "--quiet", "--end-of-options", f"{ref}^{{tree}}")
    if found.returncode:
        raise UserError(
            f"{quoted(ref)} is no branch of this clone: git fetch origin history gets the history, "
            "if there is one yet"
        )
    # Every line of every file, in one process.
    told = git.run(root, "grep", "--no-color", "-h", "-e", "", found.stdout.strip(), "--", slug)
    if told.returncode > 1:
        raise UserError(f"git grep failed in {root}: {git.words(told)}")
    lines = [line for line in told.stdout.split("\n") if line]
    if not lines:
        raise UserError(f"{quoted(ref)} holds no night of {slug}")
    place = Place(Path(ref), f"a line of {slug}")
    history = [entry.read(line, place) for line in lines]
    return sorted(history, key=lambda night: (night.date, night.run))


def show(history: Sequence[Night], filter: str, console: Console) -> None:
    """Print the table. Raises UserError where `filter` matches nothing."""
    names = dict.fromkeys(name for night in reversed(history) for name in night.seconds)
    wanted = [name for name in names if benchmark_filter.matches(filter, name, "--filter")]
    if not wanted:
        raise UserError(f"no benchmark matches --filter {typed(filter)}{hint(filter, names)}")
    print_text(console, _title(history), style="bold")
    if len(wanted) == 1:
        print_text(console, inert(wanted[0]))
        lines = _of_one(history, wanted[0])
        heading = Cells("night", ("commit", "GPU", "driver", "time", "change"))
        left: Sequence[int] = (0, 1, 2)
    else:
        lines = [_of_many(history, name) for name in wanted]
        heading = Cells("benchmark", ("nights", "newest", "time", "change"))
        left = (1,)
    columns = Columns.fitting([heading, *lines], console.width, _DISPENSABLE)
    print_text(console, columns.line(heading, left), style="dim")
    for line in lines:
        print_text(console, columns.line(line, left))
    print_text(console, "change: beside the median of the nights before", style="dim")


def _title(history: Sequence[Night]) -> str:
    first, last = (night.date[:10] for night in (history[0], history[-1]))
    gpu = history[-1].facts.get("gpu_name", _UNKNOWN)
    days = first if first == last else f"{first} … {last}"
    return inert(f"{gpu} · {plural(len(history), 'night')}, {days}")


def _of_many(history: Sequence[Night], name: str) -> Cells:
    there = [night for night in history if name in night.seconds]
    times = [night.seconds[name] for night in there]
    newest, change = inert(there[-1].date[:10]), _change(times[:-1], times[-1])
    return Cells(inert(name), (str(len(there)), newest, duration(times[-1]), change))


def _of_one(history: Sequence[Night], name: str) -> list[Cells]:
    lines: list[Cells] = []
    before: list[float] = []
    for night in history:
        time = night.seconds.get(name)
        # The digits that tell one GPU of a model from another.
        gpu = _GPU.match(night.facts.get("gpu_uuid", ""))
        driver = inert(night.facts.get("driver_version", _UNKNOWN))
        cells = [inert(short(night.commit)), gpu.group(1) if gpu else _UNKNOWN, driver]
        if time is None:
            cells += [_UNKNOWN, inert(night.unmeasured.get(name, "not in the suite"))]
        else:
            cells += [duration(time), _change(before, time)]
            before.append(time)
        lines.append(Cells(inert(night.date[:10]), tuple(cells)))
    return lines


def _change(before: Sequence[float], time: float) -> str:
    return percent(time / median(before) - 1) if before else _UNKNOWN
