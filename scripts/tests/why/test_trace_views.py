# SPDX-License-Identifier: Apache-2.0
"""A trace as Perfetto opens it, by the rules of its format; and its time by kernel and call."""

from __future__ import annotations

import io
import json
from collections.abc import Mapping, Sequence
from typing import Any

from rich.console import Console

from traces import WORK, call, process, range_of
from warpgauge.why.cupti import Activity, calls_of
from warpgauge.why.trace_views import OWN, chrome_trace, key_averages, print_table

Events = Sequence[Mapping[str, Any]]


def events_of(trace: Sequence[Activity]) -> Events:
    """All of the JSON, which must follow the rules."""
    text = chrome_trace(trace, {"benchmark": "gemm/f32"})
    assert OWN.search(text)
    document = json.loads(text)
    assert document["displayTimeUnit"] in {"ms", "ns"}
    events: Events = document["traceEvents"]
    for event in events:
        assert event["ph"] in set("MXsf")
        assert isinstance(event["name"], str)
        assert isinstance(event["pid"], int)
        assert isinstance(event["tid"], int)
        if event["ph"] != "M":
            assert event["ts"] >= 0
            assert event["cat"]
    require_nested(events)
    require_flows(events)
    return events


def spans_of(events: Events) -> dict[tuple[int, int], list[tuple[int, int]]]:
    """Begin and end in ns of the complete events of each track, in order."""
    found: dict[tuple[int, int], list[tuple[int, int]]] = {}
    for event in events:
        if event["ph"] == "X":
            begin = round(event["ts"] * 1000)
            end = begin + round(event["dur"] * 1000)
            found.setdefault((event["pid"], event["tid"]), []).append((begin, end))
    return {track: sorted(all_, key=lambda one: (one[0], -one[1])) for track, all_ in found.items()}


def require_nested(events: Events) -> None:
    """On one track an event lies within another one or beside it."""
    for spans in spans_of(events).values():
        around: list[tuple[int, int]] = []
        for begin, end in spans:
            while around and around[-1][1] <= begin:
                around.pop()
            assert not around or end <= around[-1][1]
            around.append((begin, end))


def require_flows(events: Events) -> None:
    """Each has one start and one end, both on an event of their track, forwards in time."""
    starts = {event["id"]: event for event in events if event["ph"] == "s"}
    ends = {event["id"]: event for event in events if event["ph"] == "f"}
    count = sum(event["ph"] in ("s", "f") for event in events)
    assert starts.keys() == ends.keys()
    assert count == 2 * len(starts)
    begins = {track: {begin for begin, _ in spans} for track, spans in spans_of(events).items()}
    for number, start in starts.items():
        end = ends[number]
        assert end["bp"] == "e"
        assert (end["name"], end["cat"]) == (start["name"], start["cat"])
        assert start["ts"] <= end["ts"]
        for one in (start, end):
            assert round(one["ts"] * 1000) in begins[one["pid"], one["tid"]]


def names(events: Events, kind: str) -> dict[int, str]:
    return {
        event["tid"]: event["args"]["name"]
        for event in events
        if event["name"] == kind and event["ph"] == "M"
    }


def test_ten_thousand_events_follow_the_rules_of_the_format() -> None:
    trace = process("gemm/f32", replays=100, batches=200, kernels=3)
    assert len(trace) > 10_000
    events = events_of(trace)
    kept = [event for event in events if event["ph"] == "X"]
    ends = sum(one.kind in ("range_end", "mark") for one in trace)
    assert len(kept) == len(trace) - ends
    device = sum(one.kind in ("kernel", "memset") for one in trace)
    assert sum(event["ph"] == "s" for event in events) == device


