// SPDX-License-Identifier: Apache-2.0
// Rung 5: each thread computes a square of 8 x 8 outputs in registers, so that 16 words from shared
// memory serve 64 multiply-adds. Still bound by shared memory, whose loads take as long as the
// multiply-adds, and by waiting for tiles.
#include "kernels/gemm/ladder.hpp"
#include "kernels/gemm/launch.cuh"

namespace warpgauge::kernels {

inline constexpr unsigned outputs_2d = 8;  // edge of a thread's square of outputs
inline constexpr unsigned edge_2d = 16;    // edge of a block's square of threads
inline constexpr unsigned tile_2d = edge_2d * outputs_2d;
inline constexpr unsigned tile_depth_2d = 8;  // terms that are in shared memory at once
inline constexpr unsigned threads_2d = edge_2d * edge_2d;
// Four words of padding. The 32 words that a warp stores to the transposed tile at once (four rows
// at eight terms) then lie in 32 banks.
inline constexpr unsigned a_row_2d = tile_2d + 4;
inline constexpr unsigned copies_2d = tile_2d * tile_depth_2d / threads_2d;  // per thread and tile

__global__ __launch_bounds__(threads_2d,
                             2) void gemm_register_2d_kernel(const float* __restrict__ a,
                                                             const float* __restrict__ b,
                                                             float* __restrict__ c, GemmShape shape,
                                                             unsigned tile_columns) {
  __shared__ float a_tile[tile_depth_2d][a_row_2d];  // transposed
  __shared__ float b_tile[tile_depth_2d][tile_2d];
  const std::size_t first_row = std::size_t{blockIdx.x / tile_columns} * tile_2d;
  const std::size_t first_column = std::size_t{blockIdx.x % tile_columns} * tile_2d;
  // A thread's outputs are edge_2d apart, so that neighbours read neighbouring words, and no two
  // threads of a warp use the same bank.
  const unsigned x = threadIdx.x % edge_2d;
  const unsigned y = threadIdx.x / edge_2d;

  // What this thread copies: past the edge the last row or column, whose sums are dropped.
  constexpr unsigned a_rows = threads_2d / tile_depth_2d;
  constexpr unsigned b_terms = threads_2d / tile_2d;
  const unsigned a_row = threadIdx.x / tile_depth_2d;
  const unsigned a_term = threadIdx.x % tile_depth_2d;
  const unsigned b_term = threadIdx.x / tile_2d;
  const unsigned b_column = threadIdx.x % tile_2d;
  const float* a_from[copies_2d];
#pragma unroll
  for (unsigned i = 0; i < copies_2d; ++i) {
    a_from[i] = a + min(first_row + a_row + i * a_rows, shape.m - 1) * shape.k;
  }
  const float* const b_from = b + min(first_column + b_column, shape.n - 1);

  float sums[outputs_2d][outputs_2d] = {};
  for (std::size_t first = 0; first < shape.k; first += tile_depth_2d) {
    // All loads come before the first store and so wait together. Past the end of k they load the
    // last term, so that none needs a branch, and store zeros, which add nothing.
    float a_next[copies_2d];
    float b_next[copies_2d];
    const std::size_t last = shape.k - 1 - first;
#pragma unroll
    for (unsigned i = 0; i < copies_2d; ++i) {
      a_next[i] = a_from[i][first + min(std::size_t{a_term}, last)];
      b_next[i] = b_from[(first + min(std::size_t{b_term + i * b_terms}, last)) * shape.n];
    }
#pragma unroll
    for (unsigned i = 0; i < copies_2d; ++i) {
      a_tile[a_term][a_row + i * a_rows] = a_term <= last ? a_next[i] : 0.0F;
      b_tile[b_term + i * b_terms][b_column] = b_term + i * b_terms <= last ? b_next[i] : 0.0F;
    }
    __syncthreads();
#pragma unroll
    for (unsigned term = 0; term < tile_depth_2d; ++term) {
      float a_values[outputs_2d];
      float b_values[outputs_2d];
#pragma unroll
      for (unsigned i = 0; i < outputs_2d; ++i) {
        a_values[i] = a_tile[term][y + i * edge_2d];
        b_values[i] = b_tile[term][x + i * edge_2d];
      }
#pragma unroll
      for (unsigned i = 0; i < outputs_2d; ++i) {
#pragma unroll
        for (unsigned j = 0; j < outputs_2d; ++j) {
          sums[i][j] += a_values[i] * b_values[j];
        }
      }
    }
    __syncthreads();  // the next round overwrites the tiles
  }
#pragma unroll
  for (unsigned i = 0; i < outputs_2d; ++i) {
#pragma unroll
    for (unsigned j = 0; j < outputs_2d; ++j) {
      const std::size_t row = first_row + y + i * edge_2d;
      const std::size_t column = first_column + x + j * edge_2d;
      if (row < shape.m && column < shape.n) {
        c[row * shape.n + column] = sums[i][j];
      }
    }
  }
}

void gemm_register_2d(const float* a, const float* b, float* c, GemmShape shape,
                      cudaStream_t stream) {
  launch_gemm({"gemm_register_2d", tile_2d, tile_2d, threads_2d}, gemm_register_2d_kernel, a, b, c,
              shape, stream);
}

}  // namespace warpgauge::kernels
