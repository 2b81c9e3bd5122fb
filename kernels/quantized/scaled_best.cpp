// SPDX-License-Identifier: Apache-2.0
// Chooses among the rungs by shape. Tiles of 128 x 128 for fewer than half of the multiprocessors
// divide their terms; wide ones need the fewest bytes from the L2, if they occupy most of the
// multiprocessors.
#include <warpgauge/cuda/current_device.hpp>
#include "kernels/quantized/arguments.hpp"

namespace warpgauge::kernels {

void scaled_gemm_best(ScaledRows a, ScaledTiles b, __nv_bfloat16* c, GemmShape shape,
                      cudaStream_t stream) {
  if (shape.m == 0 || shape.n == 0) {
    return;
  }
  constexpr const char* launcher = "scaled_gemm_best";
  const Tiles wide = require_scaled(launcher, a, b, c, shape, 128, 256);
  hopper::require_wgmma(launcher);
  const std::size_t sms = sm_count();
  // Four blocks divide what a wide tile covers. Such clusters reach 9 of 10 multiprocessors,
  // because each lies in one group of them.
  if (std::size_t{wide.blocks()} * 4 * 10 <= sms * 9) {
    scaled_gemm_wgmma_split(a, b, c, shape, stream);
  } else if (std::size_t{wide.blocks()} * 4 >= sms * 3) {
    scaled_gemm_wgmma_wide(a, b, c, shape, stream);
  } else {
    scaled_gemm_wgmma_ahead(a, b, c, shape, stream);
  }
}

}  // namespace warpgauge::kernels
