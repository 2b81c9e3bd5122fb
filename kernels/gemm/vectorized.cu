// SPDX-License-Identifier: Apache-2.0
// Rung 6: 16 bytes per load and store. For this, a thread's outputs stand in fours, and the tile of
// A is transposed as it is stored. Bound by waiting: nothing is computed while a tile is fetched.
#include "kernels/gemm/copies.cuh"
#include "kernels/gemm/ladder.hpp"
#include "kernels/gemm/launch.cuh"

namespace warpgauge::kernels {

inline constexpr unsigned tile_vectorized = 128;     // edge of a block's square of outputs
inline constexpr unsigned depth_vectorized = 8;      // terms that are in shared memory at once
inline constexpr unsigned threads_vectorized = 256;  // a square of 16 x 16, 8 x 8 outputs each
// Each thread copies four elements of each tile.
static_assert(threads_vectorized * 4 == tile_vectorized * depth_vectorized);
// Four words of padding. The 32 words that a warp stores to the transposed tile at once (16 rows at
// two terms, four terms apart) then lie in 32 banks.
inline constexpr unsigned a_row_vectorized = tile_vectorized + 4;

/// kWide: the rows of all three matrices begin at multiples of 16 bytes.
template <bool kWide>
__global__ __launch_bounds__(threads_vectorized,
                             2) void gemm_vectorized_kernel(const float* __restrict__ a,
                                                            const float* __restrict__ b,
                                                            float* __restrict__ c, GemmShape shape,
                                                            unsigned tile_columns) {
  __shared__ __align__(16) float a_tile[depth_vectorized][a_row_vectorized];  // transposed
  __shared__ __align__(16) float b_tile[depth_vectorized][tile_vectorized];
  const std::size_t first_row = std::size_t{blockIdx.x / tile_columns} * tile_vectorized;
  const std::size_t first_column = std::size_t{blockIdx.x % tile_columns} * tile_vectorized;
  // Rows y to y + 3 and y + 64 to y + 67, columns likewise: neighbours read neighbouring vectors.
  const unsigned x = threadIdx.x % 16 * 4;
  const unsigned y = threadIdx.x / 16 * 4;
  const auto left = [](std::size_t first, std::size_t all) {
    return first < all ? all - first : 0;
  };
  const unsigned a_row = threadIdx.x / 2;  // what this thread copies
  const unsigned a_term = threadIdx.x % 2 * 4;
  const unsigned b_term = threadIdx.x / 32;
  const unsigned b_column = threadIdx.x % 32 * 4;
  const bool inside_a = first_row + a_row < shape.m;
  const std::size_t left_b = left(first_column + b_column, shape.n);
  const float* const a_from = a + (first_row + a_row) * shape.k + a_term;
  const float* const b_from = b + b_term * shape.n + first_column + b_column;

  float sums[8][8] = {};
  for (std::size_t first = 0; first < shape.k; first += depth_vectorized) {
    const std::size_t left_a = inside_a ? left(first + a_term, shape.k) : 0;
    const float4 a_loaded = load_four<kWide>(a_from + first, left_a);
    a_tile[a_term + 0][a_row] = a_loaded.x;
    a_tile[a_term + 1][a_row] = a_loaded.y;
    a_tile[a_term + 2][a_row] = a_loaded.z;
    a_tile[a_term + 3][a_row] = a_loaded.w;
    *reinterpret_cast<float4*>(&b_tile[b_term][b_column]) =
        load_four<kWide>(b_from + first * shape.n, first + b_term < shape.k ? left_b : 0);
    __syncthreads();
#pragma unroll
    for (unsigned term = 0; term < depth_vectorized; ++term) {
      float a_values[8];
      float b_values[8];
#pragma unroll
      for (unsigned half = 0; half < 2; ++half) {
        *reinterpret_cast<float4*>(&a_values[half * 4]) =
            *reinterpret_cast<const float4*>(&a_tile[term][y + half * 64]);
        *reinterpret_cast<float4*>(&b_values[half * 4]) =
            *reinterpret_cast<const float4*>(&b_tile[term][x + half * 64]);
      }
#pragma unroll
      for (unsigned i = 0; i < 8; ++i) {
#pragma unroll
        for (unsigned j = 0; j < 8; ++j) {
          sums[i][j] += a_values[i] * b_values[j];
        }
      }
    }
    __syncthreads();  // the next round overwrites the tiles
  }
#pragma unroll
  for (unsigned i = 0; i < 8; ++i) {
    const std::size_t row = first_row + i / 4 * 64 + y + i % 4;
    if (row < shape.m) {
#pragma unroll
      for (unsigned half = 0; half < 2; ++half) {
        const std::size_t column = first_column + half * 64 + x;
        const float* const four = &sums[i][half * 4];
        store_four<kWide>(c + row * shape.n + column, left(column, shape.n),
                          {four[0], four[1], four[2], four[3]});
      }
    }
  }
}

void gemm_vectorized(const float* a, const float* b, float* c, GemmShape shape,
                     cudaStream_t stream) {
  const bool wide =
      rows_are_vectors(a, shape.k) && rows_are_vectors(b, shape.n) && rows_are_vectors(c, shape.n);
  launch_gemm({"gemm_vectorized", tile_vectorized, tile_vectorized, threads_vectorized},
              wide ? gemm_vectorized_kernel<true> : gemm_vectorized_kernel<false>, a, b, c, shape,
              stream);
}

}  // namespace warpgauge::kernels
