// SPDX-License-Identifier: Apache-2.0
// Rung 1: one output per thread, with loads that are not coalesced. Bound by L1 transactions.
#include "kernels/gemm/gemm.hpp"
#include "kernels/gemm/launch.cuh"

namespace warpgauge::kernels {

__global__ __launch_bounds__(gemm_tile_threads) void gemm_naive_kernel(const float* __restrict__ a,
                                                                       const float* __restrict__ b,
                                                                       float* __restrict__ c,
                                                                       GemmShape shape,
                                                                       unsigned tile_columns) {
  // x runs down the rows; the coalesced rung changes that.
  const std::size_t row = std::size_t{blockIdx.x / tile_columns} * gemm_tile + threadIdx.x;
  const std::size_t column = std::size_t{blockIdx.x % tile_columns} * gemm_tile + threadIdx.y;
  if (row >= shape.m || column >= shape.n) {
    return;
  }
  float sum = 0;
  for (std::size_t i = 0; i < shape.k; ++i) {
    sum += a[row * shape.k + i] * b[i * shape.n + column];
  }
  c[row * shape.n + column] = sum;
}

void gemm_naive(const float* a, const float* b, float* c, GemmShape shape, cudaStream_t stream) {
  launch_gemm({"gemm_naive", gemm_tile, gemm_tile, dim3(gemm_tile, gemm_tile)}, gemm_naive_kernel,
              a, b, c, shape, stream);
}

}  // namespace warpgauge::kernels
