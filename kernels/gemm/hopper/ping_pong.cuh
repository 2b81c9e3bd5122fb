// SPDX-License-Identifier: Apache-2.0
// The persistent kernel in which two consumers take turns, each with its own tile.
#pragma once

#include "kernels/gemm/hopper/l2_order.cuh"

namespace warpgauge::kernels::hopper {

inline constexpr unsigned ping_pong_consumers = 2;

/// The tiles of a block alternate between its consumers; the ring's stages follow that order.
///
/// Turns: a consumer multiplies a whole tile before the other one begins. Otherwise both would
/// share the tensor cores, take twice as long and store at the same time. Each warp of one consumer
/// arrives at the `turn` barrier of the other once it has issued all products of its tile. For its
/// first turn, the first consumer waits for the phase before the first, which counts as complete.
template <class T, class Tile, class Store, class Order, unsigned Cluster>
__global__ __launch_bounds__(
    (ping_pong_consumers + 1) * warpgroup_threads,
    1) void gemm_wgmma_ping_pong_kernel(const __grid_constant__ WgmmaArguments arguments) {
  static_assert(Tile::consumers == 1, "one reads a stage");
  const unsigned memory = tile_memory();
  const unsigned ring_memory = memory + ping_pong_consumers * Store::bytes;
  const unsigned turns = ring_memory + Tile::ring_bytes;
  Ring<Tile, Cluster> ring{ring_memory};
  const unsigned rank = Cluster == 1 ? 0 : cluster_rank();
  const unsigned rows = arguments.tile_rows / Cluster;
  const unsigned tiles = rows * arguments.tile_columns;
  const unsigned first = blockIdx.x / Cluster;
  const unsigned step = gridDim.x / Cluster;
  if (threadIdx.x == 0) {
    init_barrier(turns, warpgroup_threads / 32);
    init_barrier(turns + barrier_bytes, warpgroup_threads / 32);
  }
  if (threadIdx.x == ping_pong_consumers * warpgroup_threads) {
    prefetch_maps(arguments);
  }
  ring.init();
  const unsigned warpgroup = threadIdx.x / warpgroup_threads;
  if (warpgroup == ping_pong_consumers) {
    release_registers<producer_registers>();
    if (warp_index() == ping_pong_consumers * warpgroup_threads / 32) {
      for (unsigned index = first; index < tiles; index += step) {
        const TilePlace place = Order::place(index, rows, arguments.tile_columns);
        produce_tile(arguments, ring, (place.row * Cluster + rank) * Tile::m,
                     place.column * Tile::n, rank);
      }
      if constexpr (Cluster > 1) {
        ring.drain();
      }
    }
  } else {
    claim_registers<consumer_registers>();
    const unsigned stages = stages_of(arguments.k);
    const unsigned own_turn = turns + warpgroup * barrier_bytes;
    const unsigned other_turn = turns + (warpgroup ^ 1) * barrier_bytes;
    float sums[Tile::blocks][Tile::sums] = {};
    unsigned turn_parity = warpgroup ^ 1;
    if (warpgroup == 1) {
      ring.skip(stages);
    }
    for (unsigned index = first + warpgroup * step; index < tiles;
         index += ping_pong_consumers * step) {
      const TilePlace place = Order::place(index, rows, arguments.tile_columns);
      wait(own_turn, turn_parity);
      turn_parity ^= 1;
      consume_tile<T>(sums, ring, 0, stages, [&] {
        if (threadIdx.x % 32 == 0) {
          arrive(other_turn);
        }
      });
      ring.skip(stages);
#pragma unroll
      for (unsigned block = 0; block < Tile::blocks; ++block) {
        Store::template store<T>(
            sums[block], arguments, (place.row * Cluster + rank) * Tile::m + block * wgmma_m,
            place.column * Tile::n, memory + warpgroup * Store::bytes, 1 + warpgroup);
      }
    }
    Store::finish();
  }
}

template <class T, class Tile, class Store, class Order, unsigned Cluster>
void launch_ping_pong(const char* launcher, const T* a, const T* b, T* c, GemmShape shape,
                      cudaStream_t stream) {
  constexpr unsigned bytes =
      ping_pong_consumers * (Store::bytes + barrier_bytes) + Tile::ring_bytes;
  static_assert(bytes <= most_shared_bytes);
  launch_wgmma({.launcher = launcher,
                .tile_rows = Tile::m,
                .tile_columns = Tile::n,
                .threads = (ping_pong_consumers + 1) * warpgroup_threads,
                .shared_bytes = bytes,
                .persistent = true,
                .cluster = Cluster,
                .b_box_rows = Tile::template b_box_rows<Cluster>},
               gemm_wgmma_ping_pong_kernel<T, Tile, Store, Order, Cluster>, a, b, c, shape, stream);
}

}  // namespace warpgauge::kernels::hopper
