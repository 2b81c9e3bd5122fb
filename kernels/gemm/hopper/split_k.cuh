// SPDX-License-Identifier: Apache-2.0
// The kernel in which the blocks of a cluster split the terms of a tile.
#pragma once

#include "kernels/gemm/hopper/stores.cuh"

namespace warpgauge::kernels::hopper {

/// Registers per thread of the producer and of two consumers.
inline constexpr unsigned split_k_producer_registers = 40;
inline constexpr unsigned split_k_consumer_registers = 232;

inline constexpr unsigned most_splits = 4;  ///< blocks per cluster

/// The blocks of a cluster that split the terms of a tile: of ranks first, first + step, ...
struct Splits {
  unsigned count;  ///< at most most_splits
  unsigned own;    ///< this block's index among them
  unsigned first = 0;
  unsigned step = 1;
};

/// Sums of a tile in shared memory: eight floats of padding, so that the four rows that half a warp
/// writes lie in different banks.
template <class Tile>
inline constexpr unsigned split_row_floats = Tile::n + 8;

/// Writes the sums of the tile's first `rows` rows to the block's shared memory. Call from all
/// consumers.
template <class Tile>
__device__ inline void pass_on_sums(const float (&sums)[Tile::sums], unsigned memory,
                                    unsigned rows) {
  constexpr unsigned row_floats = split_row_floats<Tile>;
  static_assert(Tile::a_rows * row_floats * sizeof(float) <= Tile::stages * Tile::stage_bytes);
  const unsigned lane = threadIdx.x % 32;
  const unsigned first_row = threadIdx.x / 32 * 16;  // of this warp
  if (first_row < rows) {
    const unsigned own = memory + ((first_row + lane / 4) * row_floats + lane % 4 * 2) *
                                      static_cast<unsigned>(sizeof(float));
#pragma unroll
    for (unsigned j = 0; j < Tile::sums / 4; ++j) {
#pragma unroll
      for (unsigned half = 0; half < 2; ++half) {
        const unsigned to = own + (half * 8 * row_floats + j * 8) * 4;
        store_two(to, sums[j * 4 + half * 2], sums[j * 4 + half * 2 + 1]);
      }
    }
  }
}

/// Adds up this block's share of the rows that the splits passed on, and stores it to C. Call from
/// all consumers. Neighbouring threads handle neighbouring columns, four each; a block handles
/// every count-th row.
template <class T, class Tile>
__device__ inline void add_up_splits(const WgmmaArguments& arguments, unsigned memory, unsigned row,
                                     unsigned column, unsigned rows, Splits splits) {
  constexpr unsigned fours = Tile::n / 4;
  for (unsigned i = threadIdx.x; i < (rows + splits.count - 1) / splits.count * fours;
       i += Tile::consumer_threads) {
    const unsigned in_row = i / fours * splits.count + splits.own;
    const unsigned in_column = i % fours * 4;
    if (in_row >= rows || column + in_column >= arguments.n) {
      continue;
    }
    const unsigned from = memory + (in_row * split_row_floats<Tile> + in_column) * 4;
    float4 parts[most_splits];  // all loads begin before the first addition waits
#pragma unroll
    for (unsigned other = 0; other < most_splits; ++other) {
      parts[other] = other < splits.count
                         ? load_from_cluster(from, splits.first + other * splits.step)
                         : float4{};
    }
    float4 sum = parts[0];
#pragma unroll
    for (unsigned other = 1; other < most_splits; ++other) {
      sum.x += parts[other].x;
      sum.y += parts[other].y;
      sum.z += parts[other].z;
      sum.w += parts[other].w;
    }
    *reinterpret_cast<uint2*>(static_cast<T*>(arguments.c) +
                              (std::size_t{row + in_row} * arguments.n + column + in_column)) = {
        round_two<T>(sum.x, sum.y), round_two<T>(sum.z, sum.w)};
  }
}

/// Each block has a producer and consumers, as in gemm_wgmma_ring_kernel, for an equal share of one
/// tile's stages, which differ by at most one. The launch sees to it that no share is empty.
///
/// Hand-over of sums: once a block's products are complete, nothing accesses its ring any more, and
/// its consumers write the sums there. After a cluster barrier (release and acquire) the consumers
/// of each block add up its share of the rows, always in rank order. A second cluster barrier keeps
/// each block's shared memory alive until all blocks have read it. Rows outside C are not passed
/// on.
template <class T, class Tile>
__global__ __launch_bounds__(
    Tile::consumer_threads + warpgroup_threads,
    1) void gemm_wgmma_split_k_kernel(const __grid_constant__ WgmmaArguments arguments) {
  static_assert(Tile::consumers <= 2 && Tile::blocks == 1);
  const unsigned memory = tile_memory();
  Ring<Tile> ring{memory};
  const unsigned split = cluster_size();
  const unsigned rank = cluster_rank();
  const unsigned tile = blockIdx.x / split;
  const unsigned row = tile % arguments.tile_rows * Tile::m;
  const unsigned column = tile / arguments.tile_rows * Tile::n;
  const unsigned all = stages_of(arguments.k);
  const unsigned longer = all % split;  // blocks with one more stage
  const unsigned first = rank * (all / split) + min(rank, longer);
  const unsigned stages = all / split + (rank < longer ? 1 : 0);
  ring.init();
  const unsigned warpgroup = threadIdx.x / warpgroup_threads;
  if (warpgroup == Tile::consumers) {
    if constexpr (Tile::consumers == 2) {
      release_registers<split_k_producer_registers>();
    }
    if (warp_index() == Tile::consumer_threads / 32) {
      produce(arguments, ring, row, column, 0, first * stage_k, stages);
    }
    exchange_in_cluster();
    exchange_in_cluster();
    return;
  }
  if constexpr (Tile::consumers == 2) {
    claim_registers<split_k_consumer_registers>();
  }
  float sums[1][Tile::sums] = {};
  consume_tile<T>(sums, ring, warpgroup * Tile::consumer_m * box_row_bytes, stages);
  // The wgmmas of all consumers must have read the ring before any warp overwrites it.
  synchronize_threads<Tile::consumer_threads>(1);
  const unsigned rows = min(Tile::a_rows, arguments.m - row);
  pass_on_sums<Tile>(sums[0], memory, rows);
  exchange_in_cluster();
  add_up_splits<T, Tile>(arguments, memory, row, column, rows, {.count = split, .own = rank});
  exchange_in_cluster();
}

/// How the terms of a tile are split.
template <class Tile>
WgmmaLaunch split_k_launch(const char* launcher, unsigned splits) {
  static_assert(Tile::ring_bytes <= most_shared_bytes);
  return {.launcher = launcher,
          .tile_rows = Tile::m,
          .tile_columns = Tile::n,
          .threads = Tile::consumer_threads + warpgroup_threads,
          .shared_bytes = Tile::ring_bytes,
          .splits = splits,
          .a_box_rows = Tile::a_rows};
}

/// Launches with the tile and the number of splits by which the most blocks work at once. If
/// several do, with the fewest splits, because these exchange the fewest sums. A split has at least
/// four stages. If no tile's blocks all run at once, launches the first tile without splits.
template <class T, class... Tiles>
void launch_split_k(const char* launcher, const T* a, const T* b, T* c, GemmShape shape,
                    cudaStream_t stream) {
  if (shape.m == 0 || shape.n == 0) {
    return;
  }
  struct Choice {
    WgmmaLaunch launch;
    void (*kernel)(WgmmaArguments);
    std::size_t blocks;
  };
  const auto choice_of = [&]<class Tile>(unsigned splits) {
    Choice choice{split_k_launch<Tile>(launcher, splits), gemm_wgmma_split_k_kernel<T, Tile>, 0};
    const unsigned tiles = require_wgmma_product(choice.launch, a, b, c, shape).blocks();
    const bool at_once = tiles <= clusters_at_once(choice.launch, choice.kernel);
    const bool long_enough = splits == 1 || shape.k >= std::size_t{splits} * 4 * stage_k;
    choice.blocks = at_once && long_enough ? std::size_t{tiles} * splits : 0;
    return choice;
  };
  Choice best{};
  for (const unsigned splits : {1U, 2U, most_splits}) {
    for (const Choice& choice : {choice_of.template operator()<Tiles>(splits)...}) {
      if (best.kernel == nullptr || choice.blocks > best.blocks) {
        best = choice;
      }
    }
  }
  launch_wgmma(best.launch, best.kernel, a, b, c, shape, stream);
}

}  // namespace warpgauge::kernels::hopper
