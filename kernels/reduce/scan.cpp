// SPDX-License-Identifier: Apache-2.0
#include "kernels/reduce/scan.hpp"

#include <warpgauge/cuda/arguments.hpp>

namespace warpgauge::kernels {

void ScanStorage::require(const std::int32_t* in, const std::int32_t* out, std::size_t n,
                          std::size_t alignment) const {
  require_at_most(owner_, n, most_elements_);
  require_pointer(owner_, "in", in, alignment);
  require_pointer(owner_, "out", out, alignment);
}

}  // namespace warpgauge::kernels
