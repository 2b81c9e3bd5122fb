// SPDX-License-Identifier: Apache-2.0
// Each thread computes one column of 16 rows, in double. It uses each element of B that it reads
// and converts 16 times, so that checking a product costs little compared with computing it.
#include <cuda_fp16.h>
#include <cuda_fp8.h>

#include <warpgauge/cuda/arguments.hpp>
#include <warpgauge/cuda/check.hpp>
#include "kernels/gemm/arguments.hpp"

namespace warpgauge::kernels {

inline constexpr unsigned gemm_reference_threads = 256;
inline constexpr unsigned gemm_reference_rows = 16;
inline constexpr unsigned gemm_reference_depth = 32;

template <class T>
__global__ __launch_bounds__(gemm_reference_threads) void gemm_reference_kernel(
    const T* __restrict__ a, const T* __restrict__ b, double* __restrict__ expected,
    GemmShape shape, GemmB layout, std::size_t first, std::size_t count, std::size_t tile_columns) {
  __shared__ double a_tile[gemm_reference_depth][gemm_reference_rows];
  const std::size_t first_row =
      first / shape.n + blockIdx.x / tile_columns * std::size_t{gemm_reference_rows};
  const std::size_t column =
      blockIdx.x % tile_columns * std::size_t{gemm_reference_threads} + threadIdx.x;
  const bool inside = column < shape.n;
  const std::size_t b_row_stride = layout == GemmB::row_major ? shape.n : 1;
  const std::size_t b_column_stride = layout == GemmB::row_major ? 1 : shape.k;
  double sums[gemm_reference_rows] = {};
  for (std::size_t first_k = 0; first_k < shape.k; first_k += gemm_reference_depth) {
    for (unsigned i = threadIdx.x; i < gemm_reference_rows * gemm_reference_depth;
         i += gemm_reference_threads) {
      const std::size_t row = first_row + i / gemm_reference_depth;
      const std::size_t k = first_k + i % gemm_reference_depth;
      a_tile[i % gemm_reference_depth][i / gemm_reference_depth] =
          row < shape.m && k < shape.k ? static_cast<double>(a[row * shape.k + k]) : 0;
    }
    __syncthreads();
    if (inside) {  // whole warps without a column, as with narrow matrices, read nothing
#pragma unroll 8   // reads of B in flight
      for (unsigned i = 0; i < gemm_reference_depth; ++i) {
        const std::size_t k = first_k + i;
        const double value =
            k < shape.k ? static_cast<double>(b[k * b_row_stride + column * b_column_stride]) : 0;
#pragma unroll
        for (unsigned row = 0; row < gemm_reference_rows; ++row) {
          sums[row] += a_tile[i][row] * value;
        }
      }
    }
    __syncthreads();  // the next round overwrites the tile
  }
#pragma unroll
  for (unsigned row = 0; row < gemm_reference_rows; ++row) {
    const std::size_t element = (first_row + row) * shape.n + column;
    if (inside && element >= first && element - first < count) {
      expected[element - first] = sums[row];
    }
  }
}

template <class T>
void gemm_reference(const T* a, const T* b, double* expected, GemmShape shape, std::size_t first,
                    std::size_t count, cudaStream_t stream, GemmB layout) {
  if (count == 0 || shape.m == 0 || shape.n == 0) {
    return;
  }
  require_gemm("gemm_reference", a, b, alignof(T), shape);
  require_pointer("gemm_reference", "expected", expected, alignof(double));
  require_window("gemm_reference", first, count, shape.m * shape.n, "C");  // fits: require_gemm
  const std::size_t rows = (first + count - 1) / shape.n - first / shape.n + 1;
  const std::size_t tile_rows = (rows - 1) / gemm_reference_rows + 1;
  const std::size_t tile_columns = (shape.n - 1) / gemm_reference_threads + 1;
  const unsigned blocks = blocks_for("gemm_reference", tile_rows * tile_columns, 1);
  gemm_reference_kernel<<<blocks, gemm_reference_threads, 0, stream>>>(
      a, b, expected, shape, layout, first, count, tile_columns);
  WARPGAUGE_CHECK(cudaGetLastError());
}

template void gemm_reference(const float*, const float*, double*, GemmShape, std::size_t,
                             std::size_t, cudaStream_t, GemmB);
template void gemm_reference(const __half*, const __half*, double*, GemmShape, std::size_t,
                             std::size_t, cudaStream_t, GemmB);
template void gemm_reference(const __nv_bfloat16*, const __nv_bfloat16*, double*, GemmShape,
                             std::size_t, std::size_t, cudaStream_t, GemmB);
template void gemm_reference(const __nv_fp8_e4m3*, const __nv_fp8_e4m3*, double*, GemmShape,
                             std::size_t, std::size_t, cudaStream_t, GemmB);

}  // namespace warpgauge::kernels
