# SPDX-License-Identifier: Apache-2.0
"""Write a trace in the Trace Event Format, for Perfetto (ui.perfetto.dev) or chrome://tracing.

https://docs.google.com/document/d/1CvAClvFfyA5R-PhYUmn5OOQtYMH4h6I0nSsKchNAySU
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence

import msgspec

from warpgauge.why.cupti import API, DEVICE, MARK, Activity, Range, outer_first, ranges

FORMAT = "trace/1"
OWN = re.compile(rb'"warpgauge_format"\s*:\s*"trace/')  # matches in every file written here
_HOST, _GPU = 1, 2  # processes, which Perfetto shows as groups of tracks

_Event = dict[str, object]


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
    name: str, category: str, process: int, thread: int, span: Activity | Range, begin: int
) -> _Event:
    event = _event("X", name, category, process, thread, span.start_ns - begin)
    return {**event, "dur": (span.end_ns - span.start_ns) / 1000}
