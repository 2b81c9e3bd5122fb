// SPDX-License-Identifier: Apache-2.0
// Device code that the tensor-core rungs share: copies of tiles to shared memory, the tile of C
// that a block computes, and the loop over k, whose copies run stages ahead of the multiplications.
#pragma once

#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include <cstddef>
#include <cstring>
#include <type_traits>

#include "kernels/gemm/arguments.hpp"
#include "kernels/gemm/copies.cuh"
#include "kernels/matrix_fragments.cuh"

namespace warpgauge::kernels {

/// The tile of C of a block, the terms of a stage, the number of stages in shared memory, the tile
/// of a warp, the blocks per SM, and the group.
template <unsigned M, unsigned N, unsigned K, unsigned Stages, unsigned WarpM, unsigned WarpN,
          unsigned Blocks, unsigned Group>
struct MmaTile {
  static constexpr unsigned m = M, n = N, k = K, stages = Stages, warp_m = WarpM, warp_n = WarpN;
  static constexpr unsigned blocks_per_sm = Blocks;
  static constexpr unsigned group = Group;  ///< see tile_of_block
  static constexpr unsigned warp_columns = N / WarpN;
  static constexpr unsigned threads = M / WarpM * warp_columns * 32;
};

template <class T>
inline constexpr unsigned chunk_elements = chunk_bytes / sizeof(T);

/// Byte offset of chunk `chunk` of row `row` in a tile of `Chunks` chunks per row. Each row
/// permutes its chunks, so that eight rows' chunks of one column, as ldmatrix reads them, lie in
/// eight different groups of banks. With rows of 64 bytes, two rows share the 128 bytes of all
/// banks.
template <unsigned Chunks>
__device__ inline unsigned swizzled(unsigned row, unsigned chunk) {
  static_assert(Chunks == 4 || Chunks % 8 == 0);
  const unsigned shift = Chunks == 4 ? (row / 2) % 4 : row % 8;
  return (row * Chunks + (chunk ^ shift)) * chunk_bytes;
}

/// Pads rows by one chunk instead: for wmma, which takes a stride but no swizzle.
template <unsigned Chunks>
__device__ inline unsigned padded(unsigned row, unsigned chunk) {
  return (row * (Chunks + 1) + chunk) * chunk_bytes;
}

/// Starts to copy slice `slice` of `Slices` of a tile to shared memory, by all Threads of the
/// block. The tile is Rows x Columns elements from `origin` on, in a row-major matrix with `stride`
/// elements per row. Elements after the first `rows` rows or `columns` columns become zeros.
/// ChunkOffset: byte offset of (row, chunk), as swizzled(). WholeChunks: the matrix's rows are
/// whole chunks. Otherwise elements are copied one by one, and have arrived on return.
template <bool WholeChunks, unsigned Rows, unsigned Columns, unsigned Threads, unsigned Slices,
          class T, class ChunkOffset>
__device__ inline void copy_tile(unsigned char* tile, const T* __restrict__ origin,
                                 std::size_t stride, unsigned rows, unsigned columns,
                                 unsigned slice, const ChunkOffset& offset_of) {
  constexpr unsigned per_chunk = chunk_elements<T>;
  constexpr unsigned chunks = Columns / per_chunk;
  constexpr unsigned rows_at_once = Threads / chunks;
  constexpr unsigned passes = Rows / rows_at_once / Slices;
  static_assert(Threads % chunks == 0 && rows_at_once * passes * Slices == Rows);
  const unsigned first_row = threadIdx.x / chunks;
  const unsigned chunk = threadIdx.x % chunks;
  const unsigned column = chunk * per_chunk;
  const T* const own = origin + (first_row * stride + column);
#pragma unroll WholeChunks ? passes : 1  // element by element there are too many addresses to keep
  for (unsigned pass = slice * passes; pass < (slice + 1) * passes; ++pass) {
    const unsigned row = first_row + pass * rows_at_once;
    const T* const from = own + pass * rows_at_once * stride;
    unsigned char* const to = tile + offset_of(row, chunk);
    if constexpr (WholeChunks) {
      copy_async<chunk_bytes>(to, from, row < rows && column < columns);
    } else {
      T elements[per_chunk];
#pragma unroll
      for (unsigned i = 0; i < per_chunk; ++i) {
        elements[i] = row < rows && column + i < columns ? from[i] : T(0.0F);
      }
      uint4 whole;
      std::memcpy(&whole, elements, sizeof(whole));
      *reinterpret_cast<uint4*>(to) = whole;
    }
  }
}

/// How many of the `most` elements from `first` on lie before `end`.
__device__ inline unsigned elements_left(std::size_t first, std::size_t end, unsigned most) {
  return first >= end ? 0 : end - first < most ? static_cast<unsigned>(end - first) : most;
}

/// Stores a chunk of a row-major matrix of rows x columns, or the part of it that is inside.
template <bool WholeChunks, class T>
__device__ inline void store_chunk(T* matrix, std::size_t rows, std::size_t columns,
                                   std::size_t row, std::size_t column, const uint4& whole) {
  T* const to = matrix + row * columns + column;
  if constexpr (WholeChunks) {
    // Forces one instruction, which nvcc makes of some assignments, but not of others.
    asm volatile(
        "{.reg .pred inside; setp.ne.b32 inside, %5, 0;"
        " @inside st.global.v4.b32 [%0], {%1, %2, %3, %4};}" ::"l"(to),
        "r"(whole.x), "r"(whole.y), "r"(whole.z), "r"(whole.w),
        "r"(static_cast<int>(row < rows && column < columns))
        : "memory");
  } else {
    T elements[chunk_elements<T>];
    std::memcpy(elements, &whole, sizeof(whole));
#pragma unroll
    for (unsigned i = 0; i < chunk_elements<T>; ++i) {
      if (row < rows && column + i < columns) {
        to[i] = elements[i];
      }
    }
  }
}

/// A tile of C: its row and column, counted in tiles.
struct GemmTile {
  std::size_t row, column;
};

/// The tile that this block computes. Concurrent blocks cover `group` rows of tiles and a few
/// columns, so that what they read of A and B is in the L2.
__device__ inline GemmTile tile_of_block(std::size_t tile_rows, std::size_t tile_columns,
                                         unsigned group) {
  const std::size_t in_group = group * tile_columns;
  const std::size_t first_row = blockIdx.x / in_group * group;
  const std::size_t rows_left = tile_rows - first_row;
  const std::size_t rows = rows_left < group ? rows_left : group;
  const std::size_t index = blockIdx.x % in_group;
  return {first_row + index % rows, index / rows};
}

/// Goes through `terms` terms of k in stages of Tile::k. copy_stage(stage, slot) starts to copy a
/// stage. do_step(slot, step, next, free) loads the fragments of a step of the stage in `slot`,
/// multiplies those of the step before, and starts to copy its slice of stage `next` to slot
/// `free`, also past the end. The caller multiplies the last step's fragments and waits for the
/// last copies.
template <class Tile, unsigned Steps, class CopyStage, class DoStep>
__device__ inline void go_through_stages(std::size_t terms, const CopyStage& copy_stage,
                                         const DoStep& do_step) {
  static_assert(Steps % 2 == 0, "the two sets of fragments alternate across stages");
  const std::size_t stages = (terms + Tile::k - 1) / Tile::k;
#pragma unroll
  for (unsigned stage = 0; stage < Tile::stages - 1; ++stage) {
    copy_stage(stage, stage);
    commit_copies();
  }
  unsigned read = 0;
  unsigned write = Tile::stages - 1;
  for (std::size_t stage = 0; stage < stages; ++stage) {
    // This stage has arrived, and nobody reads the one before it any more: its last fragments are
    // in registers, and are multiplied while the first ones of this stage are loaded.
    wait_for_copies<Tile::stages - 2>();
    __syncthreads();
#pragma unroll
    for (unsigned step = 0; step < Steps; ++step) {
      do_step(read, step, stage + Tile::stages - 1, write);
    }
    commit_copies();
    write = read;
    read = read + 1 == Tile::stages ? 0 : read + 1;
  }
}

}  // namespace warpgauge::kernels
