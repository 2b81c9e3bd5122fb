// SPDX-License-Identifier: Apache-2.0
// Programmatic dependent launch: blocks start, set up their barriers and fetch the tensor maps
// while the kernel before in the stream ends. Bound as the rung before. Three changes to this rung
// did not help on an H200: starts skewed over a sixteenth of a tile took 0.6 to 1.1 % longer at n =
// 4096 and 8192; clusters of four that share B, beside clusters of two on the other
// multiprocessors, took the same time, although a stage cost the L2 24 KiB instead of 32; storing a
// block's last tile through the ring, all boxes at once, took 1.3 % longer at n = 2048.
#include "kernels/gemm/hopper/hopper.hpp"
#include "kernels/gemm/hopper/l2_order.cuh"
#include "kernels/gemm/hopper/persistent.cuh"

namespace warpgauge::kernels {

template <class T>
void gemm_wgmma_dependent_launch(const T* a, const T* b, T* c, GemmShape shape,
                                 cudaStream_t stream) {
  using Tile = hopper::WgmmaTile<128, 256, 4, 2>;
  using Store = hopper::BoxStore<hopper::MatrixWriter, 2>;
  hopper::launch_persistent<T, Tile, Store, hopper::SerpentineOrder<8>, 2>(
      "gemm_wgmma_dependent_launch", a, b, c, shape, stream, hopper::Start::early);
}

template void gemm_wgmma_dependent_launch(const __half*, const __half*, __half*, GemmShape,
                                          cudaStream_t);
template void gemm_wgmma_dependent_launch(const __nv_bfloat16*, const __nv_bfloat16*,
                                          __nv_bfloat16*, GemmShape, cudaStream_t);

}  // namespace warpgauge::kernels
