# SPDX-License-Identifier: Apache-2.0
"""Keeps the processes of a run from meeting others on the GPU, a killed one's remains included.

And tells which GPU another project's programs see, as the driver (NVML) knows it.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

import pynvml

from warpgauge.system.errors import ExitStatus, UserError
from warpgauge.system.process import Ending
from warpgauge.system.text import inert, plural

VARIABLE = "CUDA_VISIBLE_DEVICES"
_PATIENCE_S, _POLL_S = 60.0, 0.5


@dataclass
class GpuWatch:
    """Asks the driver about one GPU while no process of the run is on it."""

    uuid: str
    say: Callable[[str], None]
    _staying: frozenset[int] = frozenset()  # who was waited for in vain: neighbours for good

    def wait(self) -> None:
        """Until nobody else computes there, or patience ends; then rows tell of it themselves."""
        self._staying = frozenset()
        left = self._left("Waiting for the GPU, which {} ...")
        self._staying = frozenset(user.pid for user in left)

    def freed(self, ending: Ending) -> None:
        """Wait until a process that came to a bad end, and all it started, has left the GPU."""
        if left := self._left(f"Waiting for the GPU, which {{}} since {inert(ending.how)} ..."):
            self.say(
                f"The GPU is not free since {inert(ending.how)}: after {_PATIENCE_S:g} s "
                f"{_use(left)} it. What is measured beside that is INVALID."
            )

    def _left(self, message: str) -> list[User]:
        """Who still uses the GPU when patience ends; `message` is said of who is waited for."""
        end = time.monotonic() + _PATIENCE_S
        left = self._users()
        if left:
            self.say(message.format(_use(left)))
        while left and time.monotonic() < end:
            time.sleep(_POLL_S)
            left = self._users()
        return left

    def _users(self) -> list[User]:
        return [user for user in users_now(self.uuid) if user.pid not in self._staying]


def _use(users: Collection[User]) -> str:
    """``train (pid 7) uses``."""
    return f"{' and '.join(map(str, users))} {'uses' if len(users) == 1 else 'use'}"


@dataclass(frozen=True)
class User:
    """A process with a CUDA context on the GPU; `name` is "" where it cannot be seen from here."""

    pid: int
    name: str

    def __str__(self) -> str:
        return f"{self.name} (pid {self.pid})" if self.name else f"pid {self.pid}"


def users_now(uuid: str) -> list[User]:
    """Everybody with a context on the GPU at this moment; nobody where the driver does not say.

    Ask while no process of one's own runs: across containers a pid does not tell whose it is.
    """
    with suppress(pynvml.NVMLError), _driver():
        handle = pynvml.nvmlDeviceGetHandleByUUID(uuid)
        pids = [process.pid for process in pynvml.nvmlDeviceGetComputeRunningProcesses(handle)]
        return [User(pid, _name_of(pid)) for pid in sorted(pids)]
    return []


@contextmanager
def _driver() -> Iterator[None]:
    """NVML, for as long as it is asked. Raises NVMLError."""
    pynvml.nvmlInit()
    try:
        yield
    finally:
        pynvml.nvmlShutdown()


def _name_of(pid: int) -> str:
    with suppress(OSError):
        return Path(f"/proc/{pid}/comm").read_text(errors="replace").strip()
    return ""


def chosen(device: int | str | None) -> Mapping[str, str]:
    """UUID and name of `device`, an index as nvidia-smi counts or a UUID, under a context's keys.

    Without one that of the only GPU that programs see; nothing where there is none, or a choice.
    Raises UserError for a device that is not there.
    """
    gpus = all_gpus()
    if device is None:
        seen = _seen(gpus)
        if len(seen) != 1:
            return {}
        (device,) = seen
    uuid = [*gpus][device] if isinstance(device, int) and device < len(gpus) else device
    if uuid not in gpus:
        fault = f"there is no GPU {inert(str(device))} here: the driver shows "
        raise UserError(fault + plural(len(gpus), "GPU"), ExitStatus.NOT_MEASURED)
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


def all_gpus() -> dict[str, str]:
    """The model of each GPU by its UUID, in the driver's order; none where there is no driver."""
    with suppress(pynvml.NVMLError), _driver():
        gpus = [*map(pynvml.nvmlDeviceGetHandleByIndex, range(pynvml.nvmlDeviceGetCount()))]
        return {pynvml.nvmlDeviceGetUUID(gpu): pynvml.nvmlDeviceGetName(gpu) for gpu in gpus}
    return {}
