// SPDX-License-Identifier: Apache-2.0
// Chooses among the rungs by shape. Few rows, or few tiles with many terms: split_k. Otherwise
// whole tiles, of the size that with_tile_for() chooses. Bound as the chosen rung.
#include <type_traits>

#include "kernels/gemm/hopper/hopper.hpp"
#include "kernels/gemm/hopper/l2_order.cuh"
#include "kernels/gemm/hopper/tile_choice.cuh"

namespace warpgauge::kernels {
namespace {

/// With 8192 terms or more, whole tiles on at most half of the multiprocessors take longer than
/// exchanging partial sums. Source: as with_tile_for().
template <class Choice>
bool splits_terms(GemmShape shape) {
  constexpr std::size_t many_terms = 8192;
  return shape.m <= 64 || (shape.k >= many_terms && hopper::tiles_fit<Choice>(shape, 2));
}

}  // namespace

template <class T>
void gemm_wgmma_best(const T* a, const T* b, T* c, GemmShape shape, cudaStream_t stream) {
  using namespace hopper;
  constexpr const char* launcher = "gemm_wgmma_best";
  if (shape.m == 0 || shape.n == 0) {
    return;
  }
  require_wgmma_product({.launcher = launcher, .tile_rows = 64, .tile_columns = 128}, a, b, c,
                        shape);
  with_tile_for(shape, [&](auto choice) {
    using Choice = decltype(choice);
    if (splits_terms<Choice>(shape)) {
      gemm_wgmma_split_k(a, b, c, shape, stream);
    } else if constexpr (std::is_same_v<Choice, LargestTile>) {
      gemm_wgmma_staggered_end(a, b, c, shape, stream);
    } else {
      launch_persistent<T, typename Choice::Tile, typename Choice::Store, SerpentineOrder<8>,
                        Choice::cluster>(launcher, a, b, c, shape, stream, Start::early);
    }
  });
}

template void gemm_wgmma_best(const __half*, const __half*, __half*, GemmShape, cudaStream_t);
template void gemm_wgmma_best(const __nv_bfloat16*, const __nv_bfloat16*, __nv_bfloat16*, GemmShape,
                              cudaStream_t);

}  // namespace warpgauge::kernels
