// SPDX-License-Identifier: Apache-2.0
// Stream-K: where tiles do not fill the multiprocessors evenly, clusters share the stages of tiles
// instead of whole tiles, and pass partial sums on through device memory. Bound as the rung with
// the same tile, without idle multiprocessors; partial sums are written and read once.
#include <algorithm>
#include <cstdint>

#include "kernels/gemm/arguments.hpp"
#include "kernels/gemm/hopper/hopper.hpp"
#include "kernels/gemm/hopper/stream_k.cuh"
#include "kernels/gemm/hopper/tile_choice.cuh"

namespace warpgauge::kernels {
namespace hopper {

constexpr const char* stream_k_launcher = "gemm_wgmma_stream_k";

/// The kernel and its launch parameters for a ClusterTile.
template <class Choice>
struct StreamK {
  using Tile = typename Choice::Tile;
  using Store = typename Choice::Store;
  static constexpr unsigned cluster = Choice::cluster;

  template <class T>
  static constexpr auto* kernel =
      gemm_wgmma_stream_k_kernel<T, Tile, Store, GroupOrder<8>, cluster>;

  static WgmmaLaunch launch(SplitTiles split = {}) {
    constexpr unsigned bytes = Tile::ring_bytes + Tile::consumers * Store::bytes;
    static_assert(bytes <= most_shared_bytes);
    return {.launcher = stream_k_launcher,
            .tile_rows = Tile::m,
            .tile_columns = Tile::n,
            .threads = Tile::consumer_threads + warpgroup_threads,
            .shared_bytes = bytes,
            .cluster = cluster,
            .b_box_rows = Tile::template b_box_rows<cluster>,
            .split = split};
  }
};

/// What sharing must save: 40 stages, because passing partial sums on took 20 to 40 on an H200 (see
/// docs/pages/gemm.md), and a quarter of all, because idle multiprocessors also save power, which
/// raises the clock of the others.
inline bool saves_enough(std::uint64_t saved, std::uint64_t of) {
  return saved >= 40 && saved * 4 >= of;
}

/// Which tiles to split, and among how many clusters, of which `at_once` run at once. Whole tiles
/// take as few clusters as need no more turns (as persistent rungs). To split is to give each
/// cluster all full turns but one, and an equal share of the remaining tiles' stages, at least four
/// for each.
inline SplitTiles split_of(unsigned tiles, unsigned stages, unsigned at_once) {
  const unsigned turns = (tiles - 1) / at_once + 1;
  const std::uint64_t whole = std::uint64_t{turns} * stages;
  const std::uint64_t all = std::uint64_t{tiles} * stages;
  const unsigned split_tiles = tiles - (std::max(tiles / at_once, 1U) - 1) * at_once;
  constexpr std::uint64_t most_stages = 0xFFFFFFFF;  // that the kernel counts
  if (!saves_enough(whole - ((all - 1) / at_once + 1), whole) ||
      std::uint64_t{split_tiles} * stages > most_stages) {
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
  require_terms(hopper::stream_k_launcher, shape);
  hopper::require_wgmma_shape(
      {.launcher = hopper::stream_k_launcher, .tile_rows = 64, .tile_columns = 128}, shape);
  hopper::require_wgmma(hopper::stream_k_launcher);
  hopper::with_tile_for(shape, [&](auto choice) {
    using Config = hopper::StreamK<decltype(choice)>;
    using Tile = typename Config::Tile;
    const unsigned tiles = hopper::require_wgmma_shape(Config::launch(), shape).blocks();
    const auto stages = static_cast<unsigned>((shape.k - 1) / Tile::terms + 1);
    const unsigned at_once = hopper::clusters_at_once(Config::launch(), Config::template kernel<T>);
    const hopper::SplitTiles split = hopper::split_of(tiles, stages, at_once);
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
  if (clusters_ == 0) {
    return;
  }
  hopper::with_tile_for(shape_, [&](auto choice) {
    using Config = hopper::StreamK<decltype(choice)>;
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
