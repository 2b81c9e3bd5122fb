# SPDX-License-Identifier: Apache-2.0
"""Triton on a GPU: autotuning with our timer picks what is fast when the cache is cold."""

from __future__ import annotations

from typing import Any

import pytest

import warpgauge

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
        def called(x: Tensor) -> Tensor:
            out = torch.empty_like(x)
            softmax_kernel[(len(x),)](x, out, 1024, BLOCK=1024, num_warps=warps)
            return out

        timing = warpgauge.time(called, x, reference=lambda x: torch.softmax(x, -1))
        assert timing is not None
        return timing.seconds

    times = {config.num_warps: seconds(config.num_warps) for config in configs}
    assert times[tuned.best_config.num_warps] <= 1.03 * min(times.values())
