// SPDX-License-Identifier: Apache-2.0
// Stream-K: where tiles do not fill the multiprocessors evenly, clusters share the stages of tiles
// instead of whole tiles, and pass partial sums on through device memory. Bound as the rung with
// the same tile, without idle multiprocessors; partial sums are written and read once.
#include <algorithm>

#include <warpgauge/cuda/current_device.hpp>
#include "kernels/gemm/arguments.hpp"
#include "kernels/gemm/hopper/hopper.hpp"
#include "kernels/gemm/hopper/stream_k.cuh"

namespace warpgauge::kernels {
namespace hopper {

/// A tile, its blocks per cluster and multiprocessor, and the least number of stages that sharing
/// must save: about what it takes to pass partial sums on.
template <class Tile_, unsigned Cluster, unsigned BlocksPerSm, unsigned LeastSaving>
struct StreamK {
  using Tile = Tile_;
  using Store = BoxStore<MatrixWriter, 2>;
  static constexpr unsigned cluster = Cluster, blocks_per_sm = BlocksPerSm;
  static constexpr unsigned least_saving = LeastSaving;

  template <class T>
  static constexpr auto* kernel =
      gemm_wgmma_stream_k_kernel<T, Tile, Store, GroupOrder<8>, Cluster, BlocksPerSm>;

  static WgmmaLaunch launch(SplitTiles split = {}) {
    constexpr unsigned bytes = Tile::ring_bytes + Tile::consumers * Store::bytes;
    static_assert((bytes + 1024) * BlocksPerSm <= 233'472, "of compute capability 9.0");
    return {.launcher = "gemm_wgmma_stream_k",
            .tile_rows = Tile::m,
            .tile_columns = Tile::n,
            .threads = Tile::consumer_threads + warpgroup_threads,
            .shared_bytes = bytes,
            .cluster = Cluster,
            .split = split};
  }
};

/// Few rows need few sums per column, and small tiles fewer blocks per tile: both limit the partial
/// sums. Many rows need large tiles.
template <class Use>
void with_tile_for(std::size_t rows, const Use& use) {
  if (rows <= 64) {
    use(StreamK<WgmmaTile<64, 128, 4, 1>, 1, 2, 8>{});
  } else if (rows <= 128) {
    use(StreamK<WgmmaTile<128, 128, 6, 2>, 1, 1, 6>{});
  } else {
    use(StreamK<WgmmaTile<128, 256, 4, 2>, 2, 1, 4>{});
  }
}

/// Which tiles to split, and among how many clusters, of which `at_once` run at once. Whole tiles
/// take as few clusters as need no more turns (as persistent rungs). To split is to give each
/// cluster all full turns but one, and an equal share of the remaining tiles' stages, at least four
/// for each.
inline SplitTiles split_of(unsigned tiles, unsigned stages, unsigned at_once,
                           unsigned least_saving) {
  const unsigned turns = (tiles - 1) / at_once + 1;
  const std::uint64_t all = std::uint64_t{tiles} * stages;
  const std::uint64_t saved = std::uint64_t{turns} * stages - ((all - 1) / at_once + 1);
  const unsigned split_tiles = tiles - (std::max(tiles / at_once, 1U) - 1) * at_once;
  constexpr std::uint64_t most_stages = 0xFFFFFFFF;  // that the kernel counts
  if (saved < least_saving || std::uint64_t{split_tiles} * stages > most_stages) {
    return {.clusters = (tiles - 1) / turns + 1};
  }
  constexpr unsigned least_stages = 4;
  const auto most_clusters =
      static_cast<unsigned>(std::min<std::uint64_t>(all / least_stages, at_once));
  return {.clusters = std::max(most_clusters, 1U), .tiles = split_tiles};
}

}  // namespace hopper

template <class T>
GemmWgmmaStreamK<T>::GemmWgmmaStreamK(GemmShape shape) : shape_(shape) {
  if (shape.m == 0 || shape.n == 0) {
    return;
  }
  hopper::with_tile_for(shape.m, [&](auto config) {
    using Config = decltype(config);
    using Tile = typename Config::Tile;
    const hopper::WgmmaLaunch launch = Config::launch();
    require_terms(launch.launcher, shape);
    const unsigned tiles = hopper::require_wgmma_shape(launch, shape).blocks();
    const auto stages = static_cast<unsigned>((shape.k - 1) / Tile::terms + 1);
    const unsigned at_once = std::max(sm_count() * Config::blocks_per_sm / Config::cluster, 1U);
    const hopper::SplitTiles split = hopper::split_of(tiles, stages, at_once, Config::least_saving);
    clusters_ = split.clusters;
    split_tiles_ = split.tiles;
    if (split.tiles > 0) {
      const std::size_t consumers = std::size_t{split.clusters} * Config::cluster * Tile::consumers;
      partial_sums_ = DeviceArray<float>(consumers * hopper::PartialSums<Tile>::floats);
      ready_ = zeroed<unsigned>(consumers);
    }
  });
}

template <class T>
void GemmWgmmaStreamK<T>::operator()(const T* a, const T* b, T* c, cudaStream_t stream) {
  hopper::with_tile_for(shape_.m, [&](auto config) {
    using Config = decltype(config);
    hopper::launch_wgmma(Config::launch({.clusters = clusters_,
                                         .tiles = split_tiles_,
                                         .partial_sums = partial_sums_.data(),
                                         .ready = ready_.data()}),
                         Config::template kernel<T>, a, b, c, shape_, stream);
  });
}

template class GemmWgmmaStreamK<__half>;
template class GemmWgmmaStreamK<__nv_bfloat16>;

}  // namespace warpgauge::kernels
