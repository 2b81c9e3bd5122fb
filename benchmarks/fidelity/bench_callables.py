# SPDX-License-Identifier: Apache-2.0
"""What Python launches, to be held against CUPTI: warpgauge fidelity bench_callables.py."""

from __future__ import annotations

from typing import Any

import cupy
import torch
import triton
import triton.language as tl
from torch.nn import functional
from torch.utils.cpp_extension import load_inline

import warpgauge

Tensor = Any
HALF = torch.bfloat16
ROWS = 4096


def normal(*shape: int, dtype: object = torch.float32) -> Tensor:
    return torch.randn(*shape, device="cuda", dtype=dtype)


def softmax(x: Tensor) -> Tensor:
    return torch.softmax(x, -1)


def layer_norm(x: Tensor, weight: Tensor, bias: Tensor) -> Tensor:
    return functional.layer_norm(x, x.shape[-1:], weight, bias)


def attention(q: Tensor, k: Tensor, v: Tensor) -> Tensor:
    return functional.scaled_dot_product_attention(q, k, v)


def attention_with_gradients(q: Tensor, k: Tensor, v: Tensor, above: Tensor) -> Tensor:
    return torch.autograd.grad(attention(q, k, v), (q, k, v), above)


def heads(n: int, *, learns: bool = False) -> Tensor:
    return normal(4, 16, n, 64, dtype=HALF).requires_grad_(learns)


@warpgauge.benchmark("torch/square", n=[4096, 2**20, 2**24, 2**26])
def square(n: int) -> None:
    warpgauge.time(torch.square, normal(n), reference=torch.square, bytes=8 * n)


@warpgauge.benchmark("torch/softmax", n=[256, 1024, 4096, 16384])
def softmax_by_row(n: int) -> None:
    warpgauge.time(softmax, normal(ROWS, n), reference=softmax, bytes=8 * ROWS * n)


@warpgauge.benchmark("torch/layer_norm", n=[256, 1024, 4096, 16384])
def layer_norm_by_row(n: int) -> None:
    x = (normal(ROWS, n), normal(n), normal(n))
    warpgauge.time(layer_norm, *x, reference=layer_norm, bytes=8 * ROWS * n)


@warpgauge.benchmark("torch/matmul/bf16", n=[512, 1024, 2048, 4096])
def matmul(n: int) -> None:
    x = normal(n, n, dtype=HALF), normal(n, n, dtype=HALF)
    warpgauge.time(torch.matmul, *x, reference=torch.matmul, flops=2 * n**3)


@warpgauge.benchmark("torch/attention/bf16", n=[256, 512, 1024, 2048])
def attention_forward(n: int) -> None:
    x = heads(n), heads(n), heads(n)
    warpgauge.time(attention, *x, reference=attention, flops=4 * 64 * n**2 * 64)


@warpgauge.benchmark("torch/attention_with_gradients/bf16", n=[256, 512, 1024, 2048])
def attention_both_ways(n: int) -> None:
    x = *(heads(n, learns=True) for _ in range(3)), heads(n)
    warpgauge.time(attention_with_gradients, *x, reference=attention_with_gradients)


@warpgauge.benchmark("compiled/square", n=[4096, 2**20, 2**24, 2**26])
def compiled_square(n: int) -> None:
    fn = torch.compile(lambda x: x * x, dynamic=False)
    warpgauge.time(fn, normal(n), reference=torch.square, bytes=8 * n)


@warpgauge.benchmark("compiled/softmax", n=[256, 1024, 4096, 16384])
def compiled_softmax(n: int) -> None:
    fn = torch.compile(softmax, dynamic=False)
    warpgauge.time(fn, normal(ROWS, n), reference=softmax, bytes=8 * ROWS * n)


@warpgauge.benchmark("compiled/layer_norm", n=[256, 1024, 4096, 16384])
def compiled_layer_norm(n: int) -> None:
    x = (normal(ROWS, n), normal(n), normal(n))
    fn = torch.compile(layer_norm, dynamic=False)
    warpgauge.time(fn, *x, reference=layer_norm, bytes=8 * ROWS * n)


@warpgauge.benchmark("compiled/attention_with_gradients/bf16", n=[256, 512, 1024, 2048])
def compiled_attention(n: int) -> None:
    x = *(heads(n, learns=True) for _ in range(3)), heads(n)
    fn = torch.compile(attention_with_gradients, dynamic=False)
    warpgauge.time(fn, *x, reference=attention_with_gradients)


@triton.jit
def add_kernel(x, y, out, n, block: tl.constexpr):  # type: ignore[no-untyped-def] # noqa: ANN001, ANN201
    at = tl.program_id(0) * block + tl.arange(0, block)
    inside = at < n
    tl.store(out + at, tl.load(x + at, inside) + tl.load(y + at, inside), inside)


@triton.jit
def softmax_kernel(x, out, n, block: tl.constexpr):  # type: ignore[no-untyped-def] # noqa: ANN001, ANN201
    at = tl.arange(0, block)
    row = tl.program_id(0) * n
    value = tl.load(x + row + at, at < n, -float("inf"))
    power = tl.exp(value - tl.max(value, 0))
    tl.store(out + row + at, power / tl.sum(power, 0), at < n)


@triton.jit
def layer_norm_kernel(x, weight, bias, out, n, block: tl.constexpr):  # type: ignore[no-untyped-def] # noqa: ANN001, ANN201
    at = tl.arange(0, block)
    row, inside = tl.program_id(0) * n, at < n
    value = tl.load(x + row + at, inside, 0.0)
    mean = tl.sum(value, 0) / n
    off = tl.where(inside, value - mean, 0.0)
    scaled = off * tl.rsqrt(tl.sum(off * off, 0) / n + 1e-5)
    scaled = scaled * tl.load(weight + at, inside) + tl.load(bias + at, inside)
    tl.store(out + row + at, scaled, inside)


