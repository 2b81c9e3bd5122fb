// SPDX-License-Identifier: Apache-2.0
// The producer initialises the barriers and fills the ring before the cluster synchronises.
// Expected: the first bytes come earlier by that wait, though each block loads all of B's first
// stages instead of half. Measured on an H200: 1 % less with one tile per block (n = 2048), nothing
// at 4096, 0.3 % more at 8192. There, hints that keep A's lines in the L2 longest and C's shortest
// saved no more than 0.1 %. Bound as the rung before.
#include "kernels/gemm/hopper/hopper.hpp"
#include "kernels/gemm/hopper/l2_order.cuh"
#include "kernels/gemm/hopper/persistent.cuh"

namespace warpgauge::kernels {

template <class T>
void gemm_wgmma_early_loads(const T* a, const T* b, T* c, GemmShape shape, cudaStream_t stream) {
  using Tile = hopper::WgmmaTile<128, 256, 4, 2>;
  using Store = hopper::BoxStore<hopper::MatrixWriter, 2>;
  hopper::launch_persistent<T, Tile, Store, hopper::SerpentineOrder<8>, 2,
                            hopper::Edges::early_loads>("gemm_wgmma_early_loads", a, b, c, shape,
                                                        stream, hopper::Start::early);
}

template void gemm_wgmma_early_loads(const __half*, const __half*, __half*, GemmShape,
                                     cudaStream_t);
template void gemm_wgmma_early_loads(const __nv_bfloat16*, const __nv_bfloat16*, __nv_bfloat16*,
                                     GemmShape, cudaStream_t);

}  // namespace warpgauge::kernels
