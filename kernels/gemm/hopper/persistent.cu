// SPDX-License-Identifier: Apache-2.0
// Persistent blocks go from tile to tile: the next tile's stages load while this tile is stored,
// and setup runs once. Bound by the stores from registers, during which no product runs.
#include "kernels/gemm/hopper/hopper.hpp"
#include "kernels/gemm/hopper/persistent.cuh"

namespace warpgauge::kernels {

template <class T>
void gemm_wgmma_persistent(const T* a, const T* b, T* c, GemmShape shape, cudaStream_t stream) {
  using Tile = hopper::WgmmaTile<128, 256, 4, 2>;
  hopper::launch_persistent<T, Tile, hopper::DirectStore, hopper::ColumnOrder>(
      "gemm_wgmma_persistent", a, b, c, shape, stream);
}

template void gemm_wgmma_persistent(const __half*, const __half*, __half*, GemmShape, cudaStream_t);
template void gemm_wgmma_persistent(const __nv_bfloat16*, const __nv_bfloat16*, __nv_bfloat16*,
                                    GemmShape, cudaStream_t);

}  // namespace warpgauge::kernels
