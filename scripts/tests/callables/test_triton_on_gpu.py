# SPDX-License-Identifier: Apache-2.0
"""Triton on a GPU: autotuning with our timer picks what CUPTI calls fast when the cache is cold."""

from __future__ import annotations

from typing import Any

import pytest

import warpgauge
from warpgauge.callables import arrays, timing

torch = pytest.importorskip("torch", reason="needs PyTorch")
triton = pytest.importorskip("triton", reason="needs Triton")
pytest.importorskip("warpgauge_engine", reason="needs the engine for Python")
if not torch.cuda.is_available():
    pytest.skip("needs a GPU", allow_module_level=True)

Tensor = Any


def test_the_pick_is_as_fast_as_any() -> None:
    from triton_kernels import softmax_kernel

    x = torch.randn(4096, 1024, device="cuda")
    configs = [triton.Config({"BLOCK": 1024}, num_warps=warps) for warps in (1, 4, 16, 32)]
    tuned = triton.autotune(configs, key=[], do_bench=warpgauge.do_bench)(softmax_kernel)
    tuned[(len(x),)](x, torch.empty_like(x), 1024)

    def seconds(warps: int) -> float:
        def called(slot: int, stream: int) -> tuple[Tensor, list[object]]:
            out = torch.empty_like(x)
            softmax_kernel[(len(x),)](x, out, 1024, BLOCK=1024, num_warps=warps)
            torch.cuda.synchronize()
            return out, []

        def by_cupti(case: arrays.Case) -> None:
            case.operation(called, 1)
            case.check(lambda slot: None)
            case.traced_calls()

        called(0, 0)
        return timing.measured(0, f"{warps} warps", by_cupti).seconds

    times = {config.num_warps: seconds(config.num_warps) for config in configs}
    assert times[tuned.best_config.num_warps] <= 1.03 * min(times.values())
