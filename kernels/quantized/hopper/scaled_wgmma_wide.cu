// SPDX-License-Identifier: Apache-2.0
// Tiles of 128 x 256 in clusters of two that share B: half the bytes from the L2 per product. The
// sums fill 128 registers, so the products take turns in 64 others. Bound by the tensor cores,
// which are idle whenever both consumers promote at once.
#include "kernels/quantized/hopper/scaled.cuh"

namespace warpgauge::kernels {

void scaled_gemm_wgmma_wide(ScaledRows a, ScaledTiles b, __nv_bfloat16* c, GemmShape shape,
                            cudaStream_t stream) {
  hopper::launch_scaled<
      hopper::ScaledPlan<256, 4, 2, hopper::Shares::b, hopper::Issues::after_promoting>>(
      "scaled_gemm_wgmma_wide", a, b, c, shape, stream);
}

}  // namespace warpgauge::kernels
