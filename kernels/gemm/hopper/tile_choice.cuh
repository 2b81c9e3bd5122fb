// SPDX-License-Identifier: Apache-2.0
// Which tile suits a shape, if each tile is computed as a whole.
#pragma once

#include <warpgauge/cuda/current_device.hpp>
#include "kernels/gemm/hopper/tiles.cuh"

namespace warpgauge::kernels::hopper {

/// A tile, and the number of blocks per cluster.
template <class Tile_, unsigned Cluster>
struct ClusterTile {
  using Tile = Tile_;
  static constexpr unsigned cluster = Cluster;
};

/// Whether the tiles of a shape are at most 1/`part` of the device's multiprocessors.
inline bool tiles_fit(GemmShape shape, unsigned rows, unsigned columns, unsigned part = 1) {
  const std::size_t tiles = ((shape.m - 1) / rows + 1) * ((shape.n - 1) / columns + 1);
  return tiles * part <= sm_count();
}

/// Calls use(ClusterTile) with the smallest tile of which each multiprocessor computes at most one:
/// it leaves the fewest multiprocessors without work. If no tile is large enough for that, the
/// largest tile needs the fewest bytes from the L2. Source of the order: the measurements in
/// kernels/README.md. Requires m and n > 0.
template <class Use>
void with_tile_for(GemmShape shape, const Use& use) {
  if (tiles_fit(shape, 64, 128)) {
    use(ClusterTile<WgmmaTile<64, 128, 8, 1>, 1>{});
  } else if (shape.m <= 128) {
    use(ClusterTile<WgmmaTile<64, 256, 5, 1>, 1>{});
  } else if (tiles_fit(shape, 128, 128)) {
    use(ClusterTile<WgmmaTile<128, 128, 6, 2>, 1>{});
  } else {
    use(ClusterTile<WgmmaTile<128, 256, 4, 2>, 2>{});
  }
}

}  // namespace warpgauge::kernels::hopper
