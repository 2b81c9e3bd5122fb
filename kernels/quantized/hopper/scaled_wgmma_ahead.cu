// SPDX-License-Identifier: Apache-2.0
// Each consumer issues a stage's products before it promotes those of the stage before, in other
// registers: the tensor cores have work whichever consumer promotes. That leaves registers for
// tiles of 128 x 128, three quarters of whose bytes clusters of two read from the L2. Bound by the
// wgmma rate at the clock that the power limit allows.
#include "kernels/quantized/hopper/scaled.cuh"

namespace warpgauge::kernels {

void scaled_gemm_wgmma_ahead(ScaledRows a, ScaledTiles b, __nv_bfloat16* c, GemmShape shape,
                             cudaStream_t stream) {
  hopper::launch_scaled<
      hopper::ScaledPlan<128, 6, 2, hopper::Shares::b, hopper::Issues::before_promoting>>(
      "scaled_gemm_wgmma_ahead", a, b, c, shape, stream);
}

}  // namespace warpgauge::kernels