@triton.autotune(
    [
        triton.Config({"tile": tile, "depth": 64}, num_warps=warps, num_stages=3)
        for tile, warps in ((64, 4), (128, 4), (128, 8))
    ],
    key=["n"],
    cache_results=True,  # so that all processes run the same configuration
)
@triton.jit
def matmul_kernel(a, b, out, n, tile: tl.constexpr, depth: tl.constexpr):  # type: ignore[no-untyped-def] # noqa: ANN001, ANN201
    rows = tl.program_id(0) * tile + tl.arange(0, tile)[:, None]
    columns = tl.program_id(1) * tile + tl.arange(0, tile)[None, :]
    total = tl.zeros((tile, tile), tl.float32)
    for first in range(0, n, depth):
        left = tl.load(a + rows * n + first + tl.arange(0, depth)[None, :])
        right = tl.load(b + (first + tl.arange(0, depth)[:, None]) * n + columns)
        total = tl.dot(left, right, total)
    tl.store(out + rows * n + columns, total.to(tl.bfloat16))


def triton_add(x: Tensor, y: Tensor) -> Tensor:
    out = torch.empty_like(x)
    add_kernel[(triton.cdiv(x.numel(), 1024),)](x, y, out, x.numel(), block=1024)
    return out


def triton_softmax(x: Tensor) -> Tensor:
    out, (rows, n) = torch.empty_like(x), x.shape
    softmax_kernel[(rows,)](x, out, n, block=triton.next_power_of_2(n), num_warps=8)
    return out


def triton_layer_norm(x: Tensor, weight: Tensor, bias: Tensor) -> Tensor:
    out, (rows, n) = torch.empty_like(x), x.shape
    layer_norm_kernel[(rows,)](x, weight, bias, out, n, block=triton.next_power_of_2(n))
    return out


def triton_matmul(a: Tensor, b: Tensor) -> Tensor:
    out, n = torch.empty_like(a), len(a)
    matmul_kernel[lambda tuned: (triton.cdiv(n, tuned["tile"]),) * 2](a, b, out, n)
    return out


@warpgauge.benchmark("triton/add", n=[4096, 2**16, 2**20, 2**24])
def vector_add(n: int) -> None:
    warpgauge.time(triton_add, normal(n), normal(n), reference=torch.add, bytes=12 * n)


@warpgauge.benchmark("triton/softmax", n=[256, 1024, 4096, 16384])
def fused_softmax(n: int) -> None:
    warpgauge.time(triton_softmax, normal(ROWS, n), reference=softmax, bytes=8 * ROWS * n)


@warpgauge.benchmark("triton/layer_norm", n=[256, 1024, 4096, 16384])
def fused_layer_norm(n: int) -> None:
    x = (normal(ROWS, n), normal(n), normal(n))
    warpgauge.time(triton_layer_norm, *x, reference=layer_norm, bytes=8 * ROWS * n)


@warpgauge.benchmark("triton/matmul/bf16", n=[512, 1024, 2048, 4096])
def tuned_matmul(n: int) -> None:
    x = normal(n, n, dtype=HALF), normal(n, n, dtype=HALF)
    warpgauge.time(triton_matmul, *x, reference=torch.matmul, flops=2 * n**3)


EXTENSION = """
#include <torch/extension.h>
#include <c10/cuda/CUDAStream.h>
__global__ void scale(const float* x, float* y, long n) {
  const long i = blockIdx.x * 256l + threadIdx.x;
  if (i < n) y[i] = 3 * x[i];
}
torch::Tensor scaled(torch::Tensor x) {
  auto y = torch::empty_like(x);
  const long n = x.numel();
  scale<<<(n + 255) / 256, 256, 0, c10::cuda::getCurrentCUDAStream()>>>(
      x.data_ptr<float>(), y.data_ptr<float>(), n);
  return y;
}
"""


@warpgauge.benchmark("extension/scale", n=[4096, 2**16, 2**20, 2**24])
def extension(n: int) -> None:
    built = load_inline(
        name="warpgauge_scale",
        cpp_sources="torch::Tensor scaled(torch::Tensor x);",
        cuda_sources=EXTENSION,
        functions=["scaled"],
    )
    warpgauge.time(built.scaled, normal(n), reference=lambda x: 3 * x, bytes=8 * n)


RAW = cupy.RawKernel(
    """extern "C" __global__ void doubled(const float* x, float* y, int n) {
  const int i = blockIdx.x * 256 + threadIdx.x;
  if (i < n) y[i] = 2 * x[i];
}""",
    "doubled",
)


@warpgauge.benchmark("cupy/raw_kernel", n=[4096, 2**16, 2**20, 2**24])
def raw_kernel(n: int) -> None:
    x = cupy.random.standard_normal(n, dtype=cupy.float32)

    def launched(x: Tensor, y: Tensor) -> None:
        RAW(((n + 255) // 256,), (256,), (x, y, cupy.int32(n)))

    doubled = cupy.empty_like(x)
    warpgauge.time(launched, x, doubled, outputs=[1], reference=lambda x, _: 2 * x, bytes=8 * n)


@warpgauge.benchmark("cupy/square", n=[4096, 2**16, 2**20, 2**24])
def ufunc(n: int) -> None:
    x = cupy.random.standard_normal(n, dtype=cupy.float32)
    warpgauge.time(cupy.square, x, reference=cupy.square, bytes=8 * n)
