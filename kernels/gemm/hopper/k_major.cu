// SPDX-License-Identifier: Apache-2.0
// gemm_wgmma_dependent_launch for TF32 and e4m3. Bound by the wgmma rate at the clock that the
// power limit allows: half (TF32) and twice (e4m3) the rate of 16-bit types, with the same bytes
// per stage.
#include "kernels/gemm/hopper/hopper.hpp"
#include "kernels/gemm/hopper/l2_order.cuh"

namespace warpgauge::kernels {

template <class In, class Out>
void gemm_wgmma_k_major(const In* a, const In* b_transposed, Out* c, GemmShape shape,
                        cudaStream_t stream) {
  using namespace hopper;
  using Tile = WgmmaTile<128, 256, 4, 2, box_row_bytes / sizeof(In), true>;
  using Writer = std::conditional_t<std::is_same_v<Out, float>, FloatWriter, MatrixWriter>;
  using Store = BoxStore<Writer, 2>;
  launch_persistent<KMajor<In>, Tile, Store, SerpentineOrder<8>, 2>(
      "gemm_wgmma_k_major", a, b_transposed, c, shape, stream, Start::early);
}

template void gemm_wgmma_k_major(const float*, const float*, float*, GemmShape, cudaStream_t);
template void gemm_wgmma_k_major(const __nv_fp8_e4m3*, const __nv_fp8_e4m3*, __nv_bfloat16*,
                                 GemmShape, cudaStream_t);

}  // namespace warpgauge::kernels
