// SPDX-License-Identifier: Apache-2.0
// The consumers issue their products in turns, so that one promotes (64 multiply-adds per thread)
// while the tensor cores multiply for the other (256 cycles). Bound by the wgmma rate at the clock
// that the power limit allows.
#include "kernels/quantized/hopper/scaled.cuh"

namespace warpgauge::kernels {

void scaled_gemm_wgmma_turns(ScaledRows a, ScaledTiles b, __nv_bfloat16* c, GemmShape shape,
                             cudaStream_t stream) {
  hopper::launch_scaled<hopper::ScaledPlan<256, 4, 2, hopper::Shares::b, true>>(
      "scaled_gemm_wgmma_turns", a, b, c, shape, stream);
}

}  // namespace warpgauge::kernels
