# SPDX-License-Identifier: Apache-2.0
"""A trace for a person: the Trace Event Format, and a table by kernel and by call.

Perfetto (ui.perfetto.dev) and chrome://tracing show the file:
https://docs.google.com/document/d/1CvAClvFfyA5R-PhYUmn5OOQtYMH4h6I0nSsKchNAySU
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from itertools import chain

import msgspec
from rich.console import Console

from warpgauge.system.layout import Cells, Columns, print_text
from warpgauge.system.text import duration, inert
from warpgauge.why.cupti import (
    API,
    BATCH,
    DEVICE,
    Activity,
    Calls,
    device_work,
    inside,
    outer_first,
    outermost_calls,
    ranges,
    totals,
)

FORMAT = "trace/1"
OWN = re.compile(rb'"warpgauge_format"\s*:\s*"trace/')  # matches in every file written here
_HOST, _GPU = 1, 2  # processes, which Perfetto shows as groups of tracks
_MOST_BRANCHES = 1000  # of a stream

_Event = dict[str, object]
_Track = tuple[int, int]  # process and thread

MEASURE = "measure"
# The engine's kernels around what it times: fixtures/cuda/evict.cu and sm_clock.cu.
_ENGINE = re.compile(
    r"_ZN9warpgauge\d+_GLOBAL__N_\w*\d(?:clock_sample_kernel|delay_kernel|read_kernel|let_go_kernel)"
)
_HEADINGS = ("calls", "total", "mean", "share")


def chrome_trace(trace: Sequence[Activity], context: Mapping[str, str]) -> bytes:
    """Return JSON with one line per event: the engine's ranges, calls, and device work.

    Each thread and stream has a track, with an arrow from a call to the device work that it caused.
    Times start at the first event. Records without times are left out.
    """
    timed = sorted((one for one in trace if 0 < one.start_ns <= one.end_ns), key=outer_first)
    head = msgspec.json.encode({"warpgauge_format": FORMAT, **context})
    lines = b",\n".join(map(msgspec.json.encode, _events(timed)))
    return b'{"displayTimeUnit":"ns","otherData":%b,"traceEvents":[\n%b\n]}\n' % (head, lines)


def _events(timed: Sequence[Activity]) -> Iterator[_Event]:
    for group, name in ((_HOST, "host"), (_GPU, "GPU")):
        yield _named("process_name", (group, 0), name)
    for thread in sorted({one.thread for one in timed if one.kind not in DEVICE}):
        yield _named("thread_name", (_HOST, thread), f"thread {thread}")
    begin = timed[0].start_ns if timed else 0
    for span in ranges(timed):
        yield _event("X", span.name, "range", (_HOST, span.thread), span, begin)
    calls: dict[int, Activity] = {}  # by correlation, the outermost
    # Branches of a graph may run concurrently on one stream, but a track's events must not overlap,
    # so such a stream gets several tracks.
    ends: dict[int, list[int]] = {}  # by stream: when the last work of each track ends
    for flow, one in enumerate(timed):
        if one.kind in API:
            calls.setdefault(one.correlation, one)
            yield _event("X", one.call, one.kind, (_HOST, one.thread), one, begin)
        elif one.kind in DEVICE:
            own = ends.setdefault(one.stream, [])
            branch = next((n for n, end in enumerate(own) if end <= one.start_ns), len(own))
            track = _GPU, one.stream * _MOST_BRANCHES + branch
            if branch == len(own):
                own.append(0)
                name = f"stream {one.stream}" + (f", branch {branch + 1}" if branch else "")
                yield _named("thread_name", track, name)
            own[branch] = one.end_ns
            bytes_moved = {"args": {"bytes": one.bytes}} if one.bytes else {}
            yield {**_event("X", one.work, one.kind, track, one, begin), **bytes_moved}
            if one.correlation and (call := calls.get(one.correlation)):
                arrow = {"id": flow, "bp": "e"}  # bp: to the event that encloses its end
                yield {**_event("s", "launch", "flow", (_HOST, call.thread), call, begin), **arrow}
                yield {**_event("f", "launch", "flow", track, one, begin), **arrow}


def _named(what: str, track: _Track, name: str) -> _Event:
    return {"ph": "M", "name": what, "pid": track[0], "tid": track[1], "args": {"name": name}}


def _event(
    phase: str, name: str, category: str, track: _Track, one: Activity, begin: int
) -> _Event:
    event: _Event = {"ph": phase, "name": name, "cat": category, "pid": track[0], "tid": track[1]}
    event["ts"] = (one.start_ns - begin) / 1000  # us
    if phase == "X":
        event["dur"] = (one.end_ns - one.start_ns) / 1000
    return event


def key_averages(trace: Sequence[Activity]) -> tuple[Calls, Calls, str]:
    """Return the device's work, without the engine's own, the host's calls, and their range.

    That is the batches timed by the host's clock, else the measuring phase; without such a range,
    "", the whole process. Device work belongs to the call that issued it.
    """
    host, device = outermost_calls(trace), [its for its in trace if its.kind in DEVICE]
    around = ranges(trace, BATCH) or ranges(trace, MEASURE)
    if around:
        host, device = inside(around, host), device_work(around, trace)
    work = ((one.work, one) for one in device if not _ENGINE.match(one.name))
    scope = around[0].name if around else ""
    return totals(work), totals((its.call, its) for its in host), scope


def print_table(trace: Sequence[Activity], console: Console) -> None:
    """Print the averages of a trace, and below them what they are of."""
    device, host, scope = key_averages(trace)
    tables = [_cells(*part) for part in (("device", device), ("host", host)) if part[1]]
    if not tables:
        print_text(console, "The trace shows no device work and no CUDA call.")
        return
    columns = Columns.fitting([*chain(*tables)], console.width, [_HEADINGS.index("mean")])
    for heading, *cells in tables:
        print_text(console, columns.line(heading), style="dim")
        for line in cells:
            print_text(console, columns.line(line))
        console.print()
    where = f"in the engine's ranges {scope!r}" if scope else "in the process"
    words = f"All {where}, slowed by the profiler: do not compare with times of bench."
    print_text(console, f"{words} Kernels of the engine's own are not included.")


def _cells(part: str, averages: Calls) -> list[Cells]:
    total = sum(one.seconds for one in averages.values())
    lines = [Cells(part, _HEADINGS)]
    for name, one in sorted(averages.items(), key=lambda item: (-item[1].seconds, item[0])):
        share = f"{100 * one.seconds / total:.1f} %" if total else ""
        times = duration(one.seconds), duration(one.each)
        lines.append(Cells(inert(name), (f"{one.count:,.0f}", *times, share)))
    return lines
