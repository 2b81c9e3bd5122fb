# SPDX-License-Identifier: Apache-2.0
"""A trace for a person: the Trace Event Format, and a table by kernel and by call.

Perfetto (ui.perfetto.dev) and chrome://tracing show the file:
https://docs.google.com/document/d/1CvAClvFfyA5R-PhYUmn5OOQtYMH4h6I0nSsKchNAySU
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import msgspec
from rich.console import Console

from warpgauge.system.layout import Cells, Columns, print_text
from warpgauge.system.text import duration, inert, plural
from warpgauge.why.cupti import (
    API,
    BATCH,
    DEVICE,
    MARK,
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

_Event = dict[str, object]

MEASURE = "measure"
# The engine's kernels around what it times: fixtures/cuda/evict.cu and sm_clock.cu.
_ENGINE = re.compile(
    r"_ZN9warpgauge\d+_GLOBAL__N_\w*\d(?:clock_sample_kernel|delay_kernel|read_kernel|let_go_kernel)"
)
_HEADINGS = ("calls", "total", "mean", "share")


def chrome_trace(trace: Sequence[Activity], context: Mapping[str, str]) -> bytes:
    """Return JSON with one line per event: the benchmark's ranges, calls, and device work.

    Each thread and stream has a track, with an arrow from a call to the device work that it caused.
    Times start at the first event. Records without times are left out and counted.
    """
    timed = sorted((one for one in trace if 0 < one.start_ns <= one.end_ns), key=outer_first)
    begin = min((one.start_ns for one in timed), default=0)
    other = {"warpgauge_format": FORMAT, **context, "untimed_records": str(len(trace) - len(timed))}
    events = [*_named_processes(), *_host(timed, begin), *_device(timed, begin)]
    encode = msgspec.json.Encoder().encode
    head, lines = encode(other), b",\n".join(map(encode, events))
    return b'{"displayTimeUnit":"ns","otherData":%b,"traceEvents":[\n%b\n]}\n' % (head, lines)


def _named_processes() -> Iterator[_Event]:
    for number, name in ((_HOST, "host"), (_GPU, "GPU")):
        yield _metadata("process_name", number, 0, name=name)
        yield _metadata("process_sort_index", number, 0, sort_index=number)


def _host(timed: Sequence[Activity], begin: int) -> Iterator[_Event]:
    for thread in sorted({one.thread for one in timed if one.kind not in DEVICE}):
        yield _metadata("thread_name", _HOST, thread, name=f"thread {thread}")
    for span in ranges(timed):
        yield _complete(span.name, "range", _HOST, span.thread, span, begin)
    for one in timed:
        if one.kind in API:
            event = _complete(one.call, one.kind, _HOST, one.thread, one, begin)
            yield {**event, "args": {"correlation": one.correlation}}
        elif one.kind == MARK:
            event = _event("i", one.name, "mark", _HOST, one.thread, one.start_ns - begin)
            yield {**event, "s": "t"}


def _device(timed: Sequence[Activity], begin: int) -> Iterator[_Event]:
    # The outermost call of those with the same correlation.
    calls = {one.correlation: one for one in reversed(timed) if one.kind in API}
    # Branches of a graph may run concurrently on one stream, but a track's events must not overlap,
    # so such a stream gets several tracks.
    tracks: dict[int, list[tuple[int, int]]] = {}  # by stream: a track's number and its end
    count = 0
    for flow, one in enumerate((one for one in timed if one.kind in DEVICE), start=1):
        own = tracks.setdefault(one.stream, [])
        place = next((n for n, (_, end) in enumerate(own) if end <= one.start_ns), len(own))
        if place == len(own):
            count += 1
            own.append((count, 0))
            name = f"stream {one.stream}" + (f", branch {place + 1}" if place else "")
            yield _metadata("thread_name", _GPU, count, name=name)
            order = one.stream * 100 + place
            yield _metadata("thread_sort_index", _GPU, count, sort_index=order)
        track, _ = own[place]
        own[place] = (track, one.end_ns)
        arguments = {"correlation": one.correlation, **({"bytes": one.bytes} if one.bytes else {})}
        yield {**_complete(one.work, one.kind, _GPU, track, one, begin), "args": arguments}
        call = calls.get(one.correlation) if one.correlation else None
        if call is not None and call.start_ns <= one.start_ns:
            start = _event("s", "launch", "flow", _HOST, call.thread, call.start_ns - begin)
            end = _event("f", "launch", "flow", _GPU, track, one.start_ns - begin)
            yield from ({**start, "id": flow}, {**end, "id": flow, "bp": "e"})


def _metadata(what: str, process: int, thread: int, **arguments: str | int) -> _Event:
    return {"ph": "M", "name": what, "pid": process, "tid": thread, "args": arguments}


def _event(phase: str, name: str, category: str, process: int, thread: int, at_ns: int) -> _Event:
    place: _Event = {"pid": process, "tid": thread, "ts": at_ns / 1000}  # in microseconds
    return {"ph": phase, "name": name, "cat": category, **place}


def _complete(
    name: str, category: str, process: int, thread: int, span: Activity, begin: int
) -> _Event:
    event = _event("X", name, category, process, thread, span.start_ns - begin)
    return {**event, "dur": (span.end_ns - span.start_ns) / 1000}


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
