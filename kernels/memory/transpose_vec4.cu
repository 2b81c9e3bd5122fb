// SPDX-License-Identifier: Apache-2.0
// A thread transposes 4 x 4 elements in registers, so that all accesses of device and shared memory
// are 16 bytes. Bound by device memory.
#include <stdexcept>
#include <string>

#include <warpgauge/cuda/check.hpp>
#include "kernels/arguments.hpp"
#include "kernels/memory/transpose.hpp"

namespace warpgauge::kernels {

inline constexpr unsigned transpose_square = 4;  // rows and columns of a float4 each way

/// `threads` threads of a block transpose `rows` x `columns` elements of the input.
template <unsigned rows_, unsigned columns_, unsigned threads_>
struct TransposeTile {
  static constexpr unsigned rows = rows_;
  static constexpr unsigned columns = columns_;
  static constexpr unsigned threads = threads_;
  static constexpr unsigned row_vectors = columns / transpose_square;
  static constexpr unsigned column_vectors = rows / transpose_square;
  static constexpr unsigned squares = row_vectors * column_vectors / threads;  // per thread
  static_assert(row_vectors * column_vectors % threads == 0);
  static_assert(column_vectors % 8 == 0, "the swizzle spreads over the 8 groups of 4 banks");
};

template <class Tile>
__global__ __launch_bounds__(Tile::threads) void transpose_vec4_kernel(const float* __restrict__ in,
                                                                       float* __restrict__ out,
                                                                       std::size_t rows,
                                                                       std::size_t columns,
                                                                       unsigned tile_rows) {
  // Column c of the input is row c here. Its vectors are swizzled, so that eight threads that write
  // at once (same place, rows 4 apart) or read at once (same row) use all 32 banks.
  __shared__ float4 tile[Tile::columns][Tile::column_vectors];
  const auto place = [](unsigned row, unsigned vector) {
    return vector ^ (row / transpose_square % 8);
  };
  // Neighbouring blocks go down the input, so that together they write whole rows. An H200 then
  // reaches 4100 GB/s, compared with 3990 if they read whole rows.
  const std::size_t first_row = std::size_t{blockIdx.x % tile_rows} * Tile::rows;
  const std::size_t first_column = std::size_t{blockIdx.x / tile_rows} * Tile::columns;

  float4 held[Tile::squares][transpose_square];
#pragma unroll
  for (unsigned k = 0; k < Tile::squares; ++k) {
    const unsigned square = threadIdx.x + k * Tile::threads;
    const std::size_t row = first_row + square / Tile::row_vectors * transpose_square;
    const std::size_t column = first_column + square % Tile::row_vectors * transpose_square;
    if (row < rows && column < columns) {
#pragma unroll
      for (unsigned j = 0; j < transpose_square; ++j) {
        held[k][j] = *reinterpret_cast<const float4*>(in + (row + j) * columns + column);
      }
    }
  }
#pragma unroll
  for (unsigned k = 0; k < Tile::squares; ++k) {
    const unsigned square = threadIdx.x + k * Tile::threads;
    const unsigned vector = square / Tile::row_vectors;
    const unsigned row = square % Tile::row_vectors * transpose_square;
    const float4(&v)[transpose_square] = held[k];
    tile[row][place(row, vector)] = make_float4(v[0].x, v[1].x, v[2].x, v[3].x);
    tile[row + 1][place(row + 1, vector)] = make_float4(v[0].y, v[1].y, v[2].y, v[3].y);
    tile[row + 2][place(row + 2, vector)] = make_float4(v[0].z, v[1].z, v[2].z, v[3].z);
    tile[row + 3][place(row + 3, vector)] = make_float4(v[0].w, v[1].w, v[2].w, v[3].w);
  }
  __syncthreads();
#pragma unroll
  for (unsigned k = 0; k < Tile::squares * transpose_square; ++k) {
    const unsigned i = threadIdx.x + k * Tile::threads;
    const unsigned vector = i % Tile::column_vectors;
    const unsigned row = i / Tile::column_vectors;
    const std::size_t out_row = first_column + row;
    const std::size_t out_column = first_row + vector * transpose_square;
    if (out_row < columns && out_column < rows) {
      *reinterpret_cast<float4*>(out + out_row * rows + out_column) = tile[row][place(row, vector)];
    }
  }
}

void transpose_vec4(const float* in, float* out, TransposeShape shape, cudaStream_t stream) {
  using Tile = TransposeTile<64, 64, 256>;
  if (shape.rows == 0 || shape.columns == 0) {
    return;
  }
  require_countable("transpose_vec4", shape.rows, shape.columns, sizeof(float));
  require_arrays("transpose_vec4", {{"in", in, sizeof(float4)}, {"out", out, sizeof(float4)}});
  if (shape.rows % transpose_square != 0 || shape.columns % transpose_square != 0) {
    throw std::invalid_argument("transpose_vec4: " + std::to_string(shape.rows) + " rows of " +
                                std::to_string(shape.columns) + "; both must be multiples of 4");
  }
  const Tiles tiles =
      tiles_of("transpose_vec4", shape.rows, shape.columns, Tile::rows, Tile::columns);
  transpose_vec4_kernel<Tile><<<tiles.blocks(), Tile::threads, 0, stream>>>(
      in, out, shape.rows, shape.columns, tiles.rows);
  WARPGAUGE_CHECK(cudaGetLastError());
}

}  // namespace warpgauge::kernels
