// SPDX-License-Identifier: Apache-2.0
// How often each byte occurs, by atomics: their rate depends on the data, so the data is stated.
#include <warpgauge/gpu_benchmark.hpp>
using namespace warpgauge;

__global__ void count_bytes(const std::uint8_t* x, unsigned n, unsigned* bins) {
  for (unsigned i = blockIdx.x * 256 + threadIdx.x; i < n; i += gridDim.x * 256)
    atomicAdd(&bins[x[i]], 1);
}

std::vector<unsigned> counts(std::span<const std::uint8_t> bytes) {
  std::vector<unsigned> expected(256);
  for (const std::uint8_t byte : bytes)
    ++expected[byte];
  return expected;
}

const GpuBenchmark histogram{
    "examples/byte_histogram/u8", {{"n", {1048576}}}, [](GpuCase& gpu) {
      const auto n = gpu.param<unsigned>("n");
      const auto x = gpu.input<std::uint8_t>(n, uniform(0, 255));
      const auto bins = gpu.output<unsigned>(256);
      gpu.verify(bins, counts, x);
      gpu.replay([=](const Iteration& at) {
        WARPGAUGE_CHECK(cudaMemsetAsync(bins[at], 0, 256 * sizeof(unsigned), at.stream));
        count_bytes<<<1056, 256, 0, at.stream>>>(x[at], n, bins[at]);
      });
    }};
