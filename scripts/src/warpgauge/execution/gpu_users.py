# SPDX-License-Identifier: Apache-2.0
"""Who else computes on a GPU, as its driver (NVML) tells."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pynvml

_POLL_S = 0.5


@dataclass(frozen=True)
class User:
    """A process with a CUDA context on the GPU; `name` is "" where it cannot be seen from here."""

    pid: int
    name: str

    def __str__(self) -> str:
        return f"{self.name} (pid {self.pid})" if self.name else f"pid {self.pid}"


def now(uuid: str) -> list[User]:
    """Everybody with a context on the GPU at this moment; nobody where the driver does not say.

    Ask while no process of one's own runs: across containers a pid does not tell whose it is.
    """
    try:
        pynvml.nvmlInit()
    except pynvml.NVMLError:
        return []
    try:
        handle = pynvml.nvmlDeviceGetHandleByUUID(uuid)
        found = pynvml.nvmlDeviceGetComputeRunningProcesses(handle)
    except pynvml.NVMLError:
        return []
    finally:
        pynvml.nvmlShutdown()
    return [User(one.pid, _name(one.pid)) for one in sorted(found, key=lambda one: one.pid)]


def stayed(
    users: Callable[[], list[User]],
    patience_s: float,
    *,
    waiting: Callable[[list[User]], None] = lambda _: None,
    clock: Callable[[], float] = time.monotonic,
    sleep: Callable[[float], None] = time.sleep,
) -> list[User]:
    """Wait until nobody uses the GPU; those that still do after `patience_s`.

    `waiting` is called once, with those that are waited for.
    """
    end = clock() + patience_s
    left = users()
    if left:
        waiting(left)
    while left and clock() < end:
        sleep(_POLL_S)
        left = users()
    return left


def _name(pid: int) -> str:
    try:
        return Path(f"/proc/{pid}/comm").read_text(errors="replace").strip()
    except OSError:
        return ""
