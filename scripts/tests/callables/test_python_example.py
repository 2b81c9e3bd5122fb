# SPDX-License-Identifier: Apache-2.0
"""The files of examples/python: on a GPU with PyTorch as they are, and elsewhere on fakes."""

from __future__ import annotations

import importlib.util
import os
import runpy
import subprocess
import sys
from collections.abc import Callable
from types import ModuleType, SimpleNamespace
from typing import Any

import numpy as np
import pytest

import fake_engine
from fake_engine import Case, NumPy
from warpgauge.callables import arrays, program, timing
from warpgauge.system import environment

EXAMPLE = environment.ROOT / "examples" / "python"
BENCHMARKS, ONE_TIME = EXAMPLE / "bench_silu.py", EXAMPLE / "time_silu.py"
LARGEST = 1 << 12  # elements of a fake array


class FakeTorch(ModuleType):
    """PyTorch's silu and what it is made of, on arrays of NumPy."""

    Tensor = np.ndarray

    def __init__(self) -> None:
        super().__init__("torch")
        self.nn = SimpleNamespace(functional=SimpleNamespace(silu=lambda x: x / (1 + np.exp(-x))))

    @staticmethod
    def randn(n: int, device: str) -> np.ndarray:
        assert device == "cuda"
        return np.linspace(-3, 3, min(n, LARGEST), dtype="float32")

    @staticmethod
    def sigmoid(x: np.ndarray) -> Any:  # noqa: ANN401
        return 1 / (1 + np.exp(-x))


@pytest.fixture
def fakes(monkeypatch: pytest.MonkeyPatch) -> SimpleNamespace:
    engine = fake_engine.program()
    monkeypatch.setattr(arrays, "present", lambda: [NumPy()])
    monkeypatch.setattr(timing, "engine_module", lambda: engine)
    monkeypatch.setattr(sys, "path", [str(EXAMPLE), *sys.path])
    monkeypatch.setitem(sys.modules, "torch", FakeTorch())
    monkeypatch.delitem(sys.modules, "silu", raising=False)
    return engine


def test_each_n_is_a_row_whose_result_is_verified(
    fakes: SimpleNamespace, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert program.main([str(BENCHMARKS)]) == 0
    assert fakes.rows == {(1 << 16,): "", (1 << 24,): ""}
    monkeypatch.setattr(sys.modules["torch"], "sigmoid", np.tanh)
    program.main([str(BENCHMARKS)])
    assert all(error.startswith("WrongResult") for error in fakes.rows.values())


def test_one_time_is_printed(
    fakes: SimpleNamespace, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    cases = []

    def measured(device: int, title: str, how: Callable[[Case], None]) -> SimpleNamespace:
        cases.append(Case())
        how(cases[-1])
        return SimpleNamespace(seconds=2e-6, counters={"samples": 9, "spread": 0.01, "kernels": 2})

    monkeypatch.setattr(timing, "measured", measured)
    runpy.run_path(str(ONE_TIME))
    assert cases[0].modes == ["replay"]
    assert cases[0].work["bytes"] == 2 * 4 * LARGEST
    assert capsys.readouterr().out.startswith("silu: 2 µs (")


def on_gpu(*words: str) -> str:
    """What the example's own process says; skips where PyTorch, the engine or a GPU is missing."""
    for module in ("torch", "warpgauge_engine"):
        if importlib.util.find_spec(module) is None:
            pytest.skip(f"{module} is not installed")
    if not importlib.import_module("torch").cuda.is_available():
        pytest.skip("needs a GPU")
    done = subprocess.run(
        [sys.executable, *words], capture_output=True, text=True, check=False,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_the_files_run_as_they_are_on_a_gpu() -> None:
    assert "2 kernels" in on_gpu(str(ONE_TIME))
    shown = on_gpu("-m", "warpgauge.callables.program", str(BENCHMARKS))
    assert "silu/two_kernels/f32/n:16777216" in shown
    assert "wrong result" not in shown
