// SPDX-License-Identifier: Apache-2.0
#include <stdexcept>
#include <string>

#include <warpgauge/cuda/arguments.hpp>
#include <warpgauge/cuda/check.hpp>
#include "kernels/launch/spin.hpp"

namespace warpgauge::kernels {

__global__ __launch_bounds__(spin_threads) void spin_kernel(std::uint64_t cycles,
                                                            float* __restrict__ done) {
  const auto now = [] { return static_cast<std::uint64_t>(clock64()); };
  const std::uint64_t start = now();
  while (now() - start < cycles) {
  }
  const std::size_t thread = std::size_t{blockIdx.x} * spin_threads + threadIdx.x;
  done[thread] = static_cast<float>(thread);
}

void spin(std::uint64_t cycles, unsigned blocks, float* done, cudaStream_t stream) {
  if (blocks == 0 || blocks > max_grid_blocks) {
    throw std::invalid_argument("spin: " + std::to_string(blocks) +
                                " blocks; at least 1 and at most " +
                                std::to_string(max_grid_blocks) + " can be launched");
  }
  require_pointer("spin", "done", done, alignof(float));
  spin_kernel<<<blocks, spin_threads, 0, stream>>>(cycles, done);
  WARPGAUGE_CHECK(cudaGetLastError());
}

}  // namespace warpgauge::kernels
