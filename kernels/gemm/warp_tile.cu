// SPDX-License-Identifier: Apache-2.0
// Rung 8: a warp computes a 64 x 64 square of outputs, a thread 16 x 8, so that 24 words from
// shared memory serve 128 multiply-adds. Words are read one term ahead, tiles copied two ahead.
// Bound by the issue rate of multiply-adds.
#include "kernels/gemm/copies.cuh"
#include "kernels/gemm/ladder.hpp"
#include "kernels/gemm/launch.cuh"

namespace warpgauge::kernels {

/// The sizes of gemm_warp_tile_kernel.
struct WarpTile {
  static constexpr unsigned rows = 128, columns = 128;  // outputs of a block
  // Terms of a tile. Sixteen halve the number of barriers, but make a loop of 36 KB of
  // instructions; they were 2 to 8 % slower on an H200.
  static constexpr unsigned depth = 8;
  static constexpr unsigned stages = 3;      // tiles in shared memory
  static constexpr unsigned warp_edge = 64;  // of a warp's square of outputs
  static constexpr unsigned warp_columns = columns / warp_edge;
  static constexpr unsigned threads = rows / warp_edge * warp_columns * 32;
  // A warp is 4 x 8 threads. A thread's outputs are squares of 4 x 4, with those of the other
  // threads in between: neighbours read neighbouring vectors.
  static constexpr unsigned lane_rows = 4, lane_columns = 8;
  static constexpr unsigned thread_rows = warp_edge / lane_rows;
  static constexpr unsigned thread_columns = warp_edge / lane_columns;
  // A is transposed on its way into shared memory: four threads copy 16 bytes of a row, one word
  // each. With the padding, the 32 words that a warp copies (eight rows at four terms) lie in 32
  // banks.
  static constexpr unsigned a_terms = 4;
  static constexpr unsigned a_row = rows + 32 / a_terms;
  static constexpr unsigned a_words = depth * a_row, b_words = depth * columns;  // a stage
  // The terms of a tile at which copies begin: not all at one term, and not where the next tile
  // begins, because reads of shared memory wait behind them. The fastest of 14 pairs, which differ
  // by up to 5 % on an H200.
  static constexpr unsigned copy_a_at = 1, copy_b_at = 5;
  // Blocks run in groups of this many rows of tiles, column by column, so that concurrent blocks
  // read the same rows of A and columns of B from the L2.
  static constexpr unsigned group_rows = 8;
};

/// kWide: the rows of B begin at multiples of 16 bytes.
template <bool kWide>
__global__ __launch_bounds__(WarpTile::threads, 2) void gemm_warp_tile_kernel(
    const float* __restrict__ a, const float* __restrict__ b, float* __restrict__ c,
    GemmShape shape, unsigned tile_rows, unsigned tile_columns) {
  using T = WarpTile;
  __shared__ __align__(16) float a_stages[T::stages * T::a_words];
  __shared__ __align__(16) float b_stages[T::stages * T::b_words];

  const std::size_t group_tiles = std::size_t{T::group_rows} * tile_columns;
  const auto group = static_cast<unsigned>(blockIdx.x / group_tiles);
  const auto in_group = static_cast<unsigned>(blockIdx.x % group_tiles);
  const unsigned rows_in_group = min(T::group_rows, tile_rows - group * T::group_rows);
  const std::size_t first_row =
      std::size_t{group * T::group_rows + in_group % rows_in_group} * T::rows;
  const std::size_t first_column = std::size_t{in_group / rows_in_group} * T::columns;

  // What this thread copies: past the edge the last row or column, whose sums are dropped.
  constexpr unsigned a_rows_at_once = T::threads / T::a_terms;
  constexpr unsigned a_copies = T::rows / a_rows_at_once;
  const unsigned a_term = threadIdx.x % T::a_terms;
  const unsigned a_row = threadIdx.x / T::a_terms;
  const float* a_from[a_copies];
#pragma unroll
  for (unsigned copy = 0; copy < a_copies; ++copy) {
    const std::size_t row = min(first_row + a_row + copy * a_rows_at_once, shape.m - 1);
    a_from[copy] = a + row * shape.k + a_term;
  }
  float* const a_to = a_stages + a_term * T::a_row + a_row;
  constexpr unsigned width = kWide ? 4 : 1;
  constexpr unsigned b_terms_at_once = T::threads * width / T::columns;
  const unsigned b_term = threadIdx.x * width / T::columns;
  const unsigned b_column = threadIdx.x * width % T::columns;
  const float* b_from = b + b_term * shape.n + min(first_column + b_column, shape.n - width);
  float* const b_to = b_stages + threadIdx.x * width;

  // The first tile takes the remainder of k, so that no other tile has to check which terms exist.
  // Zeros add nothing to the sums.
  const auto copy_first_tile = [&](unsigned terms) {
#pragma unroll
    for (unsigned copy = 0; copy < a_copies; ++copy) {
#pragma unroll
      for (unsigned term = 0; term < T::depth; term += T::a_terms) {
        copy_async<sizeof(float)>(a_to + term * T::a_row + copy * a_rows_at_once,
                                  a_from[copy] + term, a_term + term < terms);
      }
      a_from[copy] += terms;
    }
#pragma unroll
    for (unsigned term = 0; term < T::depth; term += b_terms_at_once) {
      copy_async<width * sizeof(float)>(b_to + term * T::columns, b_from + term * shape.n,
                                        b_term + term < terms);
    }
    b_from += terms * shape.n;
  };
  const auto copy_a = [&](unsigned stage, bool wanted) {
#pragma unroll
    for (unsigned copy = 0; copy < a_copies; ++copy) {
#pragma unroll
      for (unsigned term = 0; term < T::depth; term += T::a_terms) {
        copy_async_if<sizeof(float)>(
            wanted, a_to + stage * T::a_words + term * T::a_row + copy * a_rows_at_once,
            a_from[copy] + term);
      }
      a_from[copy] += T::depth;
    }
  };
  const auto copy_b = [&](unsigned stage, bool wanted) {
#pragma unroll
    for (unsigned term = 0; term < T::depth; term += b_terms_at_once) {
      copy_async_if<width * sizeof(float)>(wanted, b_to + stage * T::b_words + term * T::columns,
                                           b_from);
      b_from += b_terms_at_once * shape.n;
    }
  };

  const std::size_t tiles = (shape.k - 1) / T::depth + 1;
  copy_first_tile(static_cast<unsigned>(shape.k - (tiles - 1) * T::depth));
  commit_copies();
#pragma unroll
  for (unsigned tile = 1; tile < T::stages - 1; ++tile) {
    copy_a(tile, tile < tiles);
    copy_b(tile, tile < tiles);
    commit_copies();
  }
  unsigned write = T::stages - 1;  // the stage of the tile to be copied
  unsigned read = 0;               // the stage that is multiplied

  // Two neighbouring threads are in neighbouring rows, the next two in the next column. The 16-byte
  // reads of half a warp then go together, because its threads share them in pairs.
  const unsigned lane = threadIdx.x % 32;
  const unsigned warp = threadIdx.x / 32;
  const unsigned row =
      warp / T::warp_columns * T::warp_edge + (lane / (2 * T::lane_columns) * 2 + lane % 2) * 4;
  const unsigned column = warp % T::warp_columns * T::warp_edge + lane / 2 % T::lane_columns * 4;

  float sums[T::thread_rows][T::thread_columns] = {};
  float a_values[2][T::thread_rows];
  float b_values[2][T::thread_columns];
  const auto read_term = [&](unsigned into, unsigned term) {
    const float* const a_words = a_stages + read * T::a_words + term * T::a_row + row;
    const float* const b_words = b_stages + read * T::b_words + term * T::columns + column;
#pragma unroll
    for (unsigned i = 0; i < T::thread_rows; i += 4) {
      *reinterpret_cast<float4*>(&a_values[into][i]) =
          *reinterpret_cast<const float4*>(a_words + i * T::lane_rows);
    }
#pragma unroll
    for (unsigned j = 0; j < T::thread_columns; j += 4) {
      *reinterpret_cast<float4*>(&b_values[into][j]) =
          *reinterpret_cast<const float4*>(b_words + j * T::lane_columns);
    }
  };

  wait_for_copies<T::stages - 2>();
  __syncthreads();
  read_term(0, 0);
  for (std::size_t left = tiles; left > 0; --left) {
    const bool more = left >= T::stages;  // some tiles are not copied yet
#pragma unroll
    for (unsigned term = 0; term < T::depth; ++term) {
      if (term == T::depth - 1) {
        wait_for_copies<T::stages - 2>();
        __syncthreads();  // the next tile is whole, and nobody reads this one any more
        read = read + 1 == T::stages ? 0 : read + 1;
      }
      read_term((term + 1) % 2, (term + 1) % T::depth);
      if (term == T::copy_a_at) {
        copy_a(write, more);
      }
      if (term == T::copy_b_at) {
        copy_b(write, more);
        commit_copies();
        write = write + 1 == T::stages ? 0 : write + 1;
      }
      // Goes along one row of outputs and back along the next, so that the value of B stays at the
      // turn. Each multiply-add then reads two registers, one from each bank, and takes its third
      // operand from the one before.
#pragma unroll
      for (unsigned i = 0; i < T::thread_rows; ++i) {
#pragma unroll
        for (unsigned step = 0; step < T::thread_columns; ++step) {
          const unsigned j = i % 2 == 0 ? step : T::thread_columns - 1 - step;
          sums[i][j] += a_values[term % 2][i] * b_values[term % 2][j];
        }
      }
    }
  }
  wait_for_copies<0>();

  // One word per store. Stores of four would tie the sums, for the whole loop, to registers that
  // share their banks with the values of B.
#pragma unroll
  for (unsigned i = 0; i < T::thread_rows; ++i) {
    const std::size_t c_row = first_row + row + i / 4 * 4 * T::lane_rows + i % 4;
    if (c_row < shape.m) {
#pragma unroll
      for (unsigned j = 0; j < T::thread_columns; ++j) {
        const std::size_t c_column = first_column + column + j / 4 * 4 * T::lane_columns + j % 4;
        if (c_column < shape.n) {
          c[c_row * shape.n + c_column] = sums[i][j];
        }
      }
    }
  }
}

void gemm_warp_tile(const float* a, const float* b, float* c, GemmShape shape,
                    cudaStream_t stream) {
  using T = WarpTile;
  launch_gemm(
      {"gemm_warp_tile", T::rows, T::columns, T::threads},
      rows_are_vectors(b, shape.n) ? gemm_warp_tile_kernel<true> : gemm_warp_tile_kernel<false>, a,
      b, c, shape, stream);
}

}  // namespace warpgauge::kernels
