// SPDX-License-Identifier: Apache-2.0
// One output per thread. It adds up 128 products, multiplies by both scales, and adds that to its
// sum. Bound by loads of single bytes and by conversions, far below any rate of memory or
// arithmetic.
#include <warpgauge/cuda/check.hpp>
#include "kernels/quantized/arguments.hpp"

namespace warpgauge::kernels {

inline constexpr unsigned scaled_naive_tile = 16;

__global__ __launch_bounds__(scaled_naive_tile* scaled_naive_tile) void scaled_gemm_naive_kernel(
    ScaledRows a, ScaledTiles b, __nv_bfloat16* __restrict__ c, GemmShape shape,
    unsigned tile_columns) {
  const std::size_t row =
      std::size_t{blockIdx.x} / tile_columns * scaled_naive_tile + threadIdx.x / scaled_naive_tile;
  const std::size_t column =
      std::size_t{blockIdx.x} % tile_columns * scaled_naive_tile + threadIdx.x % scaled_naive_tile;
  if (row >= shape.m || column >= shape.n) {
    return;
  }
  const std::size_t k_blocks = (shape.k + scale_block - 1) / scale_block;
  float sum = 0;
  for (std::size_t block = 0; block < k_blocks; ++block) {
    const std::size_t end = min(shape.k, (block + 1) * scale_block);
    float of_block = 0;
    for (std::size_t k = block * scale_block; k < end; ++k) {
      of_block += static_cast<float>(a.values[row * shape.k + k]) *
                  static_cast<float>(b.values[column * shape.k + k]);
    }
    sum += of_block *
           (a.scales[block * shape.m + row] * b.scales[column / scale_block * k_blocks + block]);
  }
  c[row * shape.n + column] = __float2bfloat16_rn(sum);
}

void scaled_gemm_naive(ScaledRows a, ScaledTiles b, __nv_bfloat16* c, GemmShape shape,
                       cudaStream_t stream) {
  if (shape.m == 0 || shape.n == 0) {
    return;
  }
  const Tiles tiles =
      require_scaled("scaled_gemm_naive", a, b, c, shape, scaled_naive_tile, scaled_naive_tile);
  scaled_gemm_naive_kernel<<<tiles.blocks(), scaled_naive_tile * scaled_naive_tile, 0, stream>>>(
      a, b, c, shape, tiles.columns);
  WARPGAUGE_CHECK(cudaGetLastError());
}

}  // namespace warpgauge::kernels
