// SPDX-License-Identifier: Apache-2.0
// An array reversed through scratch memory; the grid waits in between. Bound by its barrier.
#include <cooperative_groups.h>

#include <warpgauge/gpu_benchmark.hpp>
using namespace warpgauge;

__global__ void reverse(const float* x, float* scratch, float* y, unsigned n) {
  const auto grid = cooperative_groups::this_grid();
  for (unsigned i = grid.thread_rank(); i < n; i += grid.num_threads())
    scratch[i] = x[i];
  grid.sync();
  for (unsigned i = grid.thread_rank(); i < n; i += grid.num_threads())
    y[i] = scratch[n - 1 - i];
}

const GpuBenchmark by_grid{
    "examples/reverse/f32", {{"n", {1048576}}}, [](GpuCase& gpu) {
      auto n = gpu.param<unsigned>("n");
      const auto x = gpu.input<float>(n), scratch = gpu.scratch<float>(n), y = gpu.output<float>(n);
      const dim3 grid(gpu.device().multiprocessors), block(1024);
      gpu.verify(y, {}, [=](auto at, auto i) { return x(at, n - 1 - i); });
      gpu.replay([=](const Iteration& at) mutable {
        const float* in = x[at];
        float *between = scratch[at], *out = y[at];
        void* all[] = {&in, &between, &out, &n};
        WARPGAUGE_CHECK(cudaLaunchCooperativeKernel(reverse, grid, block, all, 0, at.stream));
      });
    }};
