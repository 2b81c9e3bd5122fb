# SPDX-License-Identifier: Apache-2.0
"""Device work and host calls during the measurement of a benchmark, summed by name."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from rich.console import Console

from warpgauge.system.layout import Cells, Columns, print_text
from warpgauge.system.text import duration, inert, plural
from warpgauge.why.cupti import (
    BATCH,
    DEVICE,
    Activity,
    Calls,
    device_work,
    inside,
    outermost_calls,
    ranges,
    totals,
)

MEASURE = "measure"
# The engine's kernels around what it times: fixtures/cuda/evict.cu and sm_clock.cu.
_ENGINE = re.compile(
    r"_ZN9warpgauge\d+_GLOBAL__N_\w*\d(?:clock_sample_kernel|delay_kernel|read_kernel|let_go_kernel)"
)
_HEADINGS = ("calls", "total", "mean", "share")


@dataclass(frozen=True)
class KeyAverages:
    """All work of the device and all calls of the host in the engine's ranges `scope`.

    `scope` is empty for the whole process. `engine` is the number of the engine's own kernels,
    which are left out, and their seconds.
    """

    device: Calls
    host: Calls
    engine: tuple[int, float]
    scope: str


def key_averages(trace: Sequence[Activity]) -> KeyAverages:
    """Return averages over batches timed by the host's clock, else over the measuring phase.

    Without such a range they cover the whole process. Device work belongs to the call that issued
    it.
    """
    host = list(outermost_calls(trace))
    device = [one for one in trace if one.kind in DEVICE]
    names = {one.name for one in ranges(trace)}
    scope = next((name for name in (BATCH, MEASURE) if name in names), "")
    if scope:
        around = ranges(trace, scope)
        host = list(inside(around, host))
        device = device_work(around, trace)
    engine = [one.end_ns - one.start_ns for one in device if _ENGINE.match(one.name)]
    left = ((one.work, one) for one in device if not _ENGINE.match(one.name))
    calls = ((one.call, one) for one in host)
    return KeyAverages(totals(left), totals(calls), (len(engine), sum(engine) * 1e-9), scope)


def print_table(averages: KeyAverages, console: Console) -> None:
    """Print one table of both, and below it what it leaves out."""
    parts = {"device": averages.device, "host": averages.host}
    tables = [_cells(part, found) for part, found in parts.items() if found]
    if not tables:
        print_text(console, "The trace shows no device work and no CUDA call.")
        return
    everything = [line for table in tables for line in table]
    columns = Columns.fitting(everything, console.width, [_HEADINGS.index("mean")])
    for heading, *cells in tables:
        print_text(console, columns.line(heading), style="dim")
        for line in cells:
            print_text(console, columns.line(line))
        console.print()
    where = f"in the engine's ranges {averages.scope!r}" if averages.scope else "in the process"
    words = f"All {where}, slowed by the profiler: do not compare with times of bench."
    count, seconds = averages.engine
    if count:
        words += f" Not included: {plural(count, 'kernel')} of the engine's own, "
        words += f"{duration(seconds)}."
    print_text(console, words)


def _cells(part: str, averages: Calls) -> list[Cells]:
    total = sum(one.seconds for one in averages.values())
    longest_first = sorted(averages.items(), key=lambda item: (-item[1].seconds, item[0]))
    lines = [Cells(part, _HEADINGS)]
    for name, one in longest_first:
        share = f"{100 * one.seconds / total:.1f} %" if total else ""
        times = duration(one.seconds), duration(one.each)
        lines.append(Cells(inert(name), (f"{one.count:,.0f}", *times, share)))
    return lines
