// SPDX-License-Identifier: Apache-2.0
// Rung 7: while a tile is multiplied, the next is copied to a second buffer without passing through
// registers (cp.async). Bound by shared memory and by instructions other than multiply-adds.
#include "kernels/gemm/copies.cuh"
#include "kernels/gemm/ladder.hpp"
#include "kernels/gemm/launch.cuh"

namespace warpgauge::kernels {

inline constexpr unsigned tile_buffered = 128;     // edge of a block's square of outputs
inline constexpr unsigned depth_buffered = 8;      // terms of a tile
inline constexpr unsigned threads_buffered = 256;  // a square of 16 x 16, 8 x 8 outputs each
// Four words of padding. The 32 words that a warp copies to the transposed tile at once (four rows
// at eight terms) then lie in 32 banks.
inline constexpr unsigned a_row_buffered = tile_buffered + 4;

/// kWide: the rows of B and C begin at multiples of 16 bytes. A is always copied 4 bytes at a time,
/// because it is transposed on the way.
template <bool kWide>
__global__ __launch_bounds__(threads_buffered, 2) void gemm_double_buffered_kernel(
    const float* __restrict__ a, const float* __restrict__ b, float* __restrict__ c,
    GemmShape shape, unsigned tile_columns) {
  __shared__ __align__(16) float a_tiles[2][depth_buffered][a_row_buffered];  // transposed
  __shared__ __align__(16) float b_tiles[2][depth_buffered][tile_buffered];
  const std::size_t first_row = std::size_t{blockIdx.x / tile_columns} * tile_buffered;
  const std::size_t first_column = std::size_t{blockIdx.x % tile_columns} * tile_buffered;
  const unsigned x = threadIdx.x % 16 * 4;
  const unsigned y = threadIdx.x / 16 * 4;
  const auto left = [](std::size_t first, std::size_t all) {
    return first < all ? all - first : 0;
  };

  // What this thread copies: one term of four rows of A; of B one vector, or four words of every
  // second term. Past the edge it copies the last row or column, whose sums are dropped.
  constexpr unsigned a_rows = threads_buffered / depth_buffered;
  constexpr unsigned a_copies = tile_buffered / a_rows;
  const unsigned a_term = threadIdx.x % depth_buffered;
  const unsigned a_row = threadIdx.x / depth_buffered;
  const float* a_from[a_copies];
#pragma unroll
  for (unsigned i = 0; i < a_copies; ++i) {
    a_from[i] = a + min(first_row + a_row + i * a_rows, shape.m - 1) * shape.k + a_term;
  }
  constexpr unsigned width = kWide ? 4 : 1;
  constexpr unsigned b_terms = threads_buffered * width / tile_buffered;
  const unsigned b_term = threadIdx.x * width / tile_buffered;
  const unsigned b_column = threadIdx.x * width % tile_buffered;
  const float* b_from = b + b_term * shape.n + min(first_column + b_column, shape.n - width);

  // After the last tile it writes zeros that nobody reads: a branch would cost more.
  const auto copy_tile = [&](unsigned buffer, std::size_t first) {
#pragma unroll
    for (unsigned i = 0; i < a_copies; ++i) {
      copy_async<sizeof(float)>(&a_tiles[buffer][a_term][a_row + i * a_rows], a_from[i],
                                first + a_term < shape.k);
      a_from[i] += depth_buffered;
    }
#pragma unroll
    for (unsigned term = 0; term < depth_buffered; term += b_terms) {
      copy_async<width * sizeof(float)>(&b_tiles[buffer][b_term + term][b_column], b_from,
                                        first + b_term + term < shape.k);
      b_from += b_terms * shape.n;
    }
    commit_copies();
  };

  float sums[8][8] = {};
  copy_tile(0, 0);
  unsigned buffer = 0;
  for (std::size_t first = 0; first < shape.k; first += depth_buffered) {
    wait_for_copies<0>();
    __syncthreads();  // the tile is whole, and nobody reads the other buffer any more
    copy_tile(1 - buffer, first + depth_buffered);
#pragma unroll
    for (unsigned term = 0; term < depth_buffered; ++term) {
      float a_values[8];
      float b_values[8];
#pragma unroll
      for (unsigned half = 0; half < 2; ++half) {
        *reinterpret_cast<float4*>(&a_values[half * 4]) =
            *reinterpret_cast<const float4*>(&a_tiles[buffer][term][y + half * 64]);
        *reinterpret_cast<float4*>(&b_values[half * 4]) =
            *reinterpret_cast<const float4*>(&b_tiles[buffer][term][x + half * 64]);
      }
#pragma unroll
      for (unsigned i = 0; i < 8; ++i) {
#pragma unroll
        for (unsigned j = 0; j < 8; ++j) {
          sums[i][j] += a_values[i] * b_values[j];
        }
      }
    }
    buffer = 1 - buffer;
  }
  wait_for_copies<0>();  // no copy may be in flight when the block releases its shared memory
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

void gemm_double_buffered(const float* a, const float* b, float* c, GemmShape shape,
                          cudaStream_t stream) {
  const bool wide = rows_are_vectors(b, shape.n) && rows_are_vectors(c, shape.n);
  launch_gemm({"gemm_double_buffered", tile_buffered, tile_buffered, threads_buffered},
              wide ? gemm_double_buffered_kernel<true> : gemm_double_buffered_kernel<false>, a, b,
              c, shape, stream);
}

}  // namespace warpgauge::kernels
