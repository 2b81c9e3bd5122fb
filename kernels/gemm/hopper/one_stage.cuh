// SPDX-License-Identifier: Apache-2.0
// The kernel of the first two rungs: one warpgroup, one stage.
#pragma once

#include "kernels/gemm/hopper/stores.cuh"

namespace warpgauge::kernels::hopper {

/// Loads a stage, waits, multiplies, waits. Other blocks on the multiprocessor fill the pauses.
template <class T, class Tile>
__global__ __launch_bounds__(warpgroup_threads) void gemm_wgmma_kernel(
    const __grid_constant__ WgmmaArguments arguments) {
  const unsigned stage = tile_memory();
  const unsigned full = stage + Tile::stage_bytes;
  const unsigned row = blockIdx.x % arguments.tile_rows * Tile::m;
  const unsigned column = blockIdx.x / arguments.tile_rows * Tile::n;
  if (threadIdx.x == 0) {
    init_barrier(full, 1);
    fence_barriers();
  }
  __syncthreads();
  float sums[Tile::blocks][Tile::sums] = {};
  unsigned parity = 0;
  for (unsigned k = 0; k < arguments.k; k += stage_k) {
    if (threadIdx.x == 0) {
      load_stage<Tile>(arguments, stage, full, row, column, k);
    }
    wait(full, parity);
    pin_sums(sums);
    multiply_stage(T{}, sums, stage, stage + Tile::a_bytes, k > 0);
    wait_for_products<0>();
    pin_sums(sums);
    // After the barrier every warp's wgmmas have read the stage, so thread 0 may overwrite it.
    __syncthreads();
    parity ^= 1;
  }
#pragma unroll
  for (unsigned block = 0; block < Tile::blocks; ++block) {
    DirectStore::store<T>(sums[block], arguments, row + block * wgmma_m, column, 0, 0);
  }
}

template <class T, class Tile>
void launch_one_stage(const char* launcher, const T* a, const T* b, T* c, GemmShape shape,
                      cudaStream_t stream) {
  launch_wgmma({.launcher = launcher,
                .tile_rows = Tile::m,
                .tile_columns = Tile::n,
                .threads = warpgroup_threads,
                .shared_bytes = Tile::ring_bytes},
               gemm_wgmma_kernel<T, Tile>, a, b, c, shape, stream);
}

}  // namespace warpgauge::kernels::hopper
