// SPDX-License-Identifier: Apache-2.0
// For few rows: tiles of 128 x 128, whose terms two blocks divide; two such pairs share A. wgmma
// reads shared memory for 64 x 128 products once per 24 KiB instead of 16, so it no longer competes
// with the copies for it, and no more bytes come from the L2. Four pairs per cluster take 20 KiB
// of those per stage instead of 24, and yet 2 % longer (m = 128, H200). Bound by reading B from
// device memory.
#include "kernels/quantized/hopper/scaled.cuh"

namespace warpgauge::kernels {

void scaled_gemm_wgmma_split(ScaledRows a, ScaledTiles b, __nv_bfloat16* c, GemmShape shape,
                             cudaStream_t stream) {
  hopper::launch_scaled<
      hopper::ScaledPlan<128, 6, 4, hopper::Shares::a, hopper::Issues::before_promoting, 2>>(
      "scaled_gemm_wgmma_split", a, b, c, shape, stream);
}

}  // namespace warpgauge::kernels
