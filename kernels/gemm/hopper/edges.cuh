// SPDX-License-Identifier: Apache-2.0
// What a persistent kernel saves at its edges: before its first product and after its last.
#pragma once

#include <cstdint>

#include "kernels/gemm/hopper/tiles.cuh"

namespace warpgauge::kernels::hopper {

/// What is done at the edges: nothing, load_early(), or that and consume_staggered().
enum class Edges : std::uint8_t { plain, early_loads, staggered_end };

/// Initialises the ring's barriers and starts loading the first stages of a tile, as many as the
/// ring holds; returns their number. Call from the producer's warp, then Ring::synchronize() from
/// all threads: instead of Ring::init(). Nothing may write to another block before that, so each
/// block loads all of B itself.
template <class Tile, unsigned Cluster>
__device__ inline unsigned load_early(const WgmmaArguments& arguments, Ring<Tile, Cluster>& ring,
                                      unsigned row, unsigned column) {
  static_assert(Tile::template b_box_rows<Cluster> == Tile::template b_box_rows<1>,
                "boxes of all terms");
  if (elect_one()) {
    ring.init_barriers();
  }
  __syncwarp();
  wait_for_kernels_before();
  const unsigned stages = min(stages_of(arguments.k, Tile::terms), Tile::stages);
#pragma unroll 1
  for (unsigned i = 0; i < stages; ++i) {
    if (elect_one()) {
      load_stage<Tile>(arguments, ring.a(), ring.full(), row, column, i * Tile::terms);
    }
    __syncwarp();
    ring.advance();
  }
  return stages;
}

/// consume_tile() for two consumers. Of the block's `last` tile, the second multiplies the last
/// stages, as many as the ring holds, once the first has issued all its products. Then one
/// multiplies while the other stores. Those stages may wait, because the producer has nothing more
/// to load into them. The second consumer releases all others before it waits, so the producer can
/// load the last ones.
template <class T, class Tile, unsigned Cluster>
__device__ inline void consume_staggered(float (&sums)[Tile::blocks][Tile::sums],
                                         Ring<Tile, Cluster>& ring, unsigned a_offset,
                                         unsigned stages, unsigned consumer, bool last) {
  static_assert(Tile::consumers == 2);
  constexpr unsigned barrier = 1 + Tile::consumers;  // those before belong to the stores
  const bool waits = last && consumer == 1;
  const unsigned before = waits ? max(stages, Tile::stages) - Tile::stages : stages;
  if (before > 0) {
    consume_tile<T>(sums, ring, a_offset, before, [&] {
      if (last && consumer == 0) {
        arrive_for_threads<Tile::consumer_threads>(barrier);
      }
    });
  }
  if (waits) {
    synchronize_threads<Tile::consumer_threads>(barrier);
    consume_tile<T>(sums, ring, a_offset, stages - before, [] {}, before > 0);
  }
}

}  // namespace warpgauge::kernels::hopper
