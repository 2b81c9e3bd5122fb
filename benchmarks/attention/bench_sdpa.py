# SPDX-License-Identifier: Apache-2.0
"""PyTorch's attention in the shapes of benchmarks/attention.cu: scripts/bench bench_sdpa.py."""

from __future__ import annotations

import importlib
from contextlib import nullcontext
from typing import Any

import warpgauge
from warpgauge.callables.timing import engine_module

Array = Any
TOKENS, FEATURES = 16 << 10, 2048
LENGTHS = [1024, 8192, 16384]
QUERIES = 512  # of which the reference has all scores: 2 GiB in double precision


def measure(d: int, length: int, *, causal: bool, backend: str | None = None) -> None:
    try:
        torch = importlib.import_module("torch")
        chosen = importlib.import_module("torch.nn.attention")
    except ImportError as error:
        raise engine_module().Unsupported("needs PyTorch") from error
    attend = torch.nn.functional.scaled_dot_product_attention
    shape = TOKENS // length, length, FEATURES // d, d
    x = [torch.randn(*shape, device="cuda", dtype=torch.bfloat16) for _ in range(3)]

    def attention(*x: Array) -> Array:
        backends = getattr(chosen.SDPBackend, backend) if backend else None
        with chosen.sdpa_kernel(backends) if backend else nullcontext():
            return attend(*(array.transpose(1, 2) for array in x), is_causal=causal)

    def reference(*x: Array) -> Array:
        q, k, v = (array.transpose(1, 2) for array in x)
        parts = []
        for first in range(0, length, QUERIES):
            keys = first + QUERIES if causal else length
            seen = torch.ones(QUERIES, keys, device="cuda", dtype=torch.bool)
            if causal:
                seen = seen.tril(first)
            queries = q[:, :, first : first + QUERIES]
            parts.append(attend(queries, k[:, :, :keys], v[:, :, :keys], attn_mask=seen))
        return torch.cat(parts, dim=2)

    flops = (2 if causal else 4) * TOKENS * length * FEATURES
    warpgauge.time(attention, *x, reference=reference, flops=flops)


@warpgauge.benchmark("attention/sdpa/bf16", d=[64, 128], length=LENGTHS)
def full(d: int, length: int) -> None:
    measure(d, length, causal=False)


@warpgauge.benchmark("attention/sdpa_causal/bf16", d=[64, 128], length=LENGTHS)
def causal(d: int, length: int) -> None:
    measure(d, length, causal=True)


@warpgauge.benchmark("attention/sdpa_cudnn/bf16", d=[64, 128], length=LENGTHS)
def full_by_cudnn(d: int, length: int) -> None:
    measure(d, length, causal=False, backend="CUDNN_ATTENTION")


@warpgauge.benchmark("attention/sdpa_cudnn_causal/bf16", d=[64, 128], length=LENGTHS)
def causal_by_cudnn(d: int, length: int) -> None:
    measure(d, length, causal=True, backend="CUDNN_ATTENTION")
