// SPDX-License-Identifier: Apache-2.0
// Tiles that run at the same time form a square of C instead of a strip. 8 rows of clusters by 8
// columns of tiles read 4096 rows of A plus columns of B; at n = 8192, two columns of 32 clusters
// read 8704. Bound by the end of each tile, when no product runs.
#include "kernels/gemm/hopper/hopper.hpp"
#include "kernels/gemm/hopper/l2_order.cuh"
#include "kernels/gemm/hopper/persistent.cuh"

namespace warpgauge::kernels {

template <class T>
void gemm_wgmma_l2_order(const T* a, const T* b, T* c, GemmShape shape, cudaStream_t stream) {
  using Tile = hopper::WgmmaTile<128, 256, 4, 2>;
  using Store = hopper::BoxStore<hopper::WordWriter, 2>;
  hopper::launch_persistent<T, Tile, Store, hopper::GroupOrder<8>, 2>("gemm_wgmma_l2_order", a, b,
                                                                      c, shape, stream);
}

template void gemm_wgmma_l2_order(const __half*, const __half*, __half*, GemmShape, cudaStream_t);
template void gemm_wgmma_l2_order(const __nv_bfloat16*, const __nv_bfloat16*, __nv_bfloat16*,
                                  GemmShape, cudaStream_t);

}  // namespace warpgauge::kernels
