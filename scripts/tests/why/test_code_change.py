# SPDX-License-Identifier: Apache-2.0
"""What changed in a kernel is told from the machine code of both sides, the most telling first."""

from __future__ import annotations

from dataclasses import replace

import pytest

from sass import built, recorded
from warpgauge.why.code_change import Unrolling, changed
from warpgauge.why.machine_code import Kernel, kernels_of

_COPY = """
__global__ void copy(const TYPE* x, TYPE* y, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = x[i];
}
"""
_WAVE = """
__global__ void wave(float* x, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) x[i] = FUNCTION;
}
"""
_BINS = """
__global__ void bins(const int* x, int* y) {
  __shared__ int own[256];
  own[threadIdx.x] = 0;
  __syncthreads();
#pragma unroll 1
  for (int i = 0; i < 64; ++i) atomicAdd(&TO[x[i * 256 + threadIdx.x]], 1);
  __syncthreads();
  y[256 + threadIdx.x] = own[threadIdx.x];
}
"""
_TABLE = """
__constant__ float table[256];
__global__ void read(const int* x, float* y) {
  float sum = 0;
#pragma unroll 1
  for (int i = 0; i < 64; ++i) sum += table[INDEX] * x[i];
  y[threadIdx.x] = sum;
}
"""
_MANY = """
__global__ void BOUNDS many(const float* x, float* y) {
  float v[64];
#pragma unroll
  for (int i = 0; i < 64; ++i) v[i] = x[i * blockDim.x + threadIdx.x];
  __syncthreads();
  float sum = 0;
#pragma unroll
  for (int i = 0; i < 64; ++i) sum = sum * v[i] + v[63 - i];
  y[threadIdx.x] = sum;
}
"""
_UNKNOWN = """
__global__ void dot(const float* __restrict__ x, float* y, int n) {
  float sum = 0;
#pragma unroll TIMES
  for (int i = threadIdx.x; i < n; i += 256) sum += x[i] * x[i];
  y[threadIdx.x] = sum;
}
"""
_WIDER = """
__global__ void widened(const TYPE* __restrict__ x, TYPE* __restrict__ y, int n) {
#pragma unroll 1
  for (int i = threadIdx.x; i < n; i += 256) y[i] = x[i];
}
"""
_FIXED = """
__global__ void sum(const float* x, float* y) {
  float sum = 0;
#pragma unroll TIMES
  for (int i = 0; i < 16; ++i) sum += x[i * 256 + threadIdx.x];
  y[threadIdx.x] = sum;
}
"""


def test_a_loop_that_is_no_longer_unrolled_is_told_first() -> None:
    change = changed(recorded("sum_unrolled"), recorded("sum"))
    assert change.unrolled == (Unrolling("pair.cu:10", 8, 1),)
    assert change.lines()[0] == "unrolling at pair.cu:10 8 → 1"
    assert change.before["FP32"].weighted == change.after["FP32"].weighted
    back = changed(recorded("sum"), recorded("sum_unrolled"))
    assert back.unrolled == (Unrolling("pair.cu:10", 1, 8),)


def test_another_type_is_told_with_the_loop_it_is_in() -> None:
    told = changed(recorded("scale"), recorded("scale_fp64")).lines()
    assert "FP64: 0 → 1 instructions in the loop at pair.cu:39" in told
    assert "conversion: 0 → 2 instructions in the loop at pair.cu:39" in told


def test_the_same_code_is_the_same_by_its_digest() -> None:
    one = recorded("sum")
    assert changed(one, one).is_same
    assert changed(one, one).lines() == ["the same machine code"]
    other = changed(one, replace(one, digest="other constants"))
    assert not other.is_same
    assert other.same_instructions
    assert other.lines() == ["the same instructions; constants or launch bounds differ"]


def test_a_kernel_of_nothing_changes_into_any() -> None:
    nothing = replace(recorded("sum"), code=(), digest="nothing")
    for change in (changed(nothing, recorded("sum")), changed(recorded("sum"), nothing)):
        assert change.lines()


# Of each kernel what is planted, before and after, and what is told of it first.
_PLANTED = {
    "copy": (_COPY, "TYPE", "float4", "float", "128-bit global loads became 32-bit: 1 → 1"),
    "sine": (
        *(_WAVE.replace("wave", "sine"), "FUNCTION", "__sinf(x[i])", "sinf(x[i])"),
        "special function (MUFU): 1 → 0 instructions",
    ),
    "wide": (
        *(_WAVE.replace("wave", "wide"), "FUNCTION", "x[i] * 1.1f", "x[i] * 1.1"),
        "FP64: 0 → 1 instructions",
    ),
    "bins": (_BINS, "TO", "own", "y", "global atomic: 0 →"),
    "read": (
        *(_TABLE, "INDEX", "i", "(i + x[threadIdx.x]) % 256"),
        "constant load at a thread-dependent index: 0 → 1 instructions in the loop",
    ),
    "many": (_MANY, "BOUNDS", "", "__launch_bounds__(1024, 2)", "local load: 0 → "),
    "sum": (_FIXED, "TIMES", "16", "1", " completely → 1"),
    "dot": (_UNKNOWN, "TIMES", "8", "1", " 8 → 1"),
    "widened": (_WIDER, "TYPE", "float", "float4", "32-bit global loads became 128-bit: 1 → 1"),
    "none": (_WAVE.replace("wave", "none"), "FUNCTION", "x[i]", "x[i]", "the same machine code"),
}


@pytest.fixture(scope="module")
def sides(tmp_path_factory: pytest.TempPathFactory) -> list[dict[str, Kernel]]:
    """All kernels of both sides, compiled at once."""
    found = []
    for side in (2, 3):
        source = "".join(one[0].replace(one[1], one[side]) for one in _PLANTED.values())
        kernels = kernels_of(built(tmp_path_factory.mktemp("built"), source))
        found.append({
            name: next(one for called, one in kernels.items() if f"{len(name)}{name}" in called)
            for name in _PLANTED
        })  # fmt: skip
    return found


@pytest.mark.parametrize("name", _PLANTED)
def test_planted_changes_are_told_first(sides: list[dict[str, Kernel]], name: str) -> None:
    told = changed(*(side[name] for side in sides)).lines()
    first = told if name in {"sine", "many"} else told[:1]  # more arithmetic may come first
    assert any(_PLANTED[name][-1] in line for line in first), told
    assert ("unrolling" in "".join(told)) == (name in {"sum", "dot"}), told


def test_what_an_unrolled_loop_leaves_over_is_no_change(sides: list[dict[str, Kernel]]) -> None:
    before, after = (side["dot"] for side in sides)
    for one, other, rounds in ((before, after, (8, 1)), (after, before, (1, 8))):
        (found,) = changed(one, other).unrolled
        assert (found.before, found.after) == rounds
