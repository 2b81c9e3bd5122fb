// SPDX-License-Identifier: Apache-2.0
// Through a tile of 32 x 32 in shared memory, so that reads and writes are whole cache lines. Two
// rungs differ only in the tile's width. At 32, each column lies in one bank, which is the bound.
// At 33 (padded), columns lie in all banks, and device memory is the bound.
#include <warpgauge/cuda/check.hpp>
#include "kernels/arguments.hpp"
#include "kernels/memory/transpose.hpp"

namespace warpgauge::kernels {

inline constexpr unsigned tile_side = 32;
inline constexpr unsigned tile_thread_rows = 8;  // each thread moves four elements

template <unsigned width>
__global__ __launch_bounds__(tile_side* tile_thread_rows) void transpose_tiled_kernel(
    const float* __restrict__ in, float* __restrict__ out, std::size_t rows, std::size_t columns,
    unsigned tile_columns) {
  __shared__ float tile[tile_side][width];
  const std::size_t first_row = std::size_t{blockIdx.x / tile_columns} * tile_side;
  const std::size_t first_column = std::size_t{blockIdx.x % tile_columns} * tile_side;
#pragma unroll
  for (unsigned y = 0; y < tile_side; y += tile_thread_rows) {
    const std::size_t row = first_row + y + threadIdx.y;
    const std::size_t column = first_column + threadIdx.x;
    if (row < rows && column < columns) {
      tile[y + threadIdx.y][threadIdx.x] = in[row * columns + column];
    }
  }
  __syncthreads();
#pragma unroll
  for (unsigned y = 0; y < tile_side; y += tile_thread_rows) {
    const std::size_t out_row = first_column + y + threadIdx.y;
    const std::size_t out_column = first_row + threadIdx.x;
    if (out_row < columns && out_column < rows) {
      out[out_row * rows + out_column] = tile[threadIdx.x][y + threadIdx.y];
    }
  }
}

namespace {

template <unsigned width>
void transpose_by_tiles(const char* launcher, const float* in, float* out, TransposeShape shape,
                        cudaStream_t stream) {
  if (shape.rows == 0 || shape.columns == 0) {
    return;
  }
  require_countable(launcher, shape.rows, shape.columns, sizeof(float));
  require_arrays(launcher, {{"in", in}, {"out", out}});
  const Tiles tiles = tiles_of(launcher, shape.rows, shape.columns, tile_side, tile_side);
  transpose_tiled_kernel<width><<<tiles.blocks(), dim3(tile_side, tile_thread_rows), 0, stream>>>(
      in, out, shape.rows, shape.columns, tiles.columns);
  WARPGAUGE_CHECK(cudaGetLastError());
}

}  // namespace

void transpose_tiled(const float* in, float* out, TransposeShape shape, cudaStream_t stream) {
  transpose_by_tiles<tile_side>("transpose_tiled", in, out, shape, stream);
}

void transpose_padded(const float* in, float* out, TransposeShape shape, cudaStream_t stream) {
  transpose_by_tiles<tile_side + 1>("transpose_padded", in, out, shape, stream);
}

}  // namespace warpgauge::kernels
