// SPDX-License-Identifier: Apache-2.0
// Starts skewed over a sixteenth of a tile, as an alternative to dependent_launch's: clusters then
// do not all load and store at the same time, so power and L2 traffic have lower peaks. Bound as
// dependent_launch; costs up to a sixteenth of a tile at the end.
#include "kernels/gemm/hopper/hopper.hpp"
#include "kernels/gemm/hopper/l2_order.cuh"

namespace warpgauge::kernels {
namespace hopper {

template <class Order>
struct Skewed : Order {
  static constexpr bool starts_skewed = true;
};

}  // namespace hopper

template <class T>
void gemm_wgmma_skewed(const T* a, const T* b, T* c, GemmShape shape, cudaStream_t stream) {
  using namespace hopper;
  using Tile = WgmmaTile<128, 256, 4, 2>;
  using Store = BoxStore<MatrixWriter, 2>;
  launch_persistent<T, Tile, Store, Skewed<SerpentineOrder<8>>, 2>("gemm_wgmma_skewed", a, b, c,
                                                                   shape, stream, Start::early);
}

template void gemm_wgmma_skewed(const __half*, const __half*, __half*, GemmShape, cudaStream_t);
template void gemm_wgmma_skewed(const __nv_bfloat16*, const __nv_bfloat16*, __nv_bfloat16*,
                                GemmShape, cudaStream_t);

}  // namespace warpgauge::kernels
