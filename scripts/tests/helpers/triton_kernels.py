# SPDX-License-Identifier: Apache-2.0
"""Kernels in Triton, whose functions must lie in a file. Not imported where there is no Triton."""

# mypy: ignore-errors
from __future__ import annotations

import triton
import triton.language as tl


@triton.jit
def add_kernel(x, y, out, n, BLOCK: tl.constexpr):  # noqa: ANN001, ANN201
    """One element a lane."""
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    inside = at < n
    tl.store(out + at, tl.load(x + at, mask=inside) + tl.load(y + at, mask=inside), mask=inside)


@triton.jit
def softmax_kernel(x, out, columns, BLOCK: tl.constexpr):  # noqa: ANN001, ANN201
    """One row a program, kept in registers: read once, written once."""
    at = tl.program_id(0) * columns + tl.arange(0, BLOCK)
    inside = tl.arange(0, BLOCK) < columns
    row = tl.load(x + at, mask=inside, other=float("-inf"))
    power = tl.exp(row - tl.max(row, axis=0))
    tl.store(out + at, power / tl.sum(power, axis=0), mask=inside)
