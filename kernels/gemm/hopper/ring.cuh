// SPDX-License-Identifier: Apache-2.0
// The kernel of the rungs with a producer, consumers, and one block per tile.
#pragma once

#include "kernels/gemm/hopper/stores.cuh"

namespace warpgauge::kernels::hopper {

/// Blocks per multiprocessor, and registers per thread of each role.
template <unsigned Blocks, unsigned Producer, unsigned Consumer>
struct Roles {
  static constexpr unsigned blocks_per_sm = Blocks, producer = Producer, consumer = Consumer;
};

template <class T, class Tile, class Roles>
__global__ __launch_bounds__(
    Tile::consumer_threads + warpgroup_threads,
    Roles::blocks_per_sm) void gemm_wgmma_ring_kernel(const __grid_constant__ WgmmaArguments
                                                          arguments) {
  Ring<Tile> ring{tile_memory()};
  const unsigned row = blockIdx.x % arguments.tile_rows * Tile::m;
  const unsigned column = blockIdx.x / arguments.tile_rows * Tile::n;
  ring.init();
  const unsigned warpgroup = threadIdx.x / warpgroup_threads;
  if (warpgroup == Tile::consumers) {
    release_registers<Roles::producer>();
    if (warp_index() == Tile::consumer_threads / 32) {
      produce_tile(arguments, ring, row, column);
    }
  } else {
    claim_registers<Roles::consumer>();
    float sums[Tile::blocks][Tile::sums] = {};
    const unsigned own_row = warpgroup * Tile::consumer_m;
    consume_tile<T>(sums, ring, own_row * box_row_bytes, stages_of(arguments.k));
#pragma unroll
    for (unsigned block = 0; block < Tile::blocks; ++block) {
      DirectStore::store<T>(sums[block], arguments, row + own_row + block * wgmma_m, column, 0, 0);
    }
  }
}

template <class T, class Tile, class Roles>
void launch_ring(const char* launcher, const T* a, const T* b, T* c, GemmShape shape,
                 cudaStream_t stream) {
  static_assert(Tile::ring_bytes <= most_shared_bytes);
  launch_wgmma({.launcher = launcher,
                .tile_rows = Tile::m,
                .tile_columns = Tile::n,
                .threads = Tile::consumer_threads + warpgroup_threads,
                .shared_bytes = Tile::ring_bytes},
               gemm_wgmma_ring_kernel<T, Tile, Roles>, a, b, c, shape, stream);
}

}  // namespace warpgauge::kernels::hopper
