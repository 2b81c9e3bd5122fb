// SPDX-License-Identifier: Apache-2.0
// nvcuda::wmma with 64 x 64 tiles per warp. Inputs are copied asynchronously, stages ahead, to rows
// padded against bank conflicts. Bound by the rate of mma.sync, which wmma consists of, and by
// waiting for its fragments.
#include <mma.h>

#include <cstring>
#include <type_traits>

#include "kernels/gemm/launch.cuh"
#include "kernels/gemm/tensor.hpp"
#include "kernels/gemm/tensor_tiles.cuh"

namespace warpgauge::kernels {

/// Shared memory of a block: its stages, each of a padded tile of A and of B.
template <class T, class Tile>
struct WmmaMemory {
  static constexpr unsigned a_stride = Tile::k + chunk_elements<T>;
  static constexpr unsigned b_stride = Tile::n + chunk_elements<T>;
  static constexpr unsigned a_bytes = Tile::m * a_stride * sizeof(T);
  static constexpr unsigned stage_bytes = a_bytes + Tile::k * b_stride * sizeof(T);
  static constexpr unsigned bytes = Tile::stages * stage_bytes;
};

/// wmma::load_matrix_sync from shared memory, row by row. For bf16, nvcc (13.0) does not see that
/// the memory is shared: it emits generic loads and transpositions instead of ldmatrix, which
/// halves the kernel's speed. So bf16 uses the PTX that the function stands for.
template <class Use, class T>
__device__ inline void load_fragment(
    nvcuda::wmma::fragment<Use, 16, 16, 16, T, nvcuda::wmma::row_major>& fragment, const T* from,
    unsigned stride) {
  if constexpr (std::is_same_v<T, __nv_bfloat16>) {
    unsigned words[4];
    static_assert(sizeof(fragment.x) == sizeof(words));
    if constexpr (std::is_same_v<Use, nvcuda::wmma::matrix_a>) {
      asm volatile("wmma.load.a.sync.aligned.row.m16n16k16.shared.bf16 {%0, %1, %2, %3}, [%4], %5;"
                   : "=r"(words[0]), "=r"(words[1]), "=r"(words[2]), "=r"(words[3])
                   : "r"(shared_address(from)), "r"(stride)
                   : "memory");
    } else {
      asm volatile("wmma.load.b.sync.aligned.row.m16n16k16.shared.bf16 {%0, %1, %2, %3}, [%4], %5;"
                   : "=r"(words[0]), "=r"(words[1]), "=r"(words[2]), "=r"(words[3])
                   : "r"(shared_address(from)), "r"(stride)
                   : "memory");
    }
    std::memcpy(fragment.x, words, sizeof(words));
  } else {
    nvcuda::wmma::load_matrix_sync(fragment, from, stride);
  }
}

template <class T, class Tile, bool WholeChunks>
__global__ __launch_bounds__(Tile::threads, Tile::blocks_per_sm) void gemm_wmma_staged_kernel(
    const T* __restrict__ a, const T* __restrict__ b, T* __restrict__ c, GemmShape shape,
    std::size_t tile_rows, std::size_t tile_columns) {
  using namespace nvcuda;
  using Memory = WmmaMemory<T, Tile>;
  constexpr unsigned edge = 16;  // of a fragment
  constexpr unsigned rows = Tile::warp_m / edge;
  constexpr unsigned columns = Tile::warp_n / edge;
  extern __shared__ __align__(128) unsigned char memory[];

  const GemmTile tile = tile_of_block(tile_rows, tile_columns, Tile::group);
  const std::size_t first_row = tile.row * Tile::m;
  const std::size_t first_column = tile.column * Tile::n;
  const T* const a_rows = a + first_row * shape.k;
  const unsigned rows_left = elements_left(first_row, shape.m, Tile::m);
  const unsigned columns_left = elements_left(first_column, shape.n, Tile::n);
  const auto copy_stage = [&]<unsigned Slices = 1>(std::size_t stage, unsigned slot,
                                                   unsigned slice = 0) {
    unsigned char* const to = memory + slot * Memory::stage_bytes;
    const std::size_t first_k = stage * Tile::k;
    const unsigned k_left = elements_left(first_k, shape.k, Tile::k);
    copy_tile<WholeChunks, Tile::m, Tile::k, Tile::threads, Slices>(
        to, a_rows + first_k, shape.k, rows_left, k_left, slice,
        padded<Tile::k / chunk_elements<T>>);
    copy_tile<WholeChunks, Tile::k, Tile::n, Tile::threads, Slices>(
        to + Memory::a_bytes, b + (first_k * shape.n + first_column), shape.n, k_left, columns_left,
        slice, padded<Tile::n / chunk_elements<T>>);
  };

  const unsigned lane = threadIdx.x % 32;
  const unsigned warp = threadIdx.x / 32;
  const unsigned warp_row = warp / Tile::warp_columns * Tile::warp_m;
  const unsigned warp_column = warp % Tile::warp_columns * Tile::warp_n;
  wmma::fragment<wmma::matrix_a, edge, edge, edge, T, wmma::row_major> a_fragments[2][rows];
  wmma::fragment<wmma::matrix_b, edge, edge, edge, T, wmma::row_major> b_fragments[2][columns];
  wmma::fragment<wmma::accumulator, edge, edge, edge, float> sums[rows][columns];
  const auto load_fragments = [&](unsigned slot, unsigned step, unsigned set) {
    const T* const a_tile = reinterpret_cast<const T*>(memory + slot * Memory::stage_bytes);
    const T* const b_tile = a_tile + Memory::a_bytes / sizeof(T);
#pragma unroll
    for (unsigned i = 0; i < rows; ++i) {
      load_fragment(a_fragments[set][i],
                    a_tile + (warp_row + i * edge) * Memory::a_stride + step * edge,
                    Memory::a_stride);
    }
#pragma unroll
    for (unsigned j = 0; j < columns; ++j) {
      load_fragment(b_fragments[set][j],
                    b_tile + step * edge * Memory::b_stride + warp_column + j * edge,
                    Memory::b_stride);
    }
  };
  const auto multiply = [&](unsigned set) {
#pragma unroll
    for (unsigned i = 0; i < rows; ++i) {
#pragma unroll
      for (unsigned j = 0; j < columns; ++j) {
        wmma::mma_sync(sums[i][j], a_fragments[set][i], b_fragments[set][j], sums[i][j]);
      }
    }
  };
  // Zeros, for the step before the first stage.
#pragma unroll
  for (unsigned i = 0; i < rows; ++i) {
    wmma::fill_fragment(a_fragments[1][i], T(0.0F));
#pragma unroll
    for (unsigned j = 0; j < columns; ++j) {
      wmma::fill_fragment(b_fragments[1][j], T(0.0F));
      wmma::fill_fragment(sums[i][j], 0.0F);
    }
  }

  constexpr unsigned steps = Tile::k / edge;
  go_through_stages<Tile, steps>(
      shape.k, copy_stage, [&](unsigned slot, unsigned step, std::size_t next, unsigned free) {
        load_fragments(slot, step, step % 2);
        copy_stage.template operator()<steps>(next, free, step);
        multiply((step + 1) % 2);
      });
  multiply(1);
  wait_for_copies<0>();  // also the zeros that were copied past the last stage

  // Which lane holds which element is not documented, so each warp sorts its results in shared
  // memory, one row of fragments at a time.
  constexpr unsigned c_stride = Tile::warp_n + 8;  // four rows of pairs in all banks
  constexpr unsigned warp_floats = edge * c_stride;
  static_assert(warp_floats * sizeof(float) * (Tile::threads / 32) <= Memory::bytes);
  float* const own = reinterpret_cast<float*>(memory) + warp * warp_floats;
  __syncthreads();
#pragma unroll
  for (unsigned i = 0; i < rows; ++i) {
#pragma unroll
    for (unsigned j = 0; j < columns; ++j) {
      wmma::store_matrix_sync(own + j * edge, sums[i][j], c_stride, wmma::mem_row_major);
    }
    __syncwarp();
    constexpr unsigned chunks = Tile::warp_n / chunk_elements<T>;
#pragma unroll
    for (unsigned pass = 0; pass < edge * chunks / 32; ++pass) {
      const unsigned row = (pass * 32 + lane) / chunks;
      const unsigned column = lane % chunks * chunk_elements<T>;
      T rounded[chunk_elements<T>];
#pragma unroll
      for (unsigned element = 0; element < chunk_elements<T>; ++element) {
        rounded[element] = T(own[row * c_stride + column + element]);
      }
      uint4 whole;
      std::memcpy(&whole, rounded, sizeof(whole));
      store_chunk<WholeChunks>(c, shape.m, shape.n, first_row + warp_row + i * edge + row,
                               first_column + warp_column + column, whole);
    }
    __syncwarp();  // the next row of fragments overwrites these
  }
}

template <class T>
void gemm_wmma_staged(const T* a, const T* b, T* c, GemmShape shape, cudaStream_t stream) {
  using Tile = MmaTile<128, 256, 64, 3, 64, 64, 1, 8>;
  static_assert(WmmaMemory<T, Tile>::bytes == gemm_wmma_staged_shared_bytes);
  launch_gemm({"gemm_wmma_staged", Tile::m, Tile::n, Tile::threads, chunk_bytes,
               WmmaMemory<T, Tile>::bytes},
              has_whole_chunks(shape, sizeof(T)) ? gemm_wmma_staged_kernel<T, Tile, true>
                                                 : gemm_wmma_staged_kernel<T, Tile, false>,
              a, b, c, shape, stream);
}

template void gemm_wmma_staged(const __half*, const __half*, __half*, GemmShape, cudaStream_t);
template void gemm_wmma_staged(const __nv_bfloat16*, const __nv_bfloat16*, __nv_bfloat16*,
                               GemmShape, cudaStream_t);

}  // namespace warpgauge::kernels
