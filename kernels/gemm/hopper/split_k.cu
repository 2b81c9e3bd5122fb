// SPDX-License-Identifier: Apache-2.0
// For few tiles: the blocks of a cluster share one tile of C, and each sums a share of its terms.
// They exchange sums through each other's shared memory, so only C goes to device memory. If A has
// few rows, bound by reading B once: wide tiles read long pieces of B's rows, and stages without
// rows outside A leave more shared memory for B.
#include "kernels/gemm/hopper/hopper.hpp"
#include "kernels/gemm/hopper/split_k.cuh"

namespace warpgauge::kernels {

template <class T>
void gemm_wgmma_split_k(const T* a, const T* b, T* c, GemmShape shape, cudaStream_t stream) {
  using namespace hopper;
  constexpr const char* launcher = "gemm_wgmma_split_k";
  if (shape.m <= 16) {
    using Wide = WgmmaTile<64, 256, 5, 1, stage_k, false, 16>;
    using Narrow = WgmmaTile<64, 128, 9, 1, stage_k, false, 16>;
    launch_split_k<T, Wide, Narrow>(launcher, a, b, c, shape, stream);
  } else if (shape.m <= 64) {
    using Wide = WgmmaTile<64, 256, 5, 1>;
    using Narrow = WgmmaTile<64, 128, 8, 1>;
    launch_split_k<T, Wide, Narrow>(launcher, a, b, c, shape, stream);
  } else {
    launch_split_k<T, WgmmaTile<128, 256, 4, 2>>(launcher, a, b, c, shape, stream);
  }
}

template void gemm_wgmma_split_k(const __half*, const __half*, __half*, GemmShape, cudaStream_t);
template void gemm_wgmma_split_k(const __nv_bfloat16*, const __nv_bfloat16*, __nv_bfloat16*,
                                 GemmShape, cudaStream_t);

}  // namespace warpgauge::kernels
