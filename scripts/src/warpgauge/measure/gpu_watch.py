# SPDX-License-Identifier: Apache-2.0
"""Waits until no other process uses the GPU, keeps it open, and finds GPUs through NVML."""

from __future__ import annotations

import ctypes
import os
import time
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from itertools import chain
from pathlib import Path

import pynvml

from warpgauge.system import process
from warpgauge.system.errors import ExitStatus, UserError
from warpgauge.system.process import Ending
from warpgauge.system.text import inert

VARIABLE = "CUDA_VISIBLE_DEVICES"
_PATIENCE_S, _POLL_S = 60.0, 0.5


@dataclass
class GpuWatch:
    """Asks the driver who uses one or several GPUs while no process of the run does."""

    uuid: str
    say: Callable[[str], None]
    _staying: frozenset[int] = frozenset()  # pids that outlasted `wait`, ignored until the next
    _ours: frozenset[int] = frozenset()

    def wait(self) -> None:
        """Wait until no other process uses the GPU or time is up; rows then record the sharing."""
        self._staying = frozenset()
        left = self._left("Waiting for the GPU, which {} ...")
        self._staying = frozenset(user.pid for user in left)

    def admit(self) -> None:
        """Take those that use the GPU now as ours, which sleep while something is measured."""
        self._ours = frozenset(user.pid for user in users_now(self.uuid))

    def freed(self, ending: Ending) -> None:
        """Wait until a process that ended badly, and all its children, have left the GPU."""
        if left := self._left(f"Waiting for the GPU, which {{}} since {inert(ending.how)} ..."):
            self.say(
                f"The GPU is not free since {inert(ending.how)}: after {_PATIENCE_S:g} s "
                f"{_use(left)} it. Benchmarks measured at the same time are INVALID."
            )

    def _left(self, message: str) -> list[User]:
        """Return who still uses the GPU when time is up; `message` names them during the wait."""
        end = time.monotonic() + _PATIENCE_S
        left = self._users()
        if left:
            self.say(message.format(_use(left)))
        while left and time.monotonic() < end:
            time.sleep(_POLL_S)
            left = self._users()
        return left

    def _users(self) -> list[User]:
        known = self._staying | self._ours
        return [user for user in users_now(self.uuid) if user.pid not in known]


def _use(users: Collection[User]) -> str:
    return f"{' and '.join(map(str, users))} {'uses' if len(users) == 1 else 'use'}"


@dataclass(frozen=True)
class User:
    """A process with a CUDA context on the GPU; `name` is "" if it is not visible here."""

    pid: int
    name: str

    def __str__(self) -> str:
        return f"{self.name} (pid {self.pid})" if self.name else f"pid {self.pid}"


def keep_open() -> None:
    """Keep the visible GPUs open as long as this process lives, without a context on them.

    The driver closes a GPU that nobody uses; opening it again takes each new process 0.1 s (H200).
    """
    with suppress(OSError):  # without a driver there is nothing to keep
        ctypes.CDLL("libcuda.so.1").cuInit(0)


def users_now(uuid: str) -> list[User]:
    """Return all processes that now have a context on any of these GPUs (``GPU-1,GPU-2``).

    Empty if the driver does not report them. Call it while no process of the run is alive: across
    containers, pids do not tell which processes are ours.
    """
    with suppress(pynvml.NVMLError), _driver():
        handles = [pynvml.nvmlDeviceGetHandleByUUID(one) for one in uuid.split(",")]
        users = chain.from_iterable(map(pynvml.nvmlDeviceGetComputeRunningProcesses, handles))
        return [User(pid, _name_of(pid)) for pid in sorted({process.pid for process in users})]
    return []


@contextmanager
def _driver() -> Iterator[None]:
    """Initialise NVML. Raises NVMLError."""
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
    """Return UUID and name of `device` (nvidia-smi index or UUID), under context keys.

    Several devices (``0,1``) are `joined`. Without `device`, return the only GPU that programs see,
    or nothing if there is not exactly one. Raises UserError, also for a device that is not there.
    """
    gpus = all_gpus()
    if device is None:
        seen = _seen(gpus)
        if len(seen) != 1:
            return {}
        (device,) = seen
    if not gpus:
        fault = f"there is no GPU {device} here: no driver reports a GPU"
        raise UserError(fault, ExitStatus.NOT_MEASURED)
    return joined([(uuid, gpus[uuid]) for uuid in _named(device, gpus)])


def require(device: int | str) -> None:
    """Raise UserError for a device of --device (CUDA's index or a UUID) that is not there.

    Nothing is refused that the driver cannot tell.
    """
    process.require_gpu()
    # An index counts the GPUs that CUDA shows, whose order the driver does not know.
    by_index = any(name.isdigit() for name in str(device).split(","))
    if not (by_index and VARIABLE in os.environ) and (gpus := all_gpus()):
        _named(device, gpus)


def _named(device: int | str, gpus: Mapping[str, str]) -> list[str]:
    """Return the UUIDs of `device`. Raises UserError if `gpus` lack one."""
    by_index = dict(enumerate(gpus))
    named = str(device).split(",")
    uuids = [by_index.get(int(name), name) if name.isdigit() else name for name in named]
    if missing := next((uuid for uuid in uuids if uuid not in gpus), ""):
        known = [f"{index}: {inert(gpus[uuid])} ({uuid})" for index, uuid in by_index.items()]
        raise UserError(f"there is no GPU {missing} here: choose one of {', '.join(known)}")
    return uuids


def joined(gpus: Sequence[tuple[str, str]]) -> dict[str, str]:
    """Return UUID and name of one GPU, or of several as one model, ``NVIDIA H200 x2``.

    Raises UserError for one that is named twice, and for different models.
    """
    uuids, models = sorted({uuid for uuid, _ in gpus}), sorted({name for _, name in gpus})
    if len(uuids) < len(gpus) or len(models) > 1:
        why = f"they are {' and '.join(models)}" if len(models) > 1 else "one is named twice"
        raise UserError(f"the GPUs cannot be measured together: {why}", ExitStatus.NOT_MEASURED)
    together = f" x{len(uuids)}" if len(uuids) > 1 else ""
    return {"gpu_uuid": ",".join(uuids), "gpu_name": models[0] + together}


def _seen(gpus: Mapping[str, str]) -> list[str]:
    """Return the UUIDs of the GPUs that CUDA shows here, as far as they can be determined."""
    visible = os.environ.get(VARIABLE)
    if visible is None:
        return list(gpus)
    # An index counts in CUDA's order, which is certain to match NVML's only for equal models.
    alike = len(set(gpus.values())) == 1
    by_index = {str(index): uuid for index, uuid in enumerate(gpus) if alike}
    words = [word.strip() for word in visible.split(",")]
    return [by_index.get(word, word) for word in words if by_index.get(word, word) in gpus]


def all_gpus() -> dict[str, str]:
    """Return the model of each GPU by UUID, in the driver's order; empty without a driver."""
    with suppress(pynvml.NVMLError), _driver():
        gpus = [*map(pynvml.nvmlDeviceGetHandleByIndex, range(pynvml.nvmlDeviceGetCount()))]
        return {pynvml.nvmlDeviceGetUUID(gpu): pynvml.nvmlDeviceGetName(gpu) for gpu in gpus}
    return {}
