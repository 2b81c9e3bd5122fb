// SPDX-License-Identifier: Apache-2.0
// wgmma with promoted sums. Bound by the L2: a stage of 32 KiB feeds 512 cycles of products, twice
// the bytes per cycle of a tile of 128 x 256 in clusters.
#include "kernels/quantized/hopper/scaled.cuh"

namespace warpgauge::kernels {

void scaled_gemm_wgmma(ScaledRows a, ScaledTiles b, __nv_bfloat16* c, GemmShape shape,
                       cudaStream_t stream) {
  hopper::launch_scaled<
      hopper::ScaledPlan<128, 6, 1, hopper::Shares::b, hopper::Issues::after_promoting>>(
      "scaled_gemm_wgmma", a, b, c, shape, stream);
}

}  // namespace warpgauge::kernels
