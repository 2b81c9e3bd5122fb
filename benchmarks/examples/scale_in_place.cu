// SPDX-License-Identifier: Apache-2.0
// x = 2 x in place: bound by device memory, 8 bytes an element. Each iteration finds fresh values.
#include <warpgauge/gpu_benchmark.hpp>
using namespace warpgauge;

__global__ void scale(float* x, unsigned n) {
  for (unsigned i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
    x[i] *= 2;
}

const GpuBenchmark in_place{
    "examples/scale_in_place/f32", {{"n", {4096, 16777216}}}, [](GpuCase& gpu) {
      const auto n = gpu.param<unsigned>("n");
      const auto x = gpu.in_place<float>(n);
      gpu.moves_bytes(2 * sizeof(float) * n);
      gpu.verify(x, {},
                 [=](auto at, auto i) { return 2 * x(at, i); });  // x(at, i): before the operation
      gpu.replay([=](const Iteration& at) {
        scale<<<std::min((n + 255) / 256, 1056u), 256, 0, at.stream>>>(x[at], n);
      });
    }};
