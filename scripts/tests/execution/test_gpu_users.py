# SPDX-License-Identifier: Apache-2.0
"""Who else computes on the GPU is asked of the driver; not knowing is nobody."""

from __future__ import annotations

from types import SimpleNamespace

import pynvml
import pytest

from warpgauge.execution import gpu_watch


def driver(monkeypatch: pytest.MonkeyPatch, *pids: int, fails: str = "") -> list[str]:
    """An NVML with these processes on every GPU, in which the call `fails` does; its calls."""
    calls: list[str] = []

    def answer(name: str, value: object) -> None:
        def call(*_: object) -> object:
            calls.append(name)
            if name == fails:
                raise pynvml.NVMLError(pynvml.NVML_ERROR_UNKNOWN)
            return value

        monkeypatch.setattr(pynvml, name, call)

    answer("nvmlInit", None)
    answer("nvmlShutdown", None)
    answer("nvmlDeviceGetHandleByUUID", "handle")
    answer("nvmlDeviceGetComputeRunningProcesses", [SimpleNamespace(pid=pid) for pid in pids])
    return calls


@pytest.mark.parametrize(
    "call",
    ["nvmlInit", "nvmlDeviceGetHandleByUUID", "nvmlDeviceGetComputeRunningProcesses"],
)
def test_a_driver_that_does_not_say_knows_of_nobody(
    call: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    calls = driver(monkeypatch, 1, fails=call)
    assert gpu_watch.users_now("GPU-1") == []
    assert calls.count("nvmlShutdown") == (call != "nvmlInit")
