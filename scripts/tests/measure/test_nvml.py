# SPDX-License-Identifier: Apache-2.0
"""What the driver (NVML) is asked: who else computes on a GPU, and which one programs see."""

from __future__ import annotations

import os
from collections.abc import Callable
from types import SimpleNamespace

import pynvml
import pytest

from warpgauge.measure import gpu_watch
from warpgauge.system.errors import ExitStatus, UserError

TWO = {"GPU-1": "H200", "GPU-2": "H200"}


def machine(
    monkeypatch: pytest.MonkeyPatch,
    gpus: dict[str, str],
    visible: str | None = None,
    fails: str = "",
) -> list[str]:
    """An NVML with these GPUs, on each of which two processes run; the call `fails` does."""
    monkeypatch.delenv(gpu_watch.VARIABLE, raising=False)
    if visible is not None:
        monkeypatch.setenv(gpu_watch.VARIABLE, visible)
    handles = [SimpleNamespace(uuid=uuid, name=name) for uuid, name in gpus.items()]
    calls: list[str] = []

    def answer(name: str, answering: Callable[..., object]) -> None:
        def call(*arguments: object) -> object:
            calls.append(name)
            if name == fails:
                raise pynvml.NVMLError(pynvml.NVML_ERROR_UNKNOWN)
            return answering(*arguments)

        monkeypatch.setattr(pynvml, name, call)

    answer("nvmlInit", lambda: None)
    answer("nvmlShutdown", lambda: None)
    answer("nvmlDeviceGetCount", lambda: len(handles))
    answer("nvmlDeviceGetHandleByIndex", handles.__getitem__)
    answer("nvmlDeviceGetHandleByUUID", lambda uuid: uuid)
    answer("nvmlDeviceGetUUID", lambda one: one.uuid)
    answer("nvmlDeviceGetName", lambda one: one.name)
    users = [SimpleNamespace(pid=2**30), SimpleNamespace(pid=os.getpid())]
    answer("nvmlDeviceGetComputeRunningProcesses", lambda handle: users)
    return calls


def test_who_computes_on_a_gpu_is_named_where_it_can_be_seen(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    machine(monkeypatch, TWO)
    us, other = gpu_watch.users_now("GPU-1")
    assert us.pid == os.getpid()
    assert us.name
    assert str(other) == f"pid {2**30}"


@pytest.mark.parametrize(
    "call",
    ["nvmlInit", "nvmlDeviceGetHandleByUUID", "nvmlDeviceGetComputeRunningProcesses"],
)
def test_a_driver_that_does_not_say_knows_of_nobody(
    call: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    calls = machine(monkeypatch, TWO, fails=call)
    assert gpu_watch.users_now("GPU-1") == []
    assert calls.count("nvmlShutdown") == (call != "nvmlInit")


def test_the_one_asked_for_is_chosen_and_one_that_is_not_there_refused_with_what_is(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    machine(monkeypatch, TWO)
    for device in (1, "GPU-2"):
        assert gpu_watch.chosen(device) == {"gpu_uuid": "GPU-2", "gpu_name": "H200"}
    there = "choose one of 0: H200 (GPU-1), 1: H200 (GPU-2)"
    for device, missing in ((2, "2"), ("GPU-3", "GPU-3"), ("0,7", "7")):
        for ask in (gpu_watch.chosen, gpu_watch.require):
            with pytest.raises(UserError) as caught:
                ask(device)
            assert str(caught.value) == f"there is no GPU {missing} here: {there}"
            assert caught.value.status is ExitStatus.BAD_USAGE


def test_an_index_among_visible_gpus_is_for_the_programs_to_judge_and_a_uuid_is_not(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    machine(monkeypatch, TWO, visible="1")
    gpu_watch.require(5)
    with pytest.raises(UserError, match="no GPU GPU-3 here"):
        gpu_watch.require("GPU-3")


ONE = {"GPU-1": "H200"}
MODELS = {"GPU-1": "H200", "GPU-2": "L4"}  # which CUDA may order otherwise: no index tells


@pytest.mark.parametrize(
    ("gpus", "visible", "uuid"),
    [
        (ONE, None, "GPU-1"), (TWO, "1", "GPU-2"), (TWO, "GPU-1", "GPU-1"),
        (TWO, None, ""), (TWO, "0, 1", ""), (TWO, "", ""), (MODELS, "1", ""),
    ],
)  # fmt: skip
def test_the_only_one_is_known_without_asking_and_of_several_none(
    monkeypatch: pytest.MonkeyPatch, gpus: dict[str, str], visible: str | None, uuid: str
) -> None:
    machine(monkeypatch, gpus, visible)
    assert gpu_watch.chosen(None).get("gpu_uuid", "") == uuid


@pytest.mark.parametrize("call", ["nvmlInit", "nvmlDeviceGetCount"])
def test_without_a_driver_there_is_none(call: str, monkeypatch: pytest.MonkeyPatch) -> None:
    machine(monkeypatch, TWO, fails=call)
    assert gpu_watch.chosen(None) == {}
    with pytest.raises(UserError, match="no driver reports a GPU"):
        gpu_watch.chosen(0)
