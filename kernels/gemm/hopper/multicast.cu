// SPDX-License-Identifier: Apache-2.0
// A cluster of two blocks, one below the other, shares B: each block reads half of it from the L2
// and multicasts it to both, so a stage costs the L2 32 KiB instead of 48. Bound by the stores.
#include "kernels/gemm/hopper/hopper.hpp"
#include "kernels/gemm/hopper/persistent.cuh"

namespace warpgauge::kernels {

template <class T>
void gemm_wgmma_multicast(const T* a, const T* b, T* c, GemmShape shape, cudaStream_t stream) {
  using Tile = hopper::WgmmaTile<128, 256, 4, 2>;
  hopper::launch_persistent<T, Tile, hopper::DirectStore, hopper::ColumnOrder, 2>(
      "gemm_wgmma_multicast", a, b, c, shape, stream);
}

template void gemm_wgmma_multicast(const __half*, const __half*, __half*, GemmShape, cudaStream_t);
template void gemm_wgmma_multicast(const __nv_bfloat16*, const __nv_bfloat16*, __nv_bfloat16*,
                                   GemmShape, cudaStream_t);

}  // namespace warpgauge::kernels
