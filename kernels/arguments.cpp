// SPDX-License-Identifier: Apache-2.0
#include "kernels/arguments.hpp"

#include <cstdint>
#include <stdexcept>
#include <string>

namespace warpgauge::kernels {

void require_pointer(const char* launcher, const char* name, const void* pointer,
                     std::size_t alignment) {
  if (pointer == nullptr) {
    throw std::invalid_argument(std::string(launcher) + ": " + name + " is null");
  }
  if (reinterpret_cast<std::uintptr_t>(pointer) % alignment != 0) {
    throw std::invalid_argument(std::string(launcher) + ": " + name + " is not aligned to " +
                                std::to_string(alignment) + " bytes");
  }
}

void require_at_most(const char* launcher, std::size_t n, std::size_t most) {
  if (n > most) {
    throw std::invalid_argument(std::string(launcher) + ": " + std::to_string(n) +
                                " elements are more than " + std::to_string(most));
  }
}

unsigned blocks_for(const char* launcher, std::size_t n, std::size_t per_block) {
  // Not (n + per_block - 1) / per_block, which wraps for the largest n.
  const std::size_t blocks = n / per_block + (n % per_block != 0 ? 1 : 0);
  if (blocks > max_grid_blocks) {
    throw std::invalid_argument(std::string(launcher) + ": " + std::to_string(n) +
                                " elements need more than " + std::to_string(max_grid_blocks) +
                                " blocks of " + std::to_string(per_block));
  }
  return static_cast<unsigned>(blocks);
}

}  // namespace warpgauge::kernels
