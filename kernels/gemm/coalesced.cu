// SPDX-License-Identifier: Apache-2.0
// Rung 2: neighbouring threads compute neighbouring columns, so that a warp reads one word of A for
// all its threads, and a whole cache line of B. Bound by L1: two loads per fused multiply-add.
#include "kernels/gemm/ladder.hpp"
#include "kernels/gemm/launch.cuh"

namespace warpgauge::kernels {

__global__ __launch_bounds__(gemm_tile_threads) void gemm_coalesced_kernel(
    const float* __restrict__ a, const float* __restrict__ b, float* __restrict__ c,
    GemmShape shape, unsigned tile_columns) {
  // x runs along the columns: the only difference from gemm_naive.
  const std::size_t row = std::size_t{blockIdx.x / tile_columns} * gemm_tile + threadIdx.y;
  const std::size_t column = std::size_t{blockIdx.x % tile_columns} * gemm_tile + threadIdx.x;
  if (row >= shape.m || column >= shape.n) {
    return;
  }
  float sum = 0;
  for (std::size_t i = 0; i < shape.k; ++i) {
    sum += a[row * shape.k + i] * b[i * shape.n + column];
  }
  c[row * shape.n + column] = sum;
}

void gemm_coalesced(const float* a, const float* b, float* c, GemmShape shape,
                    cudaStream_t stream) {
  launch_gemm({"gemm_coalesced", gemm_tile, gemm_tile, dim3(gemm_tile, gemm_tile)},
              gemm_coalesced_kernel, a, b, c, shape, stream);
}

}  // namespace warpgauge::kernels
