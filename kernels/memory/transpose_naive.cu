// SPDX-License-Identifier: Apache-2.0
// One element per thread; neighbouring threads read neighbours of a row. Reads are whole cache
// lines; each write goes to a line of its own. Bound by the rate at which the L2 takes such writes.
#include <warpgauge/cuda/check.hpp>
#include "kernels/arguments.hpp"
#include "kernels/memory/transpose.hpp"

namespace warpgauge::kernels {

inline constexpr unsigned naive_columns = 32;
inline constexpr unsigned naive_rows = 8;

__global__ __launch_bounds__(naive_columns* naive_rows) void transpose_naive_kernel(
    const float* __restrict__ in, float* __restrict__ out, std::size_t rows, std::size_t columns,
    unsigned tile_columns) {
  const std::size_t row = std::size_t{blockIdx.x / tile_columns} * naive_rows + threadIdx.y;
  const std::size_t column = std::size_t{blockIdx.x % tile_columns} * naive_columns + threadIdx.x;
  if (row < rows && column < columns) {
    out[column * rows + row] = in[row * columns + column];
  }
}

void transpose_naive(const float* in, float* out, TransposeShape shape, cudaStream_t stream) {
  if (shape.rows == 0 || shape.columns == 0) {
    return;
  }
  require_countable("transpose_naive", shape.rows, shape.columns, sizeof(float));
  require_arrays("transpose_naive", {{"in", in}, {"out", out}});
  const Tiles tiles =
      tiles_of("transpose_naive", shape.rows, shape.columns, naive_rows, naive_columns);
  transpose_naive_kernel<<<tiles.blocks(), dim3(naive_columns, naive_rows), 0, stream>>>(
      in, out, shape.rows, shape.columns, tiles.columns);
  WARPGAUGE_CHECK(cudaGetLastError());
}

}  // namespace warpgauge::kernels
