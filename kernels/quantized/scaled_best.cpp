// SPDX-License-Identifier: Apache-2.0
// Chooses among the rungs by shape: few tiles are bound by reading B, many by the tensor cores.
#include <warpgauge/cuda/current_device.hpp>
#include "kernels/quantized/arguments.hpp"

namespace warpgauge::kernels {

void scaled_gemm_best(ScaledRows a, ScaledTiles b, __nv_bfloat16* c, GemmShape shape,
                      cudaStream_t stream) {
  if (shape.m == 0 || shape.n == 0) {
    return;
  }
  constexpr const char* launcher = "scaled_gemm_best";
  const Tiles tiles = require_scaled(launcher, a, b, c, shape, 128, 256);
  hopper::require_wgmma(launcher);
  const auto launch =
      tiles.blocks() < sm_count() ? scaled_gemm_wgmma_narrow : scaled_gemm_wgmma_turns;
  launch(a, b, c, shape, stream);
}

}  // namespace warpgauge::kernels
