# SPDX-License-Identifier: Apache-2.0
"""JAX and Numba on a GPU."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import warpgauge
from warpgauge.callables.timing import Timing
from warpgauge.system.errors import UserError

pytest.importorskip("warpgauge_engine", reason="needs the engine for Python")

Array = Any
Module = Any


def timed(fn: Callable[..., object], *arguments: object, **options: object) -> Timing:
    found = warpgauge.time(fn, *arguments, **options)  # type: ignore[arg-type]
    assert found is not None
    return found


@pytest.fixture
def jax() -> Module:
    module = pytest.importorskip("jax", reason="needs JAX")
    if module.default_backend() != "gpu":
        pytest.skip("needs JAX for CUDA")
    return module


def normal(jax: Module, *shape: int) -> Array:
    return jax.random.normal(jax.random.key(0), shape)


def test_jax_is_timed_by_its_kernels(jax: Module) -> None:
    x = normal(jax, 2**24)
    square = jax.jit(lambda x: x * x)
    found = timed(square, x, reference=square, bytes=2 * x.nbytes)
    assert found.why_not_captured.startswith("JAX")
    assert found.row.counters["kernels"] == 1
    assert 0.3 < found.row.counters["limit_fraction"] < 1.1
    assert found.host_seconds is not None
    assert 1e-6 < found.host_seconds < 1e-2


def test_several_kernels_of_jax_sum_up(jax: Module) -> None:
    x = normal(jax, 2048, 2048)
    product = jax.jit(lambda x: x @ x)
    three = jax.jit(lambda x: ((x @ x) @ x) @ x)
    # Its products are of TF32. The root mean squares of their elements are 45 and 9e4.
    once = timed(product, x, reference=product, tolerance=(0.45, 0))
    thrice = timed(three, x, reference=three, tolerance=(900, 0))
    assert thrice.row.counters["kernels"] >= 3
    assert 2.5 < thrice.seconds / once.seconds < 3.5


def test_softmax_and_gradients_of_jax_are_right(jax: Module) -> None:
    x = normal(jax, 1024, 1024)
    softmax = jax.jit(lambda x: jax.nn.softmax(x, -1))
    assert timed(softmax, x, reference=softmax).verified
    gradient = jax.jit(jax.grad(lambda x: jax.numpy.tanh(x).sum()))
    assert timed(gradient, x, reference=gradient).verified
    with pytest.raises((UserError, RuntimeError)):
        timed(softmax, x, reference=lambda x: x)


def test_what_jax_traced_leaves_the_engine_as_it_was(jax: Module) -> None:
    x = normal(jax, 2**20)
    square = jax.jit(lambda x: x * x)
    first, second = (timed(square, x) for _ in range(2))
    assert second.seconds == pytest.approx(first.seconds, rel=0.05)
    # JAX's streams delay the kernels of graphs, which is no news for what CUPTI times.
    assert "canary_change" not in second.row.counters


@pytest.fixture
def cuda() -> Module:
    module = pytest.importorskip("numba.cuda", reason="needs Numba")
    if not module.is_available():
        pytest.skip("needs a GPU")
    return module


N = 2**20


@pytest.fixture
def launched(cuda: Module) -> Callable[[Array, Array], None]:
    @cuda.jit  # type: ignore[untyped-decorator]
    def kernel(x: Array, y: Array) -> None:
        i = cuda.grid(1)
        if i < x.size:
            y[i] = x[i] * x[i]

    def fn(x: Array, y: Array) -> None:
        kernel[(N + 255) // 256, 256](x, y)

    return fn


def test_numba_is_captured_on_its_own_arrays(
    cuda: Module, launched: Callable[[Array, Array], None]
) -> None:
    x = cuda.to_device(np.random.default_rng(0).random(N, dtype="float32"))
    y = cuda.device_array_like(x)
    found = timed(launched, x, y, outputs=[1], reference=launched)
    assert found.why_not_captured == ""
    assert found.row.counters["kernels"] == 1

    def returning(x: Array) -> Array:
        between, y = cuda.device_array_like(x), cuda.device_array_like(x)
        launched(x, between)
        launched(between, y)
        return y

    found = timed(returning, x, reference=returning)
    assert found.why_not_captured == ""
    assert found.row.counters["kernels"] == 2


def test_numba_is_captured_on_tensors_and_arrays_of_cupy(
    launched: Callable[[Array, Array], None],
) -> None:
    torch = pytest.importorskip("torch", reason="needs PyTorch")
    x = torch.rand(N, device="cuda")
    found = timed(launched, x, torch.empty_like(x), outputs=[1], reference=lambda x, y: x * x)
    assert found.why_not_captured == ""
    cupy = pytest.importorskip("cupy", reason="needs CuPy")
    x = cupy.random.rand(N, dtype=cupy.float32)
    found = timed(launched, x, cupy.empty_like(x), outputs=[1], reference=lambda x, y: x * x)
    assert found.why_not_captured == ""
