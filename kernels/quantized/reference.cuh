// SPDX-License-Identifier: Apache-2.0
// A matrix product in double precision of elements that are dequantised on the fly.
#pragma once

#include <warpgauge/cuda/arguments.hpp>
#include <warpgauge/cuda/check.hpp>
#include "kernels/gemm/arguments.hpp"

namespace warpgauge::kernels {

inline constexpr unsigned dequantized_threads = 128;
inline constexpr unsigned dequantized_rows = 16;
inline constexpr unsigned dequantized_depth = 32;

/// Each thread computes one column of 16 rows. a(row, k) and b(k, column) return doubles.
template <class A, class B>
__global__ __launch_bounds__(dequantized_threads) void dequantized_reference_kernel(
    A a, B b, double* __restrict__ expected, GemmShape shape, std::size_t first, std::size_t count,
    std::size_t tile_columns) {
  __shared__ double a_tile[dequantized_depth][dequantized_rows];
  const std::size_t first_row =
      first / shape.n + blockIdx.x / tile_columns * std::size_t{dequantized_rows};
  const std::size_t column =
      blockIdx.x % tile_columns * std::size_t{dequantized_threads} + threadIdx.x;
  double sums[dequantized_rows] = {};
  for (std::size_t first_k = 0; first_k < shape.k; first_k += dequantized_depth) {
    for (unsigned i = threadIdx.x; i < dequantized_rows * dequantized_depth;
         i += dequantized_threads) {
      const std::size_t row = first_row + i / dequantized_depth;
      const std::size_t k = first_k + i % dequantized_depth;
      a_tile[i % dequantized_depth][i / dequantized_depth] =
          row < shape.m && k < shape.k ? a(row, k) : 0;
    }
    __syncthreads();
    if (column < shape.n) {
#pragma unroll 4
      for (unsigned i = 0; i < dequantized_depth; ++i) {
        const double value = first_k + i < shape.k ? b(first_k + i, column) : 0;
#pragma unroll
        for (unsigned row = 0; row < dequantized_rows; ++row) {
          sums[row] += a_tile[i][row] * value;
        }
      }
    }
    __syncthreads();  // the next round overwrites the tile
  }
#pragma unroll
  for (unsigned row = 0; row < dequantized_rows; ++row) {
    const std::size_t element = (first_row + row) * shape.n + column;
    if (column < shape.n && element >= first && element - first < count) {
      expected[element - first] = sums[row];
    }
  }
}

/// Launches it for elements `first` to `first` + `count` of the flattened C. Requires count > 0.
template <class A, class B>
void launch_dequantized_reference(const char* launcher, A a, B b, double* expected, GemmShape shape,
                                  std::size_t first, std::size_t count, cudaStream_t stream) {
  require_pointer(launcher, "expected", expected, alignof(double));
  require_window(launcher, first, count, shape.m * shape.n, "C");
  const std::size_t rows = (first + count - 1) / shape.n - first / shape.n + 1;
  const std::size_t tile_rows = (rows - 1) / dequantized_rows + 1;
  const std::size_t tile_columns = (shape.n - 1) / dequantized_threads + 1;
  const unsigned blocks = blocks_for(launcher, tile_rows * tile_columns, 1);
  dequantized_reference_kernel<<<blocks, dequantized_threads, 0, stream>>>(
      a, b, expected, shape, first, count, tile_columns);
  WARPGAUGE_CHECK(cudaGetLastError());
}

}  // namespace warpgauge::kernels
