// SPDX-License-Identifier: Apache-2.0
// Hopper's wgmma: a warpgroup of 128 threads multiplies tiles in shared memory asynchronously. One
// thread has TMA load them. Bound by waiting: loads and products of a block alternate.
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
