// SPDX-License-Identifier: Apache-2.0
// Hopper's own instruction: a warpgroup, 128 threads, multiplies from shared memory and waits for
// nothing; TMA brings the tiles there by one thread's order. Bound by waiting: loads and products
// of a block take turns.
#include "kernels/gemm/hopper/hopper.hpp"
#include "kernels/gemm/hopper/one_stage.cuh"

namespace warpgauge::kernels {

template <class T>
void gemm_wgmma(const T* a, const T* b, T* c, GemmShape shape, cudaStream_t stream) {
  using Tile = hopper::WgmmaTile<64, 128, 1, 1>;
  hopper::launch_one_stage<T, Tile>("gemm_wgmma", a, b, c, shape, stream);
}

template void gemm_wgmma(const __half*, const __half*, __half*, GemmShape, cudaStream_t);
template void gemm_wgmma(const __nv_bfloat16*, const __nv_bfloat16*, __nv_bfloat16*, GemmShape,
                         cudaStream_t);

}  // namespace warpgauge::kernels
