// SPDX-License-Identifier: Apache-2.0
// Ping-pong, the other last rung: each of two consumers makes a tile of its own, 128 x 128, and
// they take turns at the tensor cores, so that one stores while the other multiplies. A byte that
// is loaded is used less often, in 85 operations and not in 128. Bound by the L2 where that is too
// little, else as the rung before.
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
