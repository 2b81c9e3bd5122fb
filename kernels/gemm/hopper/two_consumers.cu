// SPDX-License-Identifier: Apache-2.0
// Two consumers share B: a tile of 128 x 256 with instructions of 64 x 256, which read 80 bytes of
// shared memory per cycle instead of 96, and half as many bytes of A from the L2. Bound by the
// start and end of tiles, when the only block of a multiprocessor does not multiply.
#include "kernels/gemm/hopper/hopper.hpp"
#include "kernels/gemm/hopper/ring.cuh"

namespace warpgauge::kernels {

template <class T>
void gemm_wgmma_two_consumers(const T* a, const T* b, T* c, GemmShape shape, cudaStream_t stream) {
  using Tile = hopper::WgmmaTile<128, 256, 4, 2>;
  using Roles = hopper::Roles<1, 24, 240>;
  hopper::launch_ring<T, Tile, Roles>("gemm_wgmma_two_consumers", a, b, c, shape, stream);
}

template void gemm_wgmma_two_consumers(const __half*, const __half*, __half*, GemmShape,
                                       cudaStream_t);
template void gemm_wgmma_two_consumers(const __nv_bfloat16*, const __nv_bfloat16*, __nv_bfloat16*,
                                       GemmShape, cudaStream_t);

}  // namespace warpgauge::kernels
