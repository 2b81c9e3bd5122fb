# SPDX-License-Identifier: Apache-2.0
"""Benchmarks of silu: a row for each n."""

import torch

import warpgauge
from silu import silu


@warpgauge.benchmark("silu/two_kernels/f32", n=[1 << 16, 1 << 24])
def two_kernels(n: int) -> None:
    x = torch.randn(n, device="cuda")
    warpgauge.time(silu, x, reference=torch.nn.functional.silu, bytes=2 * x.nbytes)
