// SPDX-License-Identifier: Apache-2.0
// The kernel in which the blocks of a cluster split the terms of a tile.
#pragma once

#include "kernels/gemm/hopper/stores.cuh"

namespace warpgauge::kernels::hopper {

/// Registers per thread of the producer and of two consumers.
inline constexpr unsigned split_k_producer_registers = 40;
inline constexpr unsigned split_k_consumer_registers = 232;

/// Each block has a producer and consumers, as in gemm_wgmma_ring_kernel, for an equal share of one
/// tile's stages, which differ by at most one. The launch sees to it that no share is empty.
///
/// Hand-over of sums: once a block's products are complete, nothing accesses its ring any more, and
/// its consumers write the sums there. After a cluster barrier (release and acquire) the consumers
/// of each block add up its share of the rows, always in rank order. A second cluster barrier keeps
/// each block's shared memory alive until all blocks have read it.
template <class T, class Tile>
__global__ __launch_bounds__(
    Tile::consumer_threads + warpgroup_threads,
    1) void gemm_wgmma_split_k_kernel(const __grid_constant__ WgmmaArguments arguments) {
  static_assert(Tile::consumers <= 2 && Tile::blocks == 1);
  // Eight floats of padding: the four rows that half a warp writes lie in different banks.
  constexpr unsigned row_floats = Tile::n + 8;
  static_assert(Tile::m * row_floats * sizeof(float) <= Tile::stages * Tile::stage_bytes);
  const unsigned memory = tile_memory();
  Ring<Tile> ring{memory};
  const unsigned split = cluster_size();
  const unsigned rank = cluster_rank();
  const unsigned tile = blockIdx.x / split;
  const unsigned row = tile % arguments.tile_rows * Tile::m;
  const unsigned column = tile / arguments.tile_rows * Tile::n;
  const unsigned all = stages_of(arguments.k);
  const unsigned longer = all % split;  // blocks with one stage more
  const unsigned first = rank * (all / split) + min(rank, longer);
  const unsigned stages = all / split + (rank < longer ? 1 : 0);
  ring.init();
  const unsigned lane = threadIdx.x % 32;
  const unsigned warpgroup = threadIdx.x / warpgroup_threads;
  if (warpgroup == Tile::consumers) {
    if constexpr (Tile::consumers == 2) {
      release_registers<split_k_producer_registers>();
    }
    if (threadIdx.x == Tile::consumer_threads) {
      for (unsigned i = first; i < first + stages; ++i) {
        ring.wait_until_empty();
        load_stage<Tile>(arguments, ring.a(), ring.full(), row, column, i * stage_k);
        ring.advance();
      }
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
  const unsigned own = memory + ((threadIdx.x / 32 * 16 + lane / 4) * row_floats + lane % 4 * 2) *
                                    static_cast<unsigned>(sizeof(float));
#pragma unroll
  for (unsigned j = 0; j < Tile::sums / 4; ++j) {
#pragma unroll
    for (unsigned half = 0; half < 2; ++half) {
      const unsigned to = own + (half * 8 * row_floats + j * 8) * 4;
      store_two(to, sums[0][j * 4 + half * 2], sums[0][j * 4 + half * 2 + 1]);
    }
  }
  exchange_in_cluster();
  // Neighbouring threads handle neighbouring pairs of columns; a block handles every split-th row.
  constexpr unsigned pairs = Tile::n / 2;
  const unsigned rows = min(Tile::m, arguments.m - row);
  for (unsigned i = threadIdx.x; i < (rows + split - 1) / split * pairs;
       i += Tile::consumer_threads) {
    const unsigned in_row = i / pairs * split + rank;
    const unsigned in_column = i % pairs * 2;
    if (in_row >= rows || column + in_column >= arguments.n) {
      continue;
    }
    const unsigned from = memory + (in_row * row_floats + in_column) * 4;
    float low = 0;
    float high = 0;
    for (unsigned other = 0; other < split; ++other) {
      const float2 part = load_from_cluster(from, other);
      low += part.x;
      high += part.y;
    }
    *reinterpret_cast<unsigned*>(static_cast<T*>(arguments.c) +
                                 (std::size_t{row + in_row} * arguments.n + column + in_column)) =
        round_two<T>(low, high);
  }
  exchange_in_cluster();
}

template <class T, class Tile>
void launch_split_k(const char* launcher, const T* a, const T* b, T* c, GemmShape shape,
                    cudaStream_t stream) {
  launch_wgmma({.launcher = launcher,
                .tile_rows = Tile::m,
                .tile_columns = Tile::n,
                .threads = Tile::consumer_threads + warpgroup_threads,
                .shared_bytes = Tile::ring_bytes,
                .splits_terms = true},
               gemm_wgmma_split_k_kernel<T, Tile>, a, b, c, shape, stream);
}

}  // namespace warpgauge::kernels::hopper
