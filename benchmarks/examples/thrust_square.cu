// SPDX-License-Identifier: Apache-2.0
// y = x * x by Thrust, which synchronises inside, so that no graph can hold it.
#include <thrust/execution_policy.h>
#include <thrust/functional.h>
#include <thrust/transform.h>

#include <warpgauge/gpu_benchmark.hpp>
using namespace warpgauge;

const GpuBenchmark square{
    "examples/thrust_square/f32", {{"n", {1048576, 16777216}}}, [](GpuCase& gpu) {
      const std::size_t n = gpu.param("n");
      const auto x = gpu.input<float>(n), y = gpu.output<float>(n);
      gpu.moves_bytes(2 * sizeof(float) * n);
      gpu.verify(y, {.relative = 1e-7}, [=](auto at, auto i) { return x(at, i) * x(at, i); });
      gpu.device_calls([=](const Iteration& at) {
        thrust::transform(thrust::cuda::par.on(at.stream), x[at], x[at] + n, y[at],
                          thrust::square<float>{});
      });
    }};
