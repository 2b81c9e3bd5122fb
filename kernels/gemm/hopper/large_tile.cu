// SPDX-License-Identifier: Apache-2.0
// A larger tile, 128 x 128: each loaded byte is used in 64 operations instead of 43. Bound by
// waiting, as the rung before.
#include "kernels/gemm/hopper/hopper.hpp"
#include "kernels/gemm/hopper/one_stage.cuh"

namespace warpgauge::kernels {

template <class T>
void gemm_wgmma_large_tile(const T* a, const T* b, T* c, GemmShape shape, cudaStream_t stream) {
  using Tile = hopper::WgmmaTile<128, 128, 1, 1>;
  hopper::launch_one_stage<T, Tile>("gemm_wgmma_large_tile", a, b, c, shape, stream);
}

template void gemm_wgmma_large_tile(const __half*, const __half*, __half*, GemmShape, cudaStream_t);
template void gemm_wgmma_large_tile(const __nv_bfloat16*, const __nv_bfloat16*, __nv_bfloat16*,
                                    GemmShape, cudaStream_t);

}  // namespace warpgauge::kernels
