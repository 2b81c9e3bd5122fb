// SPDX-License-Identifier: Apache-2.0
// Which tile suits a shape, if each tile is computed as a whole.
#pragma once

#include <warpgauge/cuda/current_device.hpp>
#include "kernels/gemm/hopper/stores.cuh"

namespace warpgauge::kernels::hopper {

/// A tile, and the number of blocks per cluster.
template <class Tile_, unsigned Cluster>
struct ClusterTile {
  using Tile = Tile_;
  static constexpr unsigned cluster = Cluster;
  /// Through two buffers or, where two do not divide the boxes of a row, one per box.
  using Store = BoxStore<MatrixWriter, Tile::b_boxes % 2 == 0 ? 2 : Tile::b_boxes>;
};

/// The tile of gemm_wgmma_dependent_launch and what builds on it.
using LargestTile = ClusterTile<WgmmaTile<128, 256, 4, 2>, 2>;

/// Whether the blocks for a shape, one per tile, are at most 1/`part` of the device's
/// multiprocessors. Requires m and n > 0.
template <class Choice>
bool tiles_fit(GemmShape shape, unsigned part = 1) {
  using Tile = typename Choice::Tile;
  const std::size_t rows = (shape.m - 1) / (Choice::cluster * Tile::m) + 1;
  const std::size_t columns = (shape.n - 1) / Tile::n + 1;
  return rows * columns * Choice::cluster * part <= sm_count();
}

/// Calls use(ClusterTile) with the smallest tile of which each multiprocessor computes at most one:
/// it leaves the fewest multiprocessors without work. If no tile is large enough for that, the
/// largest tile needs the fewest bytes from the L2: 64 x 256 for up to 128 rows, of which a larger
/// one would leave more unused. Clusters that share B are for more than 64 rows, because otherwise
/// one block has none; those of 64 x 64 for more than half of the multiprocessors: with fewer they
/// have not been measured. Source of the order: measurements on an H200, in kernels/README.md of
/// commit b1af75db. Requires m and n > 0.
template <class Use>
void with_tile_for(GemmShape shape, const Use& use) {
  using Shared64x64 = ClusterTile<WgmmaTile<64, 64, 13, 1>, 2>;
  using Tile64x128 = ClusterTile<WgmmaTile<64, 128, 8, 1>, 1>;
  using Shared64x128 = ClusterTile<WgmmaTile<64, 128, 8, 1>, 2>;
  using Tile128x128 = ClusterTile<WgmmaTile<128, 128, 6, 2>, 1>;
  using Tile128x192 = ClusterTile<WgmmaTile<128, 192, 4, 2>, 1>;
  if (shape.m > 64 && tiles_fit<Shared64x64>(shape) && !tiles_fit<Shared64x64>(shape, 2)) {
    use(Shared64x64{});
  } else if (shape.m > 64 && tiles_fit<Shared64x128>(shape)) {
    use(Shared64x128{});
  } else if (tiles_fit<Tile64x128>(shape)) {
    use(Tile64x128{});
  } else if (shape.m <= 128) {
    use(ClusterTile<WgmmaTile<64, 256, 5, 1>, 1>{});
  } else if (tiles_fit<Tile128x128>(shape)) {
    use(Tile128x128{});
  } else if (tiles_fit<Tile128x192>(shape)) {
    use(Tile128x192{});
  } else {
    use(LargestTile{});
  }
}

}  // namespace warpgauge::kernels::hopper