def test_work_that_overlaps_on_a_stream_has_a_track_of_its_own() -> None:
    trace = [
        Activity("kernel", WORK, 100, 200, stream=7),
        Activity("kernel", WORK, 150, 250, stream=7),
        Activity("kernel", WORK, 200, 300, stream=7),
        Activity("memcpy", "pinned to device", 100, 200, stream=9, bytes=4096),
    ]
    events = events_of(trace)
    assert set(names(events, "thread_name").values()) == {
        "stream 7",
        "stream 7, branch 2",
        "stream 9",
    }
    (copy,) = [event for event in events if event["name"] == "memcpy pinned to device"]
    assert copy["args"]["bytes"] == 4096


def test_an_arrow_leads_from_a_call_to_each_kernel_of_the_graph_that_it_launched() -> None:
    trace = [
        *range_of("gemm/f32", 10, 900),
        call("cudaGraphLaunch_v10000", 100, 200, correlation=5),
        call("cuGraphLaunch", 120, 190, kind="driver", correlation=5),
        Activity("kernel", WORK, 300, 400, stream=7, correlation=5),
        Activity("kernel", WORK, 400, 500, stream=7, correlation=5),
        Activity("kernel", WORK, 600, 700, stream=7, correlation=6),  # of a call that is not there
    ]
    events = events_of(trace)
    starts = [event for event in events if event["ph"] == "s"]
    assert [event["ts"] for event in starts] == [0.09, 0.09]
    assert {event["cat"] for event in events if event["ph"] == "X"} == {
        *("range", "runtime", "driver", "kernel")
    }
    assert "warpgauge::kernels::square" in {event["name"] for event in events}


def test_what_has_no_time_is_left_out() -> None:
    trace = [Activity("kernel", WORK, 0, 0), Activity("kernel", WORK, 10, 20)]
    document = json.loads(chrome_trace(trace, {}))
    assert sum(event["ph"] == "X" for event in document["traceEvents"]) == 1
    assert events_of([]) is not None


def test_a_name_that_holds_anything_is_still_json() -> None:
    (event,) = [
        event
        for event in events_of([Activity("kernel", 'a"\\\n\N{SNOWMAN}', 10, 20)])
        if event["ph"] == "X"
    ]
    assert event["name"] == 'a"\\\n\N{SNOWMAN}'


SQUARE = "warpgauge::kernels::square"


def counts(trace: Sequence[Activity]) -> tuple[dict[str, float], str]:
    """How often the trace has each kernel and call, and within what."""
    device, host, scope = key_averages(trace)
    return {name: one.count for name, one in (*device.items(), *host.items())}, scope


def shown(trace: Sequence[Activity]) -> str:
    out = io.StringIO()
    print_table(trace, Console(file=out, width=100))
    return out.getvalue()


def test_replays_are_told_by_kernel_without_the_engines_own() -> None:
    trace = process("gemm/f32", replays=20, kernels=2)
    made = {
        SQUARE: 40,
        "memset": 20,
        "cudaGraphLaunch": 20,
        "cudaLaunchKernel": 80,  # of the engine's kernels
        "cudaStreamSynchronize": 20,
    }
    assert counts(trace) == (made, "measure")
    assert f"{SQUARE}" in shown(trace)


def test_host_calls_are_told_without_the_waiting_between_the_batches() -> None:
    trace = process("launch/kernel", batches=5)
    assert counts(trace) == ({SQUARE: 50, "memset": 50, "cudaLaunchKernel": 50}, "calls")
    assert calls_of(trace)["cudaLaunchKernel"].count == 1.0


def test_a_process_without_ranges_is_told_as_a_whole() -> None:
    trace = [
        call("cudaMemcpy_v3020", 10, 4000, correlation=3),
        Activity("memcpy", "pinned to device", 1000, 2000, stream=7, correlation=3),
        Activity("kernel", WORK, 3000, 3100, stream=7),
    ]
    made = {"memcpy pinned to device": 1, SQUARE: 1, "cudaMemcpy": 1}
    assert counts(trace) == (made, "")
    text = shown(trace)
    assert "90.9 %" in text
    assert "in the process" in text
    assert "no device work" in shown([])
