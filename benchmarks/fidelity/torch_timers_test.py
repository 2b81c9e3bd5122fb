# SPDX-License-Identifier: Apache-2.0
"""The usual timers of Python, on a torch that is made up: its clock is that of its calls."""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest

from fidelity import torch_timers

HOST, KERNEL, EVICTION = 4e-6, 1e-6, 80e-6  # seconds


@dataclass
class Machine:
    """A clock, and the device's queue; what runs is traced."""

    torch: Any = None
    modules: dict[str, Any] = field(default_factory=dict)
    events: list[Any] = field(default_factory=list)
    now: float = 0.0
    free_at: float = 0.0

    def launch(self, name: str, seconds: float) -> None:
        self.now += HOST
        start = max(self.now, self.free_at)
        self.free_at = start + seconds
        span = SimpleNamespace(start=1e6 * start, elapsed_us=lambda: 1e6 * seconds)
        self.events.append(SimpleNamespace(name=name, device_type="cuda", time_range=span))

    def synchronize(self) -> None:
        self.now = max(self.now, self.free_at)


class Trace:
    def __init__(self, machine: Machine) -> None:
        self._machine = machine

    def __enter__(self) -> Trace:
        self._machine.events = [SimpleNamespace(name="cudaLaunchKernel", device_type="cpu")]
        return self

    def __exit__(self, *_: object) -> None: ...

    def events(self) -> list[Any]:
        return [*reversed(self._machine.events)]


@pytest.fixture
def machine(monkeypatch: pytest.MonkeyPatch) -> Machine:
    made = Machine()

    def square(x: object) -> None:
        made.launch("square", KERNEL)
        made.launch("square_tail", KERNEL)

    large = SimpleNamespace(amax=lambda: made.launch("amax", EVICTION))
    cuda = SimpleNamespace(synchronize=made.synchronize, is_available=lambda: True)
    torch = SimpleNamespace(
        cuda=cuda,
        square=square,
        ones=lambda count, device: large,
        randn=lambda count, device: object(),
        autograd=SimpleNamespace(DeviceType=SimpleNamespace(CUDA="cuda")),
    )
    profiler = SimpleNamespace(
        profile=lambda activities: Trace(made), ProfilerActivity=SimpleNamespace(CUDA=0)
    )
    timer = SimpleNamespace(blocked_autorange=lambda: SimpleNamespace(median=5e-6))
    ours = SimpleNamespace(time=lambda fn, x, reference: SimpleNamespace(seconds=2.02e-6))
    modules: dict[str, Any] = {
        "torch": torch,
        "torch.profiler": profiler,
        "torch.utils.benchmark": SimpleNamespace(Timer=lambda code, globals: timer),
        "warpgauge": ours,
        "warpgauge_engine": object(),
    }

    def imported(name: str) -> ModuleType:
        if name not in modules:
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)
        return modules[name]  # type: ignore[no-any-return]

    monkeypatch.setattr(torch_timers, "importlib", SimpleNamespace(import_module=imported))
    monkeypatch.setattr(time, "perf_counter", lambda: made.now)
    made.torch, made.modules = torch, modules
    return made


def test_cupti_counts_all_kernels_of_a_call_and_not_the_eviction(machine: Machine) -> None:
    assert torch_timers.cupti(machine.torch.square, None) == pytest.approx(2 * KERNEL)


def test_a_clock_that_does_not_wait_misses_the_end_of_the_work(machine: Machine) -> None:
    alone = torch_timers.unsynchronised(machine.torch.square, None)
    assert alone == pytest.approx(2 * HOST)
    assert torch_timers.synchronised(machine.torch.square, None) == pytest.approx(alone + KERNEL)


def test_the_table_has_a_line_for_each_size_and_a_gap_without_triton(
    machine: Machine, capsys: pytest.CaptureFixture[str]
) -> None:
    assert torch_timers.main([4096, 8192]) == 0
    heading, *lines = capsys.readouterr().out.splitlines()
    assert heading.split()[0] == "floats"
    assert [line.split()[0] for line in lines] == ["4096", "8192"]
    assert all(" – " in line and "2.02 µs × 1.01" in line for line in lines)
    assert len({len(line) for line in (heading, *lines)}) == 1


@pytest.mark.parametrize("missing", ["torch", "warpgauge_engine", "a GPU", "CUPTI"])
def test_what_is_missing_is_one_sentence(
    machine: Machine, capsys: pytest.CaptureFixture[str], missing: str
) -> None:
    if missing == "a GPU":
        machine.torch.cuda.is_available = lambda: False
    elif missing == "CUPTI":
        machine.modules["torch.profiler"].profile = lambda activities: Trace(Machine())
    else:
        del machine.modules[missing]
    assert torch_timers.main() == 3
    out, err = capsys.readouterr()
    assert out == ""
    assert err.count("\n") == 1
    assert missing.removeprefix("a ") in err
