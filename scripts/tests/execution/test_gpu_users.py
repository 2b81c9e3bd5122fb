# SPDX-License-Identifier: Apache-2.0
"""Who else computes on the GPU is asked of the driver; not knowing is nobody."""

from __future__ import annotations

import os
from types import SimpleNamespace

import pynvml
import pytest

from warpgauge.execution import gpu_watch
from warpgauge.execution.gpu_watch import User


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


def test_processes_are_told_by_name_and_pid(monkeypatch: pytest.MonkeyPatch) -> None:
    gone = 2**22 + 1  # above the kernel's largest
    driver(monkeypatch, gone, os.getpid())
    mine, other = gpu_watch.users_now("GPU-1")
    assert str(mine).endswith(f" (pid {os.getpid()})")
    assert str(other) == f"pid {gone}"


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


class Time:
    def __init__(self) -> None:
        self.now = 0.0

    def clock(self) -> float:
        return self.now

    def sleep(self, seconds: float) -> None:
        self.now += seconds


def wait(leaves_after_s: float, patience_s: float) -> tuple[list[User], list[list[User]], float]:
    told: list[list[User]] = []
    time, user = Time(), User(7, "train")

    def users() -> list[User]:
        return [user] if time.now < leaves_after_s else []

    left = gpu_watch.stayed(
        users, patience_s, waiting=told.append, clock=time.clock, sleep=time.sleep
    )
    return left, told, time.now


def test_a_free_gpu_is_not_waited_for() -> None:
    assert wait(0.0, 60.0) == ([], [], 0.0)


def test_who_leaves_is_waited_for_and_told_once() -> None:
    left, told, seconds = wait(10.0, 60.0)
    assert not left
    assert told == [[User(7, "train")]]
    assert 10.0 <= seconds < 11.0


def test_who_stays_is_named_when_patience_ends() -> None:
    left, told, seconds = wait(1e9, 60.0)
    assert left == [User(7, "train")]
    assert len(told) == 1
    assert 60.0 <= seconds < 61.0
