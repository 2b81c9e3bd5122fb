# SPDX-License-Identifier: Apache-2.0
"""Without counters machine code names a cause that it shows, and none for what looks alike."""

from __future__ import annotations

import pytest

from sass import built
from warpgauge.why.causes import explanation
from warpgauge.why.machine_code import Kernel, kernels_of
from warpgauge.why.reason import Evidence

# Each kernel goes through its elements in a loop of this body; what is in AFTER(...) came later.
_SOURCE = """
#include <cstdio>
#include <cuda_fp16.h>
#ifdef LATER
#define AFTER(before, after) after
#else
#define AFTER(before, after) before
#endif
#define KERNEL(name, type, body) \\
  extern "C" __global__ void name(const type* x, float* y, int n) { \\
    float s = 0; \\
    for (int i = threadIdx.x; i < n; i += blockDim.x) { body; } \\
    y[threadIdx.x] = s; \\
  }
KERNEL(precise, float, s += AFTER(__logf, logf)(x[i]))
KERNEL(precise_exp, float, s += AFTER(__expf, expf)(x[i]))
KERNEL(precise_division, float, s += AFTER(__fdividef(x[i], s + 2), x[i] / (s + 2)))
KERNEL(precise_sine, float, s += AFTER(__sinf, sinf)(x[i]))
KERNEL(fp32, __half, AFTER(__half, float) v = x[i]; s += float(v * v * v + v * v + v))
KERNEL(unrolling, float, AFTER(_Pragma("unroll 8"), _Pragma("unroll 1"))
       for (int k = 0; k < 64; ++k) s = s * x[i] + 1)
KERNEL(fp64, float, s += x[i] * AFTER(0.3F, 0.3))
KERNEL(narrower, AFTER(float2, float), AFTER(s += x[i].x; s += x[i].y, s += x[i]))
KERNEL(atomics, float, AFTER(s += x[i], atomicAdd(y, x[i])))
KERNEL(half_elements, AFTER(float, __half), float v = x[i]; s += v * v)
KERNEL(polynomial, float, float v = x[i]; s += __expf(v) AFTER(, * (v * v * v + 2 * v * v + v + 1)))
KERNEL(added_sinf, float, s += AFTER(, sinf)(x[i]))
KERNEL(added_printf, float, s += x[i] AFTER(, ; if (s < -1e30F) printf("%f", s)))
KERNEL(added_exp, float, s += __expf(x[i]) AFTER(, * expf(s)))
KERNEL(added_division, float, s += x[i] AFTER(, / (s + 2)))
KERNEL(bounds, float, AFTER(, if (i < n - 3)) s += x[i] * x[i])
"""
_SHOWN = {
    **{key: key for key in ("precise", "fp32", "fp64", "narrower", "atomics", "unrolling")},
    **{f"precise_{function}": "precise" for function in ("exp", "division", "sine")},
}
_ALIKE = ["half_elements", "polynomial", "added_sinf", "added_printf", "bounds", "added_exp"]
_ALIKE += ["added_division"]
Sides = tuple[dict[str, Kernel], dict[str, Kernel]]


@pytest.fixture(scope="module")
def both(tmp_path_factory: pytest.TempPathFactory) -> Sides:
    folder = tmp_path_factory.mktemp("code")
    later = f"#define LATER\n{_SOURCE}"
    return kernels_of(built(folder / "before", _SOURCE)), kernels_of(built(folder / "after", later))


def named(both: Sides, kernel: str) -> list[str]:
    before, after = (Evidence(1.0, code={kernel: side[kernel]}) for side in both)
    found = explanation("a/b", before, after, 0.3)
    assert {cause.words for cause in found.causes} <= {row.cause for row in found.table}
    return [one.key for one in found.causes]


@pytest.mark.parametrize("kernel", _SHOWN)
def test_what_the_code_shows_is_named(kernel: str, both: Sides) -> None:
    assert named(both, kernel) == [_SHOWN[kernel]]


@pytest.mark.parametrize("kernel", _ALIKE)
def test_what_looks_alike_is_unknown(kernel: str, both: Sides) -> None:
    assert both[0][kernel].digest != both[1][kernel].digest
    assert named(both, kernel) == []
