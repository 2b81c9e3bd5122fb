// SPDX-License-Identifier: Apache-2.0
#include <warpgauge/cuda/arguments.hpp>
#include "kernels/gemm/blackwell/blackwell.hpp"

namespace warpgauge::kernels {

bool has_tcgen05() {
  return has_compute_capability(10) && !has_compute_capability(10, 1);
}

}  // namespace warpgauge::kernels
