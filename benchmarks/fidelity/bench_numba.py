# SPDX-License-Identifier: Apache-2.0
"""What Numba launches, to be held against CUPTI: warpgauge fidelity bench_numba.py."""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import cuda

import warpgauge

Array = Any
THREADS = 256


@cuda.jit  # type: ignore[untyped-decorator]
def scale_kernel(x: Array, y: Array) -> None:
    i = cuda.grid(1)
    if i < x.size:
        y[i] = 2 * x[i]


@warpgauge.benchmark("numba/scale", n=[4096, 2**16, 2**20, 2**24])
def scale(n: int) -> None:
    x = cuda.to_device(np.random.default_rng(0).standard_normal(n, "float32"))

    def launched(x: Array, y: Array) -> None:
        scale_kernel[(n + THREADS - 1) // THREADS, THREADS](x, y)

    y = cuda.device_array_like(x)
    warpgauge.time(launched, x, y, outputs=[1], reference=launched, bytes=8 * n)
