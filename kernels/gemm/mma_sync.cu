// SPDX-License-Identifier: Apache-2.0
// Tensor cores by their own instruction, mma.sync m16n8k16, fed without a pause. Copies to shared
// memory run stages ahead, swizzled so that ldmatrix has no bank conflict. The next step's
// fragments are loaded while those of this step are multiplied. Bound by the rate of mma.sync: 622
// TFLOP/s on an H200, where cuBLAS reaches 820 by Hopper's own instructions.
#include "kernels/gemm/launch.cuh"
#include "kernels/gemm/tensor.hpp"
#include "kernels/gemm/tensor_tiles.cuh"

namespace warpgauge::kernels {

// One instruction's tile of C, and how many terms it adds.
inline constexpr unsigned mma_m = 16;
inline constexpr unsigned mma_n = 8;
inline constexpr unsigned mma_k = 16;

template <class T, class Tile, bool WholeChunks>
__global__ __launch_bounds__(Tile::threads, Tile::blocks_per_sm) void gemm_mma_sync_kernel(
    const T* __restrict__ a, const T* __restrict__ b, T* __restrict__ c, GemmShape shape,
    std::size_t tile_rows, std::size_t tile_columns) {
  constexpr unsigned a_chunks = Tile::k / chunk_elements<T>;
  constexpr unsigned b_chunks = Tile::n / chunk_elements<T>;
  constexpr unsigned a_bytes = Tile::m * Tile::k * sizeof(T);
  constexpr unsigned stage_bytes = a_bytes + Tile::k * Tile::n * sizeof(T);
  constexpr unsigned steps = Tile::k / mma_k;
  constexpr unsigned rows = Tile::warp_m / mma_m;
  constexpr unsigned columns = Tile::warp_n / mma_n;
  static_assert(columns % 2 == 0, "one ldmatrix brings two columns of fragments of B");
  extern __shared__ __align__(128) unsigned char memory[];

  const GemmTile tile = tile_of_block(tile_rows, tile_columns, Tile::group);
  const std::size_t first_row = tile.row * Tile::m;
  const std::size_t first_column = tile.column * Tile::n;
  const T* const a_rows = a + first_row * shape.k;
  const unsigned rows_left = elements_left(first_row, shape.m, Tile::m);
  const unsigned columns_left = elements_left(first_column, shape.n, Tile::n);
  const auto copy_stage = [&]<unsigned Slices = 1>(std::size_t stage, unsigned slot,
                                                   unsigned slice = 0) {
    unsigned char* const to = memory + slot * stage_bytes;
    const std::size_t first_k = stage * Tile::k;
    const unsigned k_left = elements_left(first_k, shape.k, Tile::k);
    copy_tile<WholeChunks, Tile::m, Tile::k, Tile::threads, Slices>(
        to, a_rows + first_k, shape.k, rows_left, k_left, slice, swizzled<a_chunks>);
    copy_tile<WholeChunks, Tile::k, Tile::n, Tile::threads, Slices>(
        to + a_bytes, b + (first_k * shape.n + first_column), shape.n, k_left, columns_left, slice,
        swizzled<b_chunks>);
  };

  const unsigned lane = threadIdx.x % 32;
  const unsigned warp = threadIdx.x / 32;
  const unsigned warp_row = warp / Tile::warp_columns * Tile::warp_m;
  const unsigned warp_column = warp % Tile::warp_columns * Tile::warp_n;
  unsigned a_fragments[2][rows][4] = {};  // zeros, for the step before the first stage
  unsigned b_fragments[2][columns / 2][4] = {};
  const unsigned base = shared_address(memory);
  const auto load_fragments = [&](unsigned stage, unsigned step, unsigned set) {
    const unsigned a_tile = base + stage * stage_bytes;
#pragma unroll
    for (unsigned i = 0; i < rows; ++i) {
      load_matrices(
          a_fragments[set][i],
          a_tile + swizzled<a_chunks>(warp_row + i * mma_m + lane % 16, step * 2 + lane / 16));
    }
    const unsigned b_tile = a_tile + a_bytes;
#pragma unroll
    for (unsigned j = 0; j < columns / 2; ++j) {
      load_matrices_transposed(
          b_fragments[set][j],
          b_tile + swizzled<b_chunks>(step * mma_k + lane % 16,
                                      warp_column / mma_n + j * 2 + lane / 16));
    }
  };

  float sums[rows][columns][4] = {};
  const auto multiply = [&](unsigned set) {
#pragma unroll
    for (unsigned i = 0; i < rows; ++i) {
#pragma unroll
      for (unsigned j = 0; j < columns; ++j) {
        const unsigned(&pair)[4] = b_fragments[set][j / 2];
        multiply_matrices<T>(sums[i][j], a_fragments[set][i], pair[j % 2 * 2], pair[j % 2 * 2 + 1]);
      }
    }
  };

  go_through_stages<Tile, steps>(
      shape.k, copy_stage, [&](unsigned slot, unsigned step, std::size_t next, unsigned free) {
        load_fragments(slot, step, step % 2);
        copy_stage.template operator()<steps>(next, free, step);
        multiply((step + 1) % 2);
      });
  multiply(1);
  wait_for_copies<0>();  // also the zeros that were copied past the last stage

  // A lane holds two neighbours of a row, four bytes. Through shared memory, each lane stores a
  // chunk, and eight lanes a whole line.
  constexpr unsigned c_chunks = Tile::warp_n / chunk_elements<T>;
  constexpr unsigned warp_bytes = Tile::warp_m * Tile::warp_n * sizeof(T);
  static_assert(warp_bytes * (Tile::threads / 32) <= Tile::stages * stage_bytes);
  __syncthreads();
  unsigned char* const own = memory + warp * warp_bytes;
#pragma unroll
  for (unsigned i = 0; i < rows; ++i) {
#pragma unroll
    for (unsigned j = 0; j < columns; ++j) {
#pragma unroll
      for (unsigned half = 0; half < 2; ++half) {
        const unsigned row = i * mma_m + half * 8 + lane / 4;
        *reinterpret_cast<unsigned*>(own + swizzled<c_chunks>(row, j) + lane % 4 * 4) =
            round_two<T>(sums[i][j][half * 2], sums[i][j][half * 2 + 1]);
      }
    }
  }
  __syncwarp();
#pragma unroll
  for (unsigned pass = 0; pass < Tile::warp_m * c_chunks / 32; ++pass) {
    const unsigned row_in_warp = (pass * 32 + lane) / c_chunks;
    const unsigned chunk = lane % c_chunks;
    const std::size_t row = first_row + warp_row + row_in_warp;
    const std::size_t column = first_column + warp_column + chunk * chunk_elements<T>;
    const uint4 whole =
        *reinterpret_cast<const uint4*>(own + swizzled<c_chunks>(row_in_warp, chunk));
    store_chunk<WholeChunks>(c, shape.m, shape.n, row, column, whole);
  }
}

template <class T>
void gemm_mma_sync(const T* a, const T* b, T* c, GemmShape shape, cudaStream_t stream) {
  using Tile = MmaTile<128, 256, 64, 3, 64, 64, 1, 8>;
  constexpr unsigned bytes = Tile::stages * (Tile::m + Tile::n) * Tile::k * sizeof(T);
  static_assert(bytes == gemm_mma_sync_shared_bytes);
  launch_gemm({"gemm_mma_sync", Tile::m, Tile::n, Tile::threads, chunk_bytes, bytes},
              has_whole_chunks(shape, sizeof(T)) ? gemm_mma_sync_kernel<T, Tile, true>
                                                 : gemm_mma_sync_kernel<T, Tile, false>,
              a, b, c, shape, stream);
}

template void gemm_mma_sync(const __half*, const __half*, __half*, GemmShape, cudaStream_t);
template void gemm_mma_sync(const __nv_bfloat16*, const __nv_bfloat16*, __nv_bfloat16*, GemmShape,
                            cudaStream_t);

}  // namespace warpgauge::kernels
