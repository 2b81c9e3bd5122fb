// SPDX-License-Identifier: Apache-2.0
#include <stdexcept>
#include <string>

#include "kernels/arguments.hpp"
#include "kernels/launch_check.hpp"
#include "kernels/spin.hpp"

namespace warpgauge::kernels {

inline constexpr unsigned spin_threads = 32;  // one warp, whose threads read the clock together

__global__ __launch_bounds__(spin_threads) void spin_kernel(std::uint64_t cycles) {
  const auto now = [] { return static_cast<std::uint64_t>(clock64()); };
  const std::uint64_t start = now();
  while (now() - start < cycles) {
  }
}

void spin(std::uint64_t cycles, unsigned blocks, cudaStream_t stream) {
  if (blocks == 0 || blocks > max_grid_blocks) {
    throw std::invalid_argument("spin: " + std::to_string(blocks) +
                                " blocks; at least 1 and at most " +
                                std::to_string(max_grid_blocks) + " can be launched");
  }
  spin_kernel<<<blocks, spin_threads, 0, stream>>>(cycles);
  check_launch("spin");
}

}  // namespace warpgauge::kernels
