// SPDX-License-Identifier: Apache-2.0
// Chooses among the rungs by shape: few rows are bound by reading B, many by the tensor cores, of
// which wide tiles use fewer but feed them better.
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
  const bool are_few = std::size_t{tiles.blocks()} * 4 < std::size_t{sm_count()} * 3;
  const auto launch = are_few ? scaled_gemm_wgmma_narrow : scaled_gemm_wgmma_ahead;
  launch(a, b, c, shape, stream);
}

}  // namespace warpgauge::kernels
