// SPDX-License-Identifier: Apache-2.0
// stmatrix writes the sums to shared memory with a quarter of the instructions. Bound by the wgmma
// rate at the clock that the power limit allows.
#include "kernels/gemm/hopper/hopper.hpp"
#include "kernels/gemm/hopper/l2_order.cuh"
#include "kernels/gemm/hopper/persistent.cuh"

namespace warpgauge::kernels {

template <class T>
void gemm_wgmma_stmatrix(const T* a, const T* b, T* c, GemmShape shape, cudaStream_t stream) {
  using Tile = hopper::WgmmaTile<128, 256, 4, 2>;
  using Store = hopper::BoxStore<hopper::MatrixWriter, 2>;
  hopper::launch_persistent<T, Tile, Store, hopper::GroupOrder<8>, 2>("gemm_wgmma_stmatrix", a, b,
                                                                      c, shape, stream);
}

template void gemm_wgmma_stmatrix(const __half*, const __half*, __half*, GemmShape, cudaStream_t);
template void gemm_wgmma_stmatrix(const __nv_bfloat16*, const __nv_bfloat16*, __nv_bfloat16*,
                                  GemmShape, cudaStream_t);

}  // namespace warpgauge::kernels
