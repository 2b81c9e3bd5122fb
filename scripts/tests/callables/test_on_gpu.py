# SPDX-License-Identifier: Apache-2.0
"""Callables of the frameworks on a GPU: right work is timed, and what pleases a timer is not."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

import warpgauge
from warpgauge.callables.timing import Timing
from warpgauge.system.errors import UserError

torch = pytest.importorskip("torch", reason="needs PyTorch")
warpgauge_engine = pytest.importorskip("warpgauge_engine", reason="needs the engine for Python")
if not torch.cuda.is_available():
    pytest.skip("needs a GPU", allow_module_level=True)

Tensor = Any


def normal(*shape: int, dtype: object = torch.float32) -> Tensor:
    return torch.randn(*shape, device="cuda", dtype=dtype)


def timed(fn: Callable[..., object], *arguments: object, **options: object) -> Timing:
    found = warpgauge.time(fn, *arguments, **options)  # type: ignore[arg-type]
    assert found is not None
    return found


HALF = torch.bfloat16
CASES = {
    "square": (torch.square, (normal(2**20),)),
    "softmax": (lambda x: torch.softmax(x, -1), (normal(512, 1024),)),
    "matmul": (torch.matmul, (normal(512, 512, dtype=HALF), normal(512, 512, dtype=HALF))),
    "transposed": (torch.matmul, (normal(512, 256, dtype=HALF).t(), normal(512, 256, dtype=HALF))),
    "layer norm": (lambda x: torch.nn.functional.layer_norm(x, x.shape[-1:]), (normal(512, 1024),)),
    "several": (lambda x: (x + 1, x.sum(0)), (normal(256, 256),)),
}


@pytest.mark.parametrize("name", CASES)
def test_right_work_is_captured_and_verified(name: str) -> None:
    fn, arguments = CASES[name]
    found = timed(fn, *arguments, reference=fn)
    assert found.why_not_captured == ""
    assert found.row.counters["kernels"] >= 1
    assert 0 < found.interval[0] <= found.seconds <= found.interval[1]


def test_forward_and_backward_are_one_call() -> None:
    def both(x: Tensor, w: Tensor) -> Tensor:
        (gradient,) = torch.autograd.grad(torch.tanh(x @ w).sum(), w)
        return gradient

    found = timed(both, normal(256, 256), normal(256, 256).requires_grad_(), tolerance=(1e-3, 1e-3))
    assert found.why_not_captured == ""


def test_what_waits_inside_is_timed_call_by_call() -> None:
    found = timed(lambda x: x + x.sum().item(), normal(4096), tolerance=(1e-3, 1e-3))
    assert found.why_not_captured
    assert found.seconds > 1e-6


def test_what_a_program_launches_besides_slows_no_kernel() -> None:
    x = normal(4096)
    timed(torch.square, x)
    for _ in range(100):
        torch.square(x)
    assert timed(torch.square, x).row.counters.get("canary_change", 0) < 0.05


kept: list[Tensor] = []


def of_the_first_call(x: Tensor) -> Tensor:
    if not kept:
        kept.append(x * x)
    return kept[0]


def of_the_same_memory(x: Tensor, known: dict[int, Tensor] = {}) -> Tensor:  # noqa: B006
    return known.setdefault(x.data_ptr(), x * x)


def on_another_stream(x: Tensor) -> Tensor:
    y = torch.empty_like(x)
    with torch.cuda.stream(torch.cuda.Stream()):
        torch.mul(x, x, out=y)
    return y


def on_the_default_stream(x: Tensor) -> Tensor:
    y = torch.empty_like(x)
    with torch.cuda.stream(torch.cuda.default_stream()):
        torch.mul(x, x, out=y)
    return y


def changing_its_input(x: Tensor) -> Tensor:
    y = x * x
    x.zero_()
    return y


TRICKS = [
    of_the_first_call,
    of_the_same_memory,
    on_another_stream,
    on_the_default_stream,
    changing_its_input,
]


@pytest.mark.parametrize("trick", TRICKS)
def test_a_trick_is_an_error(trick: Callable[[Tensor], Tensor]) -> None:
    with pytest.raises((UserError, RuntimeError)) as caught:
        timed(trick, normal(2**16), reference=torch.square)
    assert not isinstance(caught.value, warpgauge_engine.NotCapturable)


def test_cupy_is_measured_too() -> None:
    cupy = pytest.importorskip("cupy")
    x = cupy.random.rand(2**18, dtype=cupy.float32)
    assert timed(cupy.square, x, reference=cupy.square).why_not_captured == ""
    kernel = cupy.RawKernel(
        'extern "C" __global__ void f(const float* x, float* y, int n)'
        "{ int i = blockIdx.x * 256 + threadIdx.x; if (i < n) y[i] = 2 * x[i]; }",
        "f",
    )

    def launched(x: object, y: object) -> None:
        kernel((2**18 // 256,), (256,), (x, y, cupy.int32(2**18)))

    def doubled(x: object, y: object) -> object:
        return 2 * x  # type: ignore[operator]

    found = timed(launched, x, cupy.empty_like(x), outputs=[1], reference=doubled)
    assert found.row.counters["registers"] > 0
