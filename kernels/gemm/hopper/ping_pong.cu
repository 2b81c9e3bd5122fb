// SPDX-License-Identifier: Apache-2.0
// Ping-pong, an alternative to stmatrix: two consumers each make their own 128 x 128 tile and take
// turns at the tensor cores, so that one stores while the other multiplies. Each loaded byte is
// used in 85 operations instead of 128. Bound by the L2 if that reuse is too low, otherwise as
// stmatrix.
#include "kernels/gemm/hopper/hopper.hpp"
#include "kernels/gemm/hopper/ping_pong.cuh"

namespace warpgauge::kernels {

template <class T>
void gemm_wgmma_ping_pong(const T* a, const T* b, T* c, GemmShape shape, cudaStream_t stream) {
  using Tile = hopper::WgmmaTile<128, 128, 6, 1>;
  using Store = hopper::BoxStore<hopper::MatrixWriter, 2>;
  hopper::launch_ping_pong<T, Tile, Store, hopper::GroupOrder<8>, 2>("gemm_wgmma_ping_pong", a, b,
                                                                     c, shape, stream);
}

template void gemm_wgmma_ping_pong(const __half*, const __half*, __half*, GemmShape, cudaStream_t);
template void gemm_wgmma_ping_pong(const __nv_bfloat16*, const __nv_bfloat16*, __nv_bfloat16*,
                                   GemmShape, cudaStream_t);

}  // namespace warpgauge::kernels
