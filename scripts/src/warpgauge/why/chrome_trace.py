# SPDX-License-Identifier: Apache-2.0
"""Write a trace in the Trace Event Format, for Perfetto (ui.perfetto.dev) or chrome://tracing.

https://docs.google.com/document/d/1CvAClvFfyA5R-PhYUmn5OOQtYMH4h6I0nSsKchNAySU
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence

import msgspec

from warpgauge.why.calls import Range, call_name, ranges
from warpgauge.why.trace_file import API, DEVICE, MARK, Activity

FORMAT = "trace/1"
OWN = re.compile(rb'"warpgauge_format"\s*:\s*"trace/')  # matches in every file written here
_HOST, _GPU = 1, 2  # processes, which Perfetto shows as groups of tracks

_Event = dict[str, object]


def chrome_trace(trace: Sequence[Activity], context: Mapping[str, str]) -> bytes:
    """Return JSON with one line per event: the benchmark's ranges, calls, and device work.

    Each thread and stream has a track, with an arrow from a call to the device work that it caused.
    Times start at the first event. Records without times are left out and counted.
    """
    timed = [one for one in trace if 0 < one.start_ns <= one.end_ns]
    begin = min((one.start_ns for one in timed), default=0)
    device = sorted((one for one in timed if one.kind in DEVICE), key=_in_order)
    calls = sorted((one for one in timed if one.kind in API), key=_in_order)
    other = {"warpgauge_format": FORMAT, **context, "untimed_records": str(len(trace) - len(timed))}
    events = [
        *_named_processes(),
        *_host(timed, calls, begin),
        *_device(device, {one.correlation: one for one in reversed(calls)}, begin),
    ]
    encode = msgspec.json.Encoder().encode
    head, lines = encode(other), b",\n".join(map(encode, events))
    return b'{"displayTimeUnit":"ns","otherData":%b,"traceEvents":[\n%b\n]}\n' % (head, lines)


def _in_order(one: Activity) -> tuple[int, int, bool]:
    """Sort outer events before inner ones, and a runtime call before its driver call."""
    return one.start_ns, -one.end_ns, one.kind == "driver"


def _named_processes() -> Iterator[_Event]:
    for number, name in ((_HOST, "host"), (_GPU, "GPU")):
        yield _metadata("process_name", number, 0, {"name": name})
        yield _metadata("process_sort_index", number, 0, {"sort_index": number})


def _host(timed: Sequence[Activity], calls: Sequence[Activity], begin: int) -> Iterator[_Event]:
    found = ranges(timed)
    marks = [one for one in timed if one.kind == MARK]
    threads = {one.thread for one in timed if one.kind not in DEVICE}
    for thread in sorted(threads):
        yield _metadata("thread_name", _HOST, thread, {"name": f"thread {thread}"})
    for span in found:
        yield _complete(span.name, "range", _HOST, span.thread, span, begin)
    for call in calls:
        event = _complete(call_name(call), call.kind, _HOST, call.thread, call, begin)
        yield {**event, "args": {"correlation": call.correlation}}
    for mark in marks:
        at = _microseconds(mark.start_ns - begin)
        yield {**_event("i", mark.name, "mark", _HOST, mark.thread), "ts": at, "s": "t"}


def _device(
    device: Sequence[Activity], calls: Mapping[int, Activity], begin: int
) -> Iterator[_Event]:
    # Branches of a graph may run concurrently on one stream, but a track's events must not overlap,
    # so such a stream gets several tracks.
    tracks: dict[int, list[tuple[int, int]]] = {}  # by stream: a track's number and its end
    count = 0
    for flow, one in enumerate(device, start=1):
        own = tracks.setdefault(one.stream, [])
        place = next((n for n, (_, end) in enumerate(own) if end <= one.start_ns), len(own))
        if place == len(own):
            count += 1
            own.append((count, 0))
            name = f"stream {one.stream}" + (f", branch {place + 1}" if place else "")
            yield _metadata("thread_name", _GPU, count, {"name": name})
            index = {"sort_index": one.stream * 100 + place}
            yield _metadata("thread_sort_index", _GPU, count, index)
        track, _ = own[place]
        own[place] = (track, one.end_ns)
        arguments: _Event = {"correlation": one.correlation}
        if one.bytes:
            arguments["bytes"] = one.bytes
        yield {**_complete(one.work, one.kind, _GPU, track, one, begin), "args": arguments}
        call = calls.get(one.correlation) if one.correlation else None
        if call is not None and call.start_ns <= one.start_ns:
            start = _event("s", "launch", "flow", _HOST, call.thread)
            yield {**start, "id": flow, "ts": _microseconds(call.start_ns - begin)}
            end = _event("f", "launch", "flow", _GPU, track)
            yield {**end, "id": flow, "bp": "e", "ts": _microseconds(one.start_ns - begin)}


def _metadata(name: str, process: int, thread: int, arguments: Mapping[str, str | int]) -> _Event:
    return {"ph": "M", "name": name, "pid": process, "tid": thread, "args": arguments}


def _event(phase: str, name: str, category: str, process: int, thread: int) -> _Event:
    return {"ph": phase, "name": name, "cat": category, "pid": process, "tid": thread}


def _complete(
    name: str, category: str, process: int, thread: int, span: Activity | Range, begin: int
) -> _Event:
    start, length = span.start_ns - begin, span.end_ns - span.start_ns
    times = {"ts": _microseconds(start), "dur": _microseconds(length)}
    return {**_event("X", name, category, process, thread), **times}


def _microseconds(nanoseconds: int) -> float:
    return nanoseconds / 1000
