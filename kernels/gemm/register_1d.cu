// SPDX-License-Identifier: Apache-2.0
// Rung 4: each thread computes eight outputs of one column in registers, so that a word of B serves
// eight multiply-adds. Still bound by shared memory: nine loads from it for eight multiply-adds.
#include "kernels/gemm/ladder.hpp"
#include "kernels/gemm/launch.cuh"

namespace warpgauge::kernels {

inline constexpr unsigned outputs_1d = 8;     // of a thread, one below the other
inline constexpr unsigned tile_1d = 64;       // edge of a block's square of outputs
inline constexpr unsigned tile_depth_1d = 8;  // terms that are in shared memory at once
inline constexpr unsigned threads_1d = tile_1d * tile_1d / outputs_1d;
// Each thread copies one element of each tile.
static_assert(threads_1d == tile_1d * tile_depth_1d);

__global__ __launch_bounds__(threads_1d) void gemm_register_1d_kernel(const float* __restrict__ a,
                                                                      const float* __restrict__ b,
                                                                      float* __restrict__ c,
                                                                      GemmShape shape,
                                                                      unsigned tile_columns) {
  __shared__ float a_tile[tile_1d][tile_depth_1d];
  __shared__ float b_tile[tile_depth_1d][tile_1d];
  const std::size_t first_row = std::size_t{blockIdx.x / tile_columns} * tile_1d;
  const std::size_t first_column = std::size_t{blockIdx.x % tile_columns} * tile_1d;
  // A warp computes 32 neighbouring columns of the same rows: all share one word of a_tile.
  const unsigned x = threadIdx.x % tile_1d;
  const unsigned y = threadIdx.x / tile_1d * outputs_1d;
  const unsigned a_row = threadIdx.x / tile_depth_1d;  // what this thread copies
  const unsigned a_term = threadIdx.x % tile_depth_1d;
  const unsigned b_term = threadIdx.x / tile_1d;
  const bool inside_a = first_row + a_row < shape.m;
  const bool inside_b = first_column + x < shape.n;
  const float* const a_from = a + (first_row + a_row) * shape.k + a_term;
  const float* const b_from = b + b_term * shape.n + first_column + x;

  float sums[outputs_1d] = {};
  for (std::size_t first = 0; first < shape.k; first += tile_depth_1d) {
    // Zeros past the edge add nothing to the sums.
    a_tile[a_row][a_term] = inside_a && first + a_term < shape.k ? a_from[first] : 0.0F;
    b_tile[b_term][x] = inside_b && first + b_term < shape.k ? b_from[first * shape.n] : 0.0F;
    __syncthreads();
#pragma unroll
    for (unsigned term = 0; term < tile_depth_1d; ++term) {
      const float b_value = b_tile[term][x];
#pragma unroll
      for (unsigned i = 0; i < outputs_1d; ++i) {
        sums[i] += a_tile[y + i][term] * b_value;
      }
    }
    __syncthreads();  // the next round overwrites the tiles
  }
#pragma unroll
  for (unsigned i = 0; i < outputs_1d; ++i) {
    if (first_row + y + i < shape.m && inside_b) {
      c[(first_row + y + i) * shape.n + first_column + x] = sums[i];
    }
  }
}

void gemm_register_1d(const float* a, const float* b, float* c, GemmShape shape,
                      cudaStream_t stream) {
  launch_gemm({"gemm_register_1d", tile_1d, tile_1d, threads_1d}, gemm_register_1d_kernel, a, b, c,
              shape, stream);
}

}  // namespace warpgauge::kernels
