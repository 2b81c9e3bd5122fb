# SPDX-License-Identifier: Apache-2.0
"""The GPU of somebody else's programs is the one asked for, or the only one that they can see."""

from __future__ import annotations

from types import SimpleNamespace

import pynvml
import pytest

from warpgauge.execution import gpu_watch
from warpgauge.system.errors import ExitStatus, UserError

TWO = {"GPU-1": "H200", "GPU-2": "H200"}


def machine(
    monkeypatch: pytest.MonkeyPatch, gpus: dict[str, str], visible: str | None = None
) -> None:
    monkeypatch.delenv(gpu_watch.VARIABLE, raising=False)
    if visible is not None:
        monkeypatch.setenv(gpu_watch.VARIABLE, visible)
    handles = [SimpleNamespace(uuid=uuid, name=name) for uuid, name in gpus.items()]
    monkeypatch.setattr(pynvml, "nvmlInit", lambda: None)
    monkeypatch.setattr(pynvml, "nvmlShutdown", lambda: None)
    monkeypatch.setattr(pynvml, "nvmlDeviceGetCount", lambda: len(handles))
    monkeypatch.setattr(pynvml, "nvmlDeviceGetHandleByIndex", handles.__getitem__)
    monkeypatch.setattr(pynvml, "nvmlDeviceGetUUID", lambda one: one.uuid)
    monkeypatch.setattr(pynvml, "nvmlDeviceGetName", lambda one: one.name)


@pytest.mark.parametrize("device", [1, "GPU-2"])
def test_the_one_asked_for_is_chosen(monkeypatch: pytest.MonkeyPatch, device: int | str) -> None:
    machine(monkeypatch, TWO)
    assert gpu_watch.chosen(device) == {"gpu_uuid": "GPU-2", "gpu_name": "H200"}


@pytest.mark.parametrize("device", [2, "GPU-3"])
def test_one_that_is_not_there_is_not_measured(
    monkeypatch: pytest.MonkeyPatch, device: int | str
) -> None:
    machine(monkeypatch, TWO)
    with pytest.raises(UserError, match=r"there is no GPU .*: the driver shows 2 GPUs") as fault:
        gpu_watch.chosen(device)
    assert fault.value.status is ExitStatus.NOT_MEASURED


def seen(monkeypatch: pytest.MonkeyPatch, gpus: dict[str, str], visible: str | None) -> str:
    machine(monkeypatch, gpus, visible)
    return gpu_watch.chosen(None).get("gpu_uuid", "")


def test_the_only_one_is_known_without_asking(monkeypatch: pytest.MonkeyPatch) -> None:
    assert seen(monkeypatch, {"GPU-1": "H200"}, None) == "GPU-1"
    assert seen(monkeypatch, TWO, "1") == "GPU-2"
    assert seen(monkeypatch, TWO, "GPU-1") == "GPU-1"


def test_of_several_none_is_taken_for_it(monkeypatch: pytest.MonkeyPatch) -> None:
    assert seen(monkeypatch, TWO, None) == ""
    assert seen(monkeypatch, TWO, "0, 1") == ""
    assert seen(monkeypatch, TWO, "") == ""


def test_an_index_tells_nothing_among_models_that_cuda_may_order_otherwise(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    assert seen(monkeypatch, {"GPU-1": "H200", "GPU-2": "L4"}, "1") == ""


def test_without_a_driver_there_is_none(monkeypatch: pytest.MonkeyPatch) -> None:
    def fails() -> None:
        raise pynvml.NVMLError(pynvml.NVML_ERROR_LIBRARY_NOT_FOUND)

    monkeypatch.setattr(pynvml, "nvmlInit", fails)
    assert gpu_watch.chosen(None) == {}
    with pytest.raises(UserError, match="the driver shows 0 GPUs"):
        gpu_watch.chosen(0)
