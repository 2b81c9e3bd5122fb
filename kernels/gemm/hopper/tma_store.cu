// SPDX-License-Identifier: Apache-2.0
// The consumers write C to shared memory, and TMA stores it asynchronously in whole lines. The next
// tile begins as soon as registers are free. Bound by the L2: evicted inputs must be read again.
#include "kernels/gemm/hopper/hopper.hpp"
#include "kernels/gemm/hopper/persistent.cuh"

namespace warpgauge::kernels {

template <class T>
void gemm_wgmma_tma_store(const T* a, const T* b, T* c, GemmShape shape, cudaStream_t stream) {
  using Tile = hopper::WgmmaTile<128, 256, 4, 2>;
  using Store = hopper::BoxStore<hopper::WordWriter, 2>;
  hopper::launch_persistent<T, Tile, Store, hopper::ColumnOrder, 2>("gemm_wgmma_tma_store", a, b, c,
                                                                    shape, stream);
}

template void gemm_wgmma_tma_store(const __half*, const __half*, __half*, GemmShape, cudaStream_t);
template void gemm_wgmma_tma_store(const __nv_bfloat16*, const __nv_bfloat16*, __nv_bfloat16*,
                                   GemmShape, cudaStream_t);

}  // namespace warpgauge::kernels
