# SPDX-License-Identifier: Apache-2.0
"""The GPU that another project's programs run on, as the driver (NVML) knows it."""

from __future__ import annotations

import os
from collections.abc import Mapping

import pynvml

from warpgauge.system.errors import ExitStatus, UserError
from warpgauge.system.text import inert, plural

VARIABLE = "CUDA_VISIBLE_DEVICES"


def chosen(device: int | str | None) -> Mapping[str, str]:
    """UUID and name of `device`, an index as nvidia-smi counts or a UUID, under a context's keys.

    Without one that of the only GPU that programs see; nothing where there is none, or a choice.
    Raises UserError for a device that is not there.
    """
    gpus = _all()
    if device is None:
        seen = _seen(gpus)
        return _told(seen[0], gpus) if len(seen) == 1 else {}
    if isinstance(device, int) and device < len(gpus):
        return _told(list(gpus)[device], gpus)
    if isinstance(device, str) and device in gpus:
        return _told(device, gpus)
    there = f"the driver shows {plural(len(gpus), 'GPU')}"
    raise UserError(f"there is no GPU {inert(str(device))} here: {there}", ExitStatus.NOT_MEASURED)


def _told(uuid: str, gpus: Mapping[str, str]) -> Mapping[str, str]:
    return {"gpu_uuid": uuid, "gpu_name": gpus[uuid]}


def _seen(gpus: Mapping[str, str]) -> list[str]:
    """Which of them CUDA shows here, as far as it can be told."""
    visible = os.environ.get(VARIABLE)
    if visible is None:
        return list(gpus)
    # An index is CUDA's own, whose order is the driver's only among GPUs of one model.
    alike = len(set(gpus.values())) == 1
    by_index = {str(index): uuid for index, uuid in enumerate(gpus) if alike}
    words = [word.strip() for word in visible.split(",")]
    return [by_index.get(word, word) for word in words if by_index.get(word, word) in gpus]


def _all() -> dict[str, str]:
    """The model of each GPU by its UUID, in the driver's order; none where there is no driver."""
    try:
        pynvml.nvmlInit()
    except pynvml.NVMLError:
        return {}
    try:
        handles = map(pynvml.nvmlDeviceGetHandleByIndex, range(pynvml.nvmlDeviceGetCount()))
        return {
            str(pynvml.nvmlDeviceGetUUID(one)): str(pynvml.nvmlDeviceGetName(one))
            for one in handles
        }
    except pynvml.NVMLError:
        return {}
    finally:
        pynvml.nvmlShutdown()
