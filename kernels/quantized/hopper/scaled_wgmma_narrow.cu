// SPDX-License-Identifier: Apache-2.0
// For few rows: narrow tiles of B occupy all multiprocessors, and four blocks share the rows of A,
// which would otherwise be two thirds of the bytes from the L2. Bound by reading B from device
// memory.
#include "kernels/quantized/hopper/scaled.cuh"

namespace warpgauge::kernels {

void scaled_gemm_wgmma_narrow(ScaledRows a, ScaledTiles b, __nv_bfloat16* c, GemmShape shape,
                              cudaStream_t stream) {
  hopper::launch_scaled<
      hopper::ScaledPlan<64, 8, 4, hopper::Shares::a, hopper::Issues::before_promoting>>(
      "scaled_gemm_wgmma_narrow", a, b, c, shape, stream);
}

}  // namespace warpgauge::kernels
