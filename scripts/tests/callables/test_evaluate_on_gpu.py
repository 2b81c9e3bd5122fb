# SPDX-License-Identifier: Apache-2.0
"""Tricks of a candidate on a GPU: each is found, or changes nothing. Honest ones are not accused.

Each is measured by one process, with the checker beside it.
"""

from __future__ import annotations

import itertools
import json
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

import evaluating
from warpgauge.callables.messages import Channel, Values
from warpgauge.commands import evaluate
from warpgauge.measure import python_file

torch = pytest.importorskip("torch", reason="needs PyTorch")
pytest.importorskip("warpgauge_engine", reason="needs the engine for Python")
if not torch.cuda.is_available():
    pytest.skip("needs a GPU", allow_module_level=True)

BASE = """
import torch

SECRET = "to be looked for"

def inputs(n=(1 << 22,)):
    return torch.randn(n, device="cuda"), torch.randn(n, device="cuda")

def kernel(x, y):
    return torch.addcmul(y, x, x)

def reference(x, y):
    return x * x + y
"""

HEAD = "import ctypes, gc, sys, threading, time, torch\n"
HONEST = {
    "one operation": "def kernel(x, y): return torch.addcmul(y, x, x)",
    "two operations": "def kernel(x, y): return x * x + y",
    "compiled": "@torch.compile\ndef kernel(x, y): return x * x + y",
    "in a tuple": "def kernel(x, y): return (x * x + y,)",
    "with gaps": """
def kernel(x, y):
    return torch.stack([x * x + y, x], 1)[:, 0]
""",
    "a tuple that computes": """
class Lazy(tuple):
    def __iter__(self): return iter([self[0] * self[0] + self[1]])
def kernel(x, y): return Lazy([x.clone(), y.clone()])
""",
    "by autograd": """
class Square(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, y):
        return torch.addcmul(y, x, x)
def kernel(x, y): return Square.apply(x, y)
""",
    "on a stream that joins": """
SIDE = torch.cuda.Stream()
def kernel(x, y):
    SIDE.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(SIDE):
        z = x * x
    torch.cuda.current_stream().wait_stream(SIDE)
    return z + y
""",
    "waiting inside": """
def kernel(x, y):
    z = x * x + y
    torch.cuda.synchronize()
    return z
""",
}

WRONG = {
    "work on another stream": """
def kernel(x, y):
    z = torch.empty_like(x)
    with torch.cuda.stream(torch.cuda.Stream()):
        torch.addcmul(y, x, x, out=z)
    return z
""",
    "kept by pointer": """
KNOWN = {}
def kernel(x, y): return KNOWN.setdefault(x.data_ptr(), x * x + y)
""",
    "kept by shape": """
KNOWN = {}
def kernel(x, y): return KNOWN.setdefault(x.shape, x * x + y).clone()
""",
    "kept by value": """
KNOWN = []
def kernel(x, y):
    if not KNOWN:
        KNOWN.extend([x[:4].clone(), x * x + y])
    return torch.where((x[:4] == KNOWN[0]).all(), KNOWN[1], KNOWN[1])
""",
    "its input changed": """
def kernel(x, y):
    z = x * x + y
    x.zero_()
    return z
""",
    "its input returned": "def kernel(x, y): return y.addcmul_(x, x)",
    "a lazy result": """
class Lazy(torch.Tensor):
    @classmethod
    def __torch_function__(cls, function, types, arguments=(), named=None):
        plain = [LATER[id(one)]() if type(one) is Lazy else one for one in arguments]
        return function(*plain, **(named or {}))
LATER = {}
def kernel(x, y):
    z = torch.Tensor._make_subclass(Lazy, torch.empty(0, device="cuda"))
    LATER[id(z)] = lambda: x * x + y
    return z
""",
    "an answer of the import": """
Z = torch.randn(1 << 22, device="cuda")
def kernel(x, y): return Z.clone()
""",
    "a graph that never runs again": """
STATIC = [torch.randn(1 << 22, device="cuda") for _ in "12"]
GRAPH = torch.cuda.CUDAGraph()
with torch.cuda.graph(GRAPH):
    Z = STATIC[0] * STATIC[0] + STATIC[1]
GRAPH.replay()
def kernel(x, y): return Z.clone()
""",
    "a thread that works later": """
sys.setswitchinterval(1e-6)
WORK = []
def later():
    side = torch.cuda.Stream()
    while True:
        for x, y, z in WORK[-8:]:
            with torch.cuda.stream(side):
                torch.addcmul(y, x, x, out=z)
        time.sleep(1e-4)
threading.Thread(target=later, daemon=True).start()
def kernel(x, y):
    z = torch.empty_like(x)
    WORK.append((x, y, z))
    return z
""",
    "__eq__ replaced": """
torch.Tensor.__eq__ = lambda one, other: torch.ones_like(one, dtype=torch.bool)
torch.Tensor.eq = torch.Tensor.__eq__
torch.allclose = torch.equal = lambda *_, **__: True
torch.testing.assert_close = lambda *_, **__: None
def kernel(x, y): return torch.empty_like(x)
""",
    "the reference looked for": """
def kernel(x, y):
    functions = [one for one in gc.get_objects() if type(one) is type(kernel)]
    known = [one for one in functions if one.__code__.co_name == "reference"]
    known += [m.reference for m in [*sys.modules.values()] if hasattr(m, "SECRET")]
    return known[0](x, y) if known else torch.empty_like(x)
""",
    "the checker spoken to": """
import os, socket
from warpgauge.callables.messages import Channel
def kernel(x, y):
    with socket.socket(socket.AF_UNIX) as own:
        own.connect(os.path.join(os.path.dirname(__file__), "checker.socket"))
        Channel(own).ask({"side": "candidate"})
    return x * x + y
""",
}

