// SPDX-License-Identifier: Apache-2.0
// One output per thread. It finds its expert by bisecting the offsets. Bound by the loads of single
// elements: no tile is reused but by the L1.
#include <warpgauge/cuda/check.hpp>
#include "kernels/grouped/arguments.hpp"
#include "kernels/grouped/expert.cuh"

namespace warpgauge::kernels {

inline constexpr unsigned grouped_naive_tile = 16;

template <class T>
__global__ __launch_bounds__(grouped_naive_tile* grouped_naive_tile) void grouped_gemm_naive_kernel(
    GroupedInputs<T> inputs, __nv_bfloat16* __restrict__ c, GroupedShape shape,
    unsigned tile_columns) {
  const std::size_t row = std::size_t{blockIdx.x} / tile_columns * grouped_naive_tile +
                          threadIdx.x / grouped_naive_tile;
  const std::size_t column = std::size_t{blockIdx.x} % tile_columns * grouped_naive_tile +
                             threadIdx.x % grouped_naive_tile;
  if (row < shape.rows && column < shape.n) {
    c[row * shape.n + column] =
        __float2bfloat16_rn(grouped_output<float>(inputs, shape, row, column));
  }
}

template <class T>
void grouped_gemm_naive(GroupedInputs<T> inputs, __nv_bfloat16* c, GroupedShape shape,
                        cudaStream_t stream) {
  if (shape.rows == 0 || shape.n == 0) {
    return;
  }
  constexpr const char* launcher = "grouped_gemm_naive";
  require_grouped(launcher, inputs, c, shape, grouped_naive_tile, grouped_naive_tile);
  const Tiles tiles =
      tiles_of(launcher, shape.rows, shape.n, grouped_naive_tile, grouped_naive_tile);
  grouped_gemm_naive_kernel<<<tiles.blocks(), grouped_naive_tile * grouped_naive_tile, 0, stream>>>(
      inputs, c, shape, tiles.columns);
  WARPGAUGE_CHECK(cudaGetLastError());
}

template void grouped_gemm_naive(GroupedInputs<__nv_bfloat16>, __nv_bfloat16*, GroupedShape,
                                 cudaStream_t);
template void grouped_gemm_naive(GroupedInputs<__nv_fp8_e4m3>, __nv_bfloat16*, GroupedShape,
                                 cudaStream_t);

}  // namespace warpgauge::kernels
