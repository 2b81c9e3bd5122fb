# SPDX-License-Identifier: Apache-2.0
"""The calls and the device work of an operation, out of a trace of its whole process."""

from __future__ import annotations

from pathlib import Path

import pytest

from traces import WORK, call, marks, process, range_of, text
from warpgauge.why.cupti import (
    Activity,
    Call,
    TraceFault,
    calls_of,
    device_of,
    kernels_in,
    ranges,
    read_trace,
)

LAUNCH, SYNCHRONIZE = "cudaLaunchKernel_v7000", "cudaStreamSynchronize_v3020"


def test_the_calls_of_all_timed_batches_are_divided_by_their_operations() -> None:
    trace = [
        *range_of("operation", 0, 900),  # the first, which loads its kernel
        call(LAUNCH, 10, 890),
        *range_of("calls", 1000, 2000),
        *(call(LAUNCH, 1000 + 100 * n, 1060 + 100 * n) for n in range(4)),
        marks("operations 4", 1990),
        call(SYNCHRONIZE, 2100, 2900),  # until the queued work has ended, untimed
        *range_of("calls", 3000, 4000),
        call(LAUNCH, 3100, 3130),
        call(SYNCHRONIZE, 3200, 3300),
        marks("operations 1", 3990),
    ]
    found = calls_of(trace[::-1])
    assert {name: one.count for name, one in found.items()} == {
        "cudaLaunchKernel": 1.0,
        "cudaStreamSynchronize": 0.2,
    }
    assert found["cudaLaunchKernel"].seconds == pytest.approx((4 * 60 + 30) * 1e-9 / 5)
    assert found["cudaStreamSynchronize"].seconds == pytest.approx(100e-9 / 5)


def test_where_the_device_is_timed_the_operation_that_was_issued_once_counts() -> None:
    trace = [
        call(LAUNCH, 1, 5),
        *range_of("operation", 10, 100),
        call(LAUNCH, 20, 30),
        call(LAUNCH, 40, 60),
        call("cudaGraphLaunch_v10000", 200, 300),
    ]
    assert calls_of(trace) == {"cudaLaunchKernel": Call(2.0, 30 * 1e-9)}


def test_what_a_call_does_by_other_calls_is_its_own() -> None:
    trace = [
        *range_of("operation", 0, 100),
        call(LAUNCH, 10, 50),
        call("cuLaunchKernel", 10, 50, kind="driver"),
        call("cuCtxGetCurrent", 20, 25, kind="driver"),
        call("cuMemAlloc_v2", 60, 70, kind="driver"),
        call("cudaFree_v3020", 20, 90, thread=2),  # another thread's, in no range of its own
    ]
    assert {name: one.count for name, one in calls_of(trace).items()} == {
        "cuMemAlloc": 1.0,
        "cudaLaunchKernel": 1.0,
    }


@pytest.mark.parametrize(
    "trace",
    [
        [],
        [call(LAUNCH, 1, 5)],
        [*range_of("calls", 0, 10), marks("operations 0", 5), call(LAUNCH, 1, 5)],
        range_of("operation", 0, 10)[:1],
    ],
)
def test_a_trace_without_an_operation_is_refused(trace: list[Activity]) -> None:
    with pytest.raises(TraceFault, match="shows no operation"):
        calls_of(trace)


def test_ranges_are_in_order_and_those_without_an_end_are_none() -> None:
    trace = [
        *range_of("measure", 10, 90),
        *range_of("gemm/f32", 0, 100),
        *range_of("replay", 10, 20),
        range_of("verify", 95, 99)[0],
    ]
    found = [(one.name, one.start_ns, one.end_ns) for one in ranges(trace)]
    assert found == [("gemm/f32", 0, 100), ("measure", 10, 90), ("replay", 10, 20)]


def test_calls_and_ranges_are_read_from_the_file(tmp_path: Path) -> None:
    path = tmp_path / "trace.json"
    trace = [
        *range_of("operation", 0, 900, thread=5),
        call(LAUNCH, 10, 890, thread=5, correlation=77),
        Activity("memcpy", "pinned to device", 400, 800, stream=7, correlation=77, bytes=4096),
    ]
    path.write_text(text(trace))
    assert read_trace(path) == trace
    path.write_text(text(trace).replace('"correlation":77', '"correlation":"77"'))
    with pytest.raises(TraceFault, match="damaged"):
        read_trace(path)


def test_what_the_device_does_in_an_operation_is_counted() -> None:
    work = [
        Activity("kernel", WORK, 300, 400, correlation=1),
        Activity("memset", "", 400, 450, correlation=1),
        Activity("memcpy", "pageable to device", 500, 550, correlation=1),
        Activity("kernel", WORK, 900, 1000, correlation=2),  # of a timed replay
    ]
    trace = [
        *range_of("operation", 10, 20),
        *range_of("launch", 100, 200),
        call("cudaGraphLaunch_v10000", 110, 190, correlation=1),
        call("cudaGraphLaunch_v10000", 800, 850, correlation=2),
        *work,
    ]
    found = device_of(trace)
    kernel = f"kernel {WORK}"
    kinds = [kernel, "memcpy pageable to device", "memset"]
    assert {kind: one.count for kind, one in found.items()} == dict.fromkeys(kinds, 1.0)
    assert round(found[kernel].seconds * 1e9) == 100


def test_the_kernels_of_an_operation_are_those_that_its_own_calls_ran() -> None:
    assert [*kernels_in(device_of(process("gemm/f32", replays=3, kernels=2)))] == [WORK]
    assert [*kernels_in(device_of(process("launch/kernel", batches=3)))] == [WORK]
    assert [*kernels_in(device_of([Activity("kernel", WORK, 10, 20, correlation=4)]))] == []
