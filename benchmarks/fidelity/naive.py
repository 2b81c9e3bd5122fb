# SPDX-License-Identifier: Apache-2.0
"""What the usual timers say of one kernel, beside replay times and CUPTI's. Pure functions.

bench_naive reads the timers. Its kernel is that of fidelity/square, of which a Finding has the
replay time and CUPTI's busy time, both with a cold cache.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from rich.console import Console

from fidelity import finding
from fidelity.finding import Finding
from warpgauge.records.row import Row
from warpgauge.system.errors import ExitStatus
from warpgauge.system.layout import Cells, Columns, print_facts, print_text
from warpgauge.system.text import duration, inert, percent

BINARY = "bench_naive"
KERNEL = "fidelity/square/f32/"


@dataclass(frozen=True)
class Timer:
    """One column; `why` says what its time holds beside the kernel, or lacks."""

    heading: str
    why: str
    name: str = ""  # among the benchmarks of bench_naive

    def benchmark(self, size: str) -> str:
        return f"naive/{self.name}/f32/{size}"


NAIVE = (
    Timer(
        "host call",
        "times the launch call alone: the kernel may not have begun when the clock stops",
        "host_unsynchronised",
    ),
    Timer(
        "host sync",
        "adds the launch call, the start of the kernel and the host's way out of its wait",
        "host_synchronised",
    ),
    Timer(
        "event pair",
        "adds the device's way from event to kernel to event, here also the launch call between "
        "them, and finds the data of the launch before in the L2",
        "event_pair",
    ),
    Timer(
        "do_bench",
        "as in Triton: launches are queued and the L2 is evicted, but the way between events and "
        "kernel is added to each launch, and the memset leaves the L2 with lines to write back",
        "do_bench",
    ),
    Timer(
        "cudagraph",
        "as do_bench_cudagraph: nothing stands between the launches of a graph, but all use the "
        "same buffers, and what fits into the L2 is not read from memory",
        "do_bench_cudagraph",
    ),
)
REPLAY = Timer(
    "replay",
    "a graph of many launches on buffers that rotate past an evicted L2, between rests: one launch "
    "with a cold cache",
)
CUPTI = Timer(
    "CUPTI",
    "the time that the device was busy with the kernel in such replays, in a process of its own: "
    "the other columns' errors are relative to it",
)
COLUMNS = (*NAIVE, REPLAY, CUPTI)


@dataclass(frozen=True)
class Line:
    """The kernel at one size."""

    size: str  # "n:4096"
    times_ns: Mapping[Timer, float]  # without those that have none
    faults: Sequence[str] = ()

    @property
    def title(self) -> str:
        """``4 Ki``, of any axis whose value is that round; else the size as it stands."""
        value = self.size.rpartition(":")[2]
        count = int(value) if value.isdecimal() else 0
        for unit, name in ((1 << 20, "Mi"), (1 << 10, "Ki")):
            if count and count % unit == 0:
                return f"{count // unit} {name}"
        return inert(value)

    def error(self, timer: Timer) -> float | None:
        """Relative to CUPTI's time; None where either is missing."""
        if timer not in self.times_ns or CUPTI not in self.times_ns:
            return None
        return self.times_ns[timer] / self.times_ns[CUPTI] - 1


def size_of(name: str) -> str:
    """``n:4096`` of the kernel's benchmark with that axis."""
    return name.removeprefix(KERNEL)


def benchmarks(kernels: Sequence[str]) -> frozenset[str]:
    """Those of bench_naive at the sizes of `kernels`, which are benchmarks of the kernel."""
    return frozenset(timer.benchmark(size_of(name)) for name in kernels for timer in NAIVE)


def joined(findings: Sequence[Finding], rows: Sequence[Row]) -> list[Line]:
    """One line a finding, with the times that the rows of bench_naive have for its size."""
    by_name = {row.name: row for row in rows}
    lines = []
    for found in findings:
        size = size_of(found.name)
        times: dict[Timer, float] = {}
        faults = [] if found.error is None else [f"{found.name}: {found.error}"]
        if found.error is None:
            times |= {REPLAY: found.replay_ns, CUPTI: found.busy_ns}
        for timer in NAIVE:
            name = timer.benchmark(size)
            row = by_name.get(name)
            if row is not None and row.error is None:
                times[timer] = 1e9 * row.seconds
            else:
                faults.append(f"{name}: {row.fault if row else f'{BINARY} has no such benchmark'}")
        unreal = [timer.heading for timer, time in times.items() if not 0 < time < math.inf]
        faults += [f"{found.name}: {heading} is no time" for heading in unreal]
        times = {timer: time for timer, time in times.items() if timer.heading not in unreal}
        lines.append(Line(size, times, faults))
    return lines


def status(findings: Sequence[Finding], lines: Sequence[Line]) -> ExitStatus:
    """As of other benchmarks; no error of a naive timer fails, but a missing time is no pass."""
    replay = finding.status(findings)
    missing = any(line.faults for line in lines)
    return ExitStatus.NOT_MEASURED if missing and replay is ExitStatus.OK else replay


def worst_error(lines: Sequence[Line], timer: Timer) -> float | None:
    """The error that is the largest factor: half the time is as wrong as twice the time."""
    errors = [error for line in lines if (error := line.error(timer)) is not None]
    return max(errors, key=lambda error: abs(math.log1p(error)), default=None)


def _table(lines: Sequence[Line]) -> list[Cells]:
    """The heading, a line a size, and below each column its worst error."""

    def cell(line: Line, timer: Timer) -> str:
        time = line.times_ns.get(timer)
        return "–" if time is None else duration(time * 1e-9)

    def worst(timer: Timer) -> str:
        error = worst_error(lines, timer)
        return "–" if error is None or timer is CUPTI else percent(error)

    return [
        Cells("elements", tuple(timer.heading for timer in COLUMNS)),
        *(Cells(line.title, tuple(cell(line, timer) for timer in COLUMNS)) for line in lines),
        Cells("worst error", tuple(map(worst, COLUMNS))),
    ]


def print_table(lines: Sequence[Line], console: Console) -> None:
    """The table, what is missing in it, and why each column is wrong."""
    table = _table(lines)
    columns = Columns.fitting(table, console.width)
    for place, row in enumerate(table):
        style = "dim" if place == 0 else "bold" if place == len(table) - 1 else ""
        print_text(console, columns.line(row), style=style)
    for fault in _faults(lines):
        print_text(console, inert(fault), style="yellow")
    console.print()
    print_facts(console, [(timer.heading, timer.why) for timer in COLUMNS])


def _faults(lines: Sequence[Line]) -> list[str]:
    return [fault for line in lines for fault in line.faults]
