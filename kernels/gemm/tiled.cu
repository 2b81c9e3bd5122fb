// SPDX-License-Identifier: Apache-2.0
// Rung 3: a block loads a tile of A and of B once and uses each value 32 times. Bound by shared
// memory: two loads from it for each fused multiply-add.
#include "kernels/gemm/gemm.hpp"
#include "kernels/gemm/launch.cuh"

namespace warpgauge::kernels {

__global__ __launch_bounds__(gemm_tile_threads) void gemm_tiled_kernel(const float* __restrict__ a,
                                                                       const float* __restrict__ b,
                                                                       float* __restrict__ c,
                                                                       GemmShape shape,
                                                                       unsigned tile_columns) {
  // No padding: a warp reads one word of a_tile (broadcast) and 32 neighbours of b_tile.
  __shared__ float a_tile[gemm_tile][gemm_tile];
  __shared__ float b_tile[gemm_tile][gemm_tile];
  const unsigned x = threadIdx.x;
  const unsigned y = threadIdx.y;
  const std::size_t row = std::size_t{blockIdx.x / tile_columns} * gemm_tile + y;
  const std::size_t column = std::size_t{blockIdx.x % tile_columns} * gemm_tile + x;
  const bool inside_rows = row < shape.m;
  const bool inside_columns = column < shape.n;

  float sum = 0;
  for (std::size_t first = 0; first < shape.k; first += gemm_tile) {
    // Zeros past the edge add nothing to the sums. No thread may leave: all meet at the barriers.
    a_tile[y][x] = inside_rows && first + x < shape.k ? a[row * shape.k + first + x] : 0.0F;
    b_tile[y][x] = inside_columns && first + y < shape.k ? b[(first + y) * shape.n + column] : 0.0F;
    __syncthreads();
#pragma unroll
    for (unsigned i = 0; i < gemm_tile; ++i) {
      sum += a_tile[y][i] * b_tile[i][x];
    }
    __syncthreads();  // the next round overwrites the tiles
  }
  if (inside_rows && inside_columns) {
    c[row * shape.n + column] = sum;
  }
}

void gemm_tiled(const float* a, const float* b, float* c, GemmShape shape, cudaStream_t stream) {
  launch_gemm({"gemm_tiled", gemm_tile, gemm_tile, dim3(gemm_tile, gemm_tile)}, gemm_tiled_kernel,
              a, b, c, shape, stream);
}

}  // namespace warpgauge::kernels
