// SPDX-License-Identifier: Apache-2.0
// The kernel of the persistent rungs: each block makes one tile of C after the other.
#pragma once

#include "kernels/gemm/hopper/edges.cuh"
#include "kernels/gemm/hopper/stores.cuh"

namespace warpgauge::kernels::hopper {

/// Position of a cluster's tiles, in units of a cluster's extent in C.
struct TilePlace {
  unsigned row, column;
};

/// Goes down one column of tiles after the other.
struct ColumnOrder {
  /// Whether a block's every other tile adds its terms from the last to the first.
  static constexpr bool turns_back = false;

  static __device__ TilePlace place(unsigned index, unsigned rows, unsigned) {
    return {index % rows, index / rows};
  }
};

/// Registers per thread of the producer and of two consumers. Launched with 168 per thread. One
/// consumer needs no more than a launch with 256 threads gives it.
inline constexpr unsigned producer_registers = 24;
inline constexpr unsigned consumer_registers = 240;

/// The producer runs ahead into the next tile while the consumers store this one. The tiles of a
/// cluster's blocks lie one below the other, and the blocks work on the same columns together.
///
/// The kernels before this one may still run until wait_for_kernels_before(). All threads call it,
/// so no load or store of global memory comes before their end.
template <class In, class Out, class Tile, class Store, class Order, unsigned Cluster,
          Edges AtEdges = Edges::plain>
__global__ __launch_bounds__(
    Tile::consumer_threads + warpgroup_threads,
    1) void gemm_wgmma_persistent_kernel(const __grid_constant__ WgmmaArguments arguments) {
  static_assert(Tile::consumers <= 2, "the registers above are for two");
  const unsigned memory = tile_memory();
  Ring<Tile, Cluster> ring{memory + Tile::consumers * Store::bytes};
  const unsigned rank = Cluster == 1 ? 0 : cluster_rank();
  const unsigned rows = arguments.tile_rows / Cluster;
  const unsigned tiles = rows * arguments.tile_columns;
  const unsigned step = gridDim.x / Cluster;
  if (threadIdx.x == Tile::consumer_threads) {
    prefetch_maps(arguments);
  }
  // Before the barrier, because place() divides: after it, the first load would wait for that.
  unsigned index = blockIdx.x / Cluster;
  TilePlace place = Order::place(index, rows, arguments.tile_columns);
  asm volatile("" : "+r"(place.row), "+r"(place.column));
  unsigned loaded = 0;  // stages
  if constexpr (AtEdges == Edges::plain) {
    ring.init();
  } else {
    if (warp_index() == Tile::consumer_threads / 32) {
      loaded = load_early(arguments, ring, (place.row * Cluster + rank) * Tile::m,
                          place.column * Tile::n);
    }
    ring.synchronize();
  }
  wait_for_kernels_before();
  const auto advance = [&] {
    index += step;
    if (index < tiles) {
      place = Order::place(index, rows, arguments.tile_columns);
    }
  };
  const unsigned warpgroup = warpgroup_index();
  if (warpgroup == Tile::consumers) {
    if constexpr (Tile::consumers == 2) {
      release_registers<producer_registers>();
    }
    if (warp_index() == Tile::consumer_threads / 32) {
      for (bool backwards = false; index < tiles; advance()) {
        const unsigned row = (place.row * Cluster + rank) * Tile::m;
        const unsigned column = place.column * Tile::n;
        if (AtEdges != Edges::plain && loaded > 0) {
          produce(arguments, ring, row, column, rank, loaded * Tile::terms,
                  stages_of(arguments.k, Tile::terms) - loaded);
          loaded = 0;
        } else {
          produce_tile(arguments, ring, row, column, rank, backwards);
        }
        backwards = Order::turns_back && !backwards;
      }
      if constexpr (Cluster > 1) {
        ring.drain();  // consumers have already waited for the others' writes to this block
      }
    }
  } else {
    if constexpr (Tile::consumers == 2) {
      claim_registers<consumer_registers>();
    }
    const unsigned own_row = warpgroup * Tile::consumer_m;
    const unsigned stages = stages_of(arguments.k, Tile::terms);
    float sums[Tile::blocks][Tile::sums] = {};
    for (; index < tiles; advance()) {
      if constexpr (AtEdges == Edges::staggered_end) {
        consume_staggered<In>(sums, ring, own_row * box_row_bytes, stages, warpgroup,
                              index + step >= tiles);
      } else {
        consume_tile<In>(sums, ring, own_row * box_row_bytes, stages);
      }
#pragma unroll
      for (unsigned block = 0; block < Tile::blocks; ++block) {
        Store::template store<Out>(
            sums[block], arguments,
            (place.row * Cluster + rank) * Tile::m + own_row + block * wgmma_m,
            place.column * Tile::n, memory + warpgroup * Store::bytes, 1 + warpgroup);
      }
    }
    Store::finish();
  }
}

/// Product is In, or KMajor<In> if B is [n,k].
template <class Product, class Tile, class Store, class Order, unsigned Cluster = 1,
          Edges AtEdges = Edges::plain, class In, class Out>
void launch_persistent(const char* launcher, const In* a, const In* b, Out* c, GemmShape shape,
                       cudaStream_t stream, Start start = Start::in_order) {
  constexpr unsigned bytes = Tile::ring_bytes + Tile::consumers * Store::bytes;
  static_assert(bytes <= most_shared_bytes);
  launch_wgmma({.launcher = launcher,
                .tile_rows = Tile::m,
                .tile_columns = Tile::n,
                .threads = Tile::consumer_threads + warpgroup_threads,
                .shared_bytes = bytes,
                .persistent = true,
                .start = start,
                .cluster = Cluster,
                .b_is_k_major = Tile::b_is_k_major,
                .b_box_rows = Tile::template b_box_rows<Cluster>,
                .input_bytes = sizeof(In),
                .output_bytes = sizeof(Out)},
               gemm_wgmma_persistent_kernel<Product, Out, Tile, Store, Order, Cluster, AtEdges>, a,
               b, c, shape, stream);
}

}  // namespace warpgauge::kernels::hopper
