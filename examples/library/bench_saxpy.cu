// SPDX-License-Identifier: Apache-2.0
// saxpy: bound by device memory, 12 bytes an element.
#include <warpgauge/gpu_benchmark.hpp>

#include "saxpy.hpp"

namespace {

using namespace warpgauge;

const GpuBenchmark library{
    "saxpy/library/f32", {{"n", {4096, 16777216}}}, [](GpuCase& gpu) {
      const auto n = gpu.param<unsigned>("n");
      const auto x = gpu.input<float>(n), y0 = gpu.input<float>(n), y = gpu.output<float>(n);
      gpu.moves_bytes(3 * sizeof(float) * n);
      gpu.verify(y, {.absolute = 1e-6}, [=](auto at, auto i) { return 2 * x(at, i) + y0(at, i); });
      gpu.replay([=](const Iteration& at) { saxpy(2, x[at], y0[at], y[at], n, at.stream); });
    }};

}  // namespace
