# SPDX-License-Identifier: Apache-2.0
"""Device work and host calls during the measurement of a benchmark, summed by name."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from rich.console import Console

from warpgauge.system.layout import Cells, Columns, print_text
from warpgauge.system.text import duration, inert, plural
from warpgauge.why.calls import BATCH, call_name, device_work, inside, outermost_calls, ranges
from warpgauge.why.trace_file import DEVICE, Activity

MEASURE = "measure"
# The engine's kernels around what it times: fixtures/cuda/evict.cu and sm_clock.cu.
_ENGINE = re.compile(
    r"_ZN9warpgauge\d+_GLOBAL__N_\w*\d(?:clock_sample_kernel|delay_kernel|read_kernel|let_go_kernel)"
)
_HEADINGS = ("calls", "total", "mean", "share")


@dataclass(frozen=True)
class Average:
    """All activities of one name."""

    name: str
    calls: int
    seconds: float


@dataclass(frozen=True)
class KeyAverages:
    """Averages of the device and of the host, the longest first, and the engine's own device work.

    `scope` names the engine's range that holds them; empty for the whole process.
    """

    device: Sequence[Average]
    host: Sequence[Average]
    engine: Average
    scope: str


def key_averages(trace: Sequence[Activity]) -> KeyAverages:
    """Return averages over batches timed by the host's clock, else over the measuring phase.

    Without such a range they cover the whole process. Device work belongs to the call that issued
    it.
    """
    found = ranges(trace)
    names = {one.name for one in found}
    scope = next((name for name in (BATCH, MEASURE) if name in names), "")
    host = list(outermost_calls(trace))
    device = [one for one in trace if one.kind in DEVICE]
    if scope:
        around = [one for one in found if one.name == scope]
        host = list(inside(around, host))
        device = device_work(around, sorted(trace, key=lambda one: one.start_ns))
    engine = [one for one in device if _ENGINE.match(one.name)]
    left = [one for one in device if not _ENGINE.match(one.name)]
    return KeyAverages(
        _averages((one.work, one) for one in left),
        _averages((call_name(one), one) for one in host),
        Average("", len(engine), sum(one.seconds for one in engine)),
        scope,
    )


def print_table(averages: KeyAverages, console: Console) -> None:
    """Print one table of both, and below it what it leaves out."""
    if not averages.device and not averages.host:
        print_text(console, "The trace shows no device work and no CUDA call.")
        return
    parts = (("device", averages.device), ("host", averages.host))
    lines = [(part, _cells(part, found)) for part, found in parts if found]
    everything = [line for _, cells in lines for line in cells]
    columns = Columns.fitting(everything, console.width, [_HEADINGS.index("mean")])
    for index, (_, (heading, *cells)) in enumerate(lines):
        if index:
            console.print()
        print_text(console, columns.line(heading), style="dim")
        for line in cells:
            print_text(console, columns.line(line))
    where = f"in the engine's ranges {averages.scope!r}" if averages.scope else "in the process"
    told = f"All {where}, slowed by the profiler: do not compare with times of bench."
    if averages.engine.calls:
        number = plural(averages.engine.calls, "kernel")
        told += f" Not included: {number} of the engine's own, {duration(averages.engine.seconds)}."
    console.print()
    print_text(console, told)


def _averages(named: Iterable[tuple[str, Activity]]) -> list[Average]:
    found: dict[str, list[float]] = {}
    for name, one in named:
        found.setdefault(name, []).append(one.seconds)
    averages = [Average(name, len(times), sum(times)) for name, times in found.items()]
    return sorted(averages, key=lambda one: (-one.seconds, one.name))


def _cells(part: str, averages: Sequence[Average]) -> list[Cells]:
    total = sum(one.seconds for one in averages)
    return [
        Cells(part, _HEADINGS),
        *(
            Cells(
                inert(one.name),
                (
                    f"{one.calls:,}",
                    duration(one.seconds),
                    duration(one.seconds / one.calls),
                    f"{100 * one.seconds / total:.1f} %" if total else "",
                ),
            )
            for one in averages
        ),
    ]
