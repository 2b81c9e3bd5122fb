// SPDX-License-Identifier: Apache-2.0
// A running sum by Thrust, which allocates and synchronises inside, so that no graph can hold it.
#include <thrust/execution_policy.h>
#include <thrust/scan.h>

#include <numeric>

#include <warpgauge/gpu_benchmark.hpp>
using namespace warpgauge;

std::vector<std::uint32_t> running_sum(std::span<const std::uint32_t> values) {
  std::vector<std::uint32_t> expected(values.size());
  std::partial_sum(values.begin(), values.end(), expected.begin());
  return expected;
}

const GpuBenchmark scan{
    "examples/thrust_scan/u32", {{"n", {16777216}}}, [](GpuCase& gpu) {
      const std::size_t n = gpu.param("n");
      const auto x = gpu.input<std::uint32_t>(n), y = gpu.output<std::uint32_t>(n);
      gpu.moves_bytes(2 * sizeof(std::uint32_t) * n);
      gpu.verify(y, running_sum, x);
      gpu.device_calls([=](const Iteration& at) {
        thrust::inclusive_scan(thrust::cuda::par.on(at.stream), x[at], x[at] + n, y[at]);
      });
    }};