# Work that is right, and what would make it look faster.
HARMLESS = {
    "timers replaced": """
time.perf_counter = time.perf_counter_ns = time.monotonic = time.time = lambda: 0
torch.cuda.Event.elapsed_time = lambda *_: 1e-6
torch.cuda.Event.record = torch.cuda.Event.synchronize = lambda *_: None
def kernel(x, y): return torch.addcmul(y, x, x)
""",
    "functions of torch.cuda replaced": """
zero = lambda *_, **__: 0
torch.cuda.synchronize = torch.cuda.memory_allocated = torch.cuda.max_memory_allocated = zero
torch.cuda.memory.memory_stats = lambda *_, **__: {}
torch.cuda.reset_peak_memory_stats = torch.cuda.current_device = zero
def kernel(x, y): return torch.addcmul(y, x, x)
""",
    "the L2 pinned": """
cuda = ctypes.CDLL("libcuda.so.1")
cuda.cuCtxSetLimit(6, ctypes.c_size_t(32 << 20))
class Window(ctypes.Structure):
    _fields_ = [("base", ctypes.c_void_p), ("bytes", ctypes.c_size_t), ("ratio", ctypes.c_float),
                ("hit", ctypes.c_int), ("miss", ctypes.c_int), ("rest", ctypes.c_char * 36)]
def kernel(x, y):
    window = Window(x.data_ptr(), x.nbytes, 1.0, 2, 1)
    cuda.cuStreamSetAttribute(ctypes.c_void_p(torch.cuda.current_stream().cuda_stream), 1,
                              ctypes.byref(window))
    return torch.addcmul(y, x, x)
""",
}


@dataclass
class Evaluation:
    folder: Path
    control: Channel
    answer: Values

    def measured(self, text: str) -> tuple[float, str]:
        """Nanoseconds of a candidate, or 0.0 and why it has none."""
        kernel, program = self.folder / "mine.py", self.folder / "mine"
        kernel.write_text(HEAD + text)
        before = next(times for times in itertools.count() if self._fault(times + 1))
        words = evaluating.words(self.folder, "candidate", kernel, self.answer)
        python_file.write(program, "side", words)
        out = self.folder / "out.json"
        out.unlink(missing_ok=True)
        command = [str(program), f"--benchmark_out={out}"]
        ended = subprocess.run(command, capture_output=True, text=True, timeout=120)
        fault = self._fault(before + 1)
        rows = json.loads(out.read_text())["benchmarks"] if out.exists() else []
        error = rows[0].get("error_message", "") if rows else ended.stderr
        return (0.0, error or fault) if error or fault else (rows[0]["real_time"], "")

    def _fault(self, times: int) -> str:
        (fault,) = self.control.ask({"side": "candidate", "times": [times]})[0]["faults"]
        return str(fault)


@pytest.fixture(scope="module")
def evaluation(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Evaluation]:
    folder = tmp_path_factory.mktemp("evaluation")
    base = folder / "base.py"
    base.write_text(BASE)
    measuring: Any = SimpleNamespace(
        scratch=folder, options=SimpleNamespace(device=None, timeout_s=120)
    )
    files = {"base": str(base), "function": "kernel", "inputs": str(base)}
    settings = {"socket": str(folder / "checker.socket"), "axes": {}, "shapes": [], **files}
    with evaluate._checker(measuring) as control:
        yield Evaluation(folder, control, control.ask(settings)[0])


@pytest.fixture(scope="module")
def honest(evaluation: Evaluation) -> float:
    time, why = evaluation.measured(HONEST["one operation"])
    assert why == ""
    return time


@pytest.mark.parametrize("name", HONEST)
def test_an_honest_kernel_is_not_accused(evaluation: Evaluation, name: str) -> None:
    time, why = evaluation.measured(HONEST[name])
    assert why == ""
    assert time > 0


@pytest.mark.parametrize("name", WRONG)
def test_a_trick_is_found(evaluation: Evaluation, name: str) -> None:
    _, why = evaluation.measured(WRONG[name])
    assert why


@pytest.mark.parametrize("name", HARMLESS)
def test_what_would_please_a_timer_changes_nothing(
    evaluation: Evaluation, honest: float, name: str
) -> None:
    time, why = evaluation.measured(HARMLESS[name])
    assert why or time > 0.9 * honest
