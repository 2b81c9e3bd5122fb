// SPDX-License-Identifier: Apache-2.0
// Clusters of four blocks share B, so a stage costs the L2 24 KiB a block instead of 32. They do
// not fill the groups of multiprocessors (30 of them 120 of 132 on an H200), so clusters of two
// make some tiles at the same time, on a second branch. Bound by the wgmma rate at the clock that
// the power limit allows: fewer bytes leave more power to the products.
#include <algorithm>

#include <warpgauge/cuda/current_device.hpp>
#include "kernels/gemm/hopper/hopper.hpp"
#include "kernels/gemm/hopper/l2_order.cuh"

namespace warpgauge::kernels {
namespace hopper {

constexpr const char* two_sizes_launcher = "gemm_wgmma_two_sizes";

/// A group is 2048 rows of C, as SerpentineOrder<8> with clusters of two.
using OrderOfFour = SerpentineOrder<4>;

/// Of clusters of four: the first tiles.
struct FirstTiles : OrderOfFour {
  static __device__ unsigned end(const WgmmaArguments& arguments, unsigned) {
    return arguments.split.tiles;
  }
};

/// Of clusters of two: the upper and lower halves of the other tiles. With an odd number of rows of
/// halves, the lowest one lies outside C.
struct OtherTiles : OrderOfFour {
  static __device__ unsigned first(const WgmmaArguments& arguments) {
    return 2 * arguments.split.tiles;
  }
  static __device__ unsigned end(const WgmmaArguments& arguments, unsigned rows) {
    return (rows + 1) / 2 * 2 * arguments.tile_columns;
  }
  static __device__ TilePlace place(unsigned index, unsigned rows, unsigned columns) {
    const TilePlace whole = OrderOfFour::place(index / 2, (rows + 1) / 2, columns);
    return {whole.row * 2 + index % 2, whole.column};
  }
};

/// How many clusters of each size make how many of the tiles of clusters of four.
struct Sizes {
  unsigned fours, twos, tiles_of_fours;
};

/// All end after the same number of turns, the fewest that all multiprocessors need.
inline Sizes sizes_of(unsigned tiles, unsigned fours_at_once, unsigned twos_at_once) {
  const unsigned halves_a_turn = 2 * fours_at_once + twos_at_once;
  const unsigned turns = (2 * tiles - 1) / halves_a_turn + 1;
  const unsigned of_fours = std::min(tiles, fours_at_once * turns);
  const unsigned halves = 2 * (tiles - of_fours);
  return {(of_fours - 1) / turns + 1, (halves + turns - 1) / turns, of_fours};
}

}  // namespace hopper

template <class T>
void GemmWgmmaTwoSizes<T>::operator()(const T* a, const T* b, T* c, GemmShape shape,
                                      cudaStream_t stream) {
  using namespace hopper;
  using Tile = WgmmaTile<128, 256, 4, 2>;
  using Store = BoxStore<MatrixWriter, 2>;
  if (shape.m == 0 || shape.n == 0) {
    return;
  }
  const WgmmaLaunch fours{.launcher = two_sizes_launcher,
                          .tile_rows = Tile::m,
                          .tile_columns = Tile::n,
                          .threads = Tile::consumer_threads + warpgroup_threads,
                          .shared_bytes = Tile::ring_bytes + Tile::consumers * Store::bytes,
                          .cluster = 4};
  const unsigned tiles = require_wgmma_product(fours, a, b, c, shape).blocks();
  const unsigned at_once =
      clusters_at_once(fours, gemm_wgmma_persistent_kernel<T, T, Tile, Store, FirstTiles, 4>);
  const Sizes sizes = sizes_of(tiles, at_once, (sm_count() - 4 * at_once) / 2);
  begun_.record(stream);
  launch_persistent<T, Tile, Store, FirstTiles, 4>(
      two_sizes_launcher, a, b, c, shape, stream, Start::in_order,
      {.clusters = sizes.fours, .tiles = sizes.tiles_of_fours});
  if (sizes.twos > 0) {
    WARPGAUGE_CHECK(cudaStreamWaitEvent(branch_.get(), begun_.get()));
    launch_persistent<T, Tile, Store, OtherTiles, 2>(
        two_sizes_launcher, a, b, c, shape, branch_.get(), Start::in_order,
        {.clusters = sizes.twos, .tiles = sizes.tiles_of_fours});
    ended_.record(branch_.get());
    WARPGAUGE_CHECK(cudaStreamWaitEvent(stream, ended_.get()));
  }
}

template class GemmWgmmaTwoSizes<__half>;
template class GemmWgmmaTwoSizes<__nv_bfloat16>;

}  // namespace warpgauge::kernels
