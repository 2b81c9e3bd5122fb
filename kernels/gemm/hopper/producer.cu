// SPDX-License-Identifier: Apache-2.0
// One warpgroup only loads, several stages ahead; another only multiplies. A ring of barriers
// connects them, and the loader gives registers to the multiplier. Loads and products overlap.
// Bound by pauses of the products: at the ends of tiles, and where no second tensor instruction is
// queued.
#include "kernels/gemm/hopper/hopper.hpp"
#include "kernels/gemm/hopper/ring.cuh"

namespace warpgauge::kernels {

template <class T>
void gemm_wgmma_producer(const T* a, const T* b, T* c, GemmShape shape, cudaStream_t stream) {
  using Tile = hopper::WgmmaTile<128, 128, 3, 1>;
  using Roles = hopper::Roles<2, 40, 216>;
  hopper::launch_ring<T, Tile, Roles>("gemm_wgmma_producer", a, b, c, shape, stream);
}

template void gemm_wgmma_producer(const __half*, const __half*, __half*, GemmShape, cudaStream_t);
template void gemm_wgmma_producer(const __nv_bfloat16*, const __nv_bfloat16*, __nv_bfloat16*,
                                  GemmShape, cudaStream_t);

}  // namespace warpgauge::kernels
