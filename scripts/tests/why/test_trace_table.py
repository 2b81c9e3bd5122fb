# SPDX-License-Identifier: Apache-2.0
"""Time by kernel and by call."""

from __future__ import annotations

import io

from rich.console import Console

from traces import WORK, call, process
from warpgauge.why.cupti import Activity, calls_of
from warpgauge.why.trace_views import KeyAverages, key_averages, print_table

SQUARE = "warpgauge::kernels::square"


def told(averages: KeyAverages) -> dict[str, float]:
    return {name: one.count for name, one in (*averages.device.items(), *averages.host.items())}


def shown(averages: KeyAverages) -> str:
    out = io.StringIO()
    print_table(averages, Console(file=out, width=100))
    return out.getvalue()


def test_replays_are_told_by_kernel_without_the_engines_own() -> None:
    averages = key_averages(process("gemm/f32", replays=20, kernels=2))
    assert averages.scope == "measure"
    assert told(averages) == {
        SQUARE: 40,
        "memset": 20,
        "cudaGraphLaunch": 20,
        "cudaLaunchKernel": 80,  # of the engine's kernels
        "cudaStreamSynchronize": 20,
    }
    assert averages.engine[0] == 80
    text = shown(averages)
    assert f"{SQUARE}" in text
    assert "80 kernels of the engine's own" in text


def test_host_calls_are_told_without_the_waiting_between_the_batches() -> None:
    trace = process("launch/kernel", batches=5)
    averages = key_averages(trace)
    assert averages.scope == "calls"
    assert told(averages) == {SQUARE: 50, "memset": 50, "cudaLaunchKernel": 50}
    assert averages.engine[0] == 0
    assert calls_of(trace)["cudaLaunchKernel"].count == 1.0


def test_a_process_without_ranges_is_told_as_a_whole() -> None:
    trace = [
        call("cudaMemcpy_v3020", 10, 4000, correlation=3),
        Activity("memcpy", "pinned to device", 1000, 2000, stream=7, correlation=3),
        Activity("kernel", WORK, 3000, 3100, stream=7),
    ]
    averages = key_averages(trace)
    assert [*averages.device] == ["memcpy pinned to device", SQUARE]
    assert [one.count for one in averages.host.values()] == [1]
    text = shown(averages)
    assert "90.9 %" in text
    assert "in the process" in text
    assert "no device work" in shown(key_averages([]))
