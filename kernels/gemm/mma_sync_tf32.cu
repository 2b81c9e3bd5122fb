// SPDX-License-Identifier: Apache-2.0
// Floats on tensor cores: mma.sync m16n8k8 of TF32, in the pipeline of the 16-bit kernel. ldmatrix
// cannot transpose 32-bit elements, so B is read word by word, in an order without bank conflicts.
// Every fragment is rounded, a few between the multiplications of others. Bound by the rate of
// mma.sync, 311 TFLOP/s on an H200; without the rounding it is a twentieth faster.
#include "kernels/gemm/launch.cuh"
#include "kernels/gemm/tensor.hpp"
#include "kernels/gemm/tensor_tiles.cuh"

namespace warpgauge::kernels {

// One instruction's tile of C, and how many terms it adds.
inline constexpr unsigned tf32_m = 16;
inline constexpr unsigned tf32_n = 8;
inline constexpr unsigned tf32_k = 8;
/// Offsets of chunks of B. Rows k to k + 3 of the two chunks that eight lanes read at once lie in
/// different banks.
template <unsigned Chunks>
__device__ inline unsigned swizzled_by_pairs(unsigned row, unsigned chunk) {
  static_assert(Chunks % 8 == 0);
  return (row * Chunks + (chunk ^ (row % 4 * 2))) * chunk_bytes;
}

/// Rounds to the nearest of 11 bits of significand; mma.sync would truncate. Hopper's instruction
/// rounds ties to even, the older one away from zero.
__device__ inline unsigned rounded_to_tf32(unsigned bits) {
  unsigned rounded = 0;
#if __CUDA_ARCH__ >= 900
  asm("cvt.rn.tf32.f32 %0, %1;" : "=r"(rounded) : "f"(__uint_as_float(bits)));
#else
  asm("cvt.rna.tf32.f32 %0, %1;" : "=r"(rounded) : "f"(__uint_as_float(bits)));
#endif
  return rounded;
}

__device__ inline void multiply_add_tf32(float (&sums)[4], const unsigned (&a)[4], unsigned b_low,
                                         unsigned b_high) {
  asm("mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, "
      "{%8, %9}, {%0, %1, %2, %3};"
      : "+f"(sums[0]), "+f"(sums[1]), "+f"(sums[2]), "+f"(sums[3])
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b_low), "r"(b_high));
}

/// Stores two neighbours of a row of C: 8 bytes per lane and 32 for four lanes, which memory takes
/// at once.
template <bool WholeChunks>
__device__ inline void store_two(float* c, GemmShape shape, std::size_t row, std::size_t column,
                                 float first, float second) {
  float* const to = c + row * shape.n + column;
  if (row < shape.m && column < shape.n) {
    if constexpr (WholeChunks) {
      *reinterpret_cast<float2*>(to) = make_float2(first, second);
    } else {
      to[0] = first;
      if (column + 1 < shape.n) {
        to[1] = second;
      }
    }
  }
}

template <class Tile, bool WholeChunks>
__global__ __launch_bounds__(Tile::threads, Tile::blocks_per_sm) void gemm_mma_sync_tf32_kernel(
    const float* __restrict__ a, const float* __restrict__ b, float* __restrict__ c,
    GemmShape shape, std::size_t tile_rows, std::size_t tile_columns) {
  constexpr unsigned a_chunks = Tile::k / chunk_elements<float>;
  constexpr unsigned b_chunks = Tile::n / chunk_elements<float>;
  constexpr unsigned a_bytes = Tile::m * Tile::k * sizeof(float);
  constexpr unsigned stage_bytes = a_bytes + Tile::k * Tile::n * sizeof(float);
  constexpr unsigned steps = Tile::k / tf32_k;
  constexpr unsigned rows = Tile::warp_m / tf32_m;
  constexpr unsigned pairs = Tile::warp_n / (2 * tf32_n);  // of columns of instructions
  static_assert(pairs > 1 && rows <= 2 * pairs,
                "A is loaded two rows a pair, and rounded from the second pair on");
  extern __shared__ __align__(128) unsigned char memory[];

  const GemmTile tile = tile_of_block(tile_rows, tile_columns, Tile::group);
  const std::size_t first_row = tile.row * Tile::m;
  const std::size_t first_column = tile.column * Tile::n;
  const float* const a_rows = a + first_row * shape.k;
  const unsigned rows_left = elements_left(first_row, shape.m, Tile::m);
  const unsigned columns_left = elements_left(first_column, shape.n, Tile::n);
  const auto copy_stage = [&](std::size_t stage, unsigned slot) {
    unsigned char* const to = memory + slot * stage_bytes;
    const std::size_t first_k = stage * Tile::k;
    const unsigned k_left = elements_left(first_k, shape.k, Tile::k);
    copy_tile<WholeChunks, Tile::m, Tile::k, Tile::threads, 1>(
        to, a_rows + first_k, shape.k, rows_left, k_left, 0, swizzled<a_chunks>);
    copy_tile<WholeChunks, Tile::k, Tile::n, Tile::threads, 1>(
        to + a_bytes, b + (first_k * shape.n + first_column), shape.n, k_left, columns_left, 0,
        swizzled_by_pairs<b_chunks>);
  };

  const unsigned lane = threadIdx.x % 32;
  const unsigned warp = threadIdx.x / 32;
  const unsigned warp_row = warp / Tile::warp_columns * Tile::warp_m;
  const unsigned warp_column = warp % Tile::warp_columns * Tile::warp_n;
  unsigned a_fragments[2][rows][4] = {};  // zeros, for the step before the first stage
  unsigned b_fragments[2][pairs][4] = {};
  static_assert(tf32_m % 8 == 0, "rows further on by as many have the same place of chunks");
  const auto load_a = [&](unsigned at, unsigned step, unsigned i) {
    load_matrices(a_fragments[step % 2][i],
                  shared_address(memory) + at +
                      swizzled<a_chunks>(warp_row + lane % 16, step * 2 + lane / 16) +
                      i * tf32_m * Tile::k * sizeof(float));
  };
  const auto load_b = [&](unsigned at, unsigned step, unsigned pair) {
#pragma unroll
    for (unsigned word = 0; word < 4; ++word) {
      const unsigned row = step * tf32_k + word % 2 * 4 + lane % 4;
      const unsigned column = warp_column + (pair * 2 + word / 2) * tf32_n + lane / 4;
      b_fragments[step % 2][pair][word] = *reinterpret_cast<const unsigned*>(
          memory + a_bytes + at + swizzled_by_pairs<b_chunks>(row, column / chunk_elements<float>) +
          column % chunk_elements<float> * sizeof(float));
    }
  };
  const auto round = [](unsigned(&fragment)[4]) {
#pragma unroll
    for (unsigned& value : fragment) {
      value = rounded_to_tf32(value);
    }
  };
  float sums[rows][2 * pairs][4] = {};
  const auto multiply = [&](unsigned set, unsigned pair) {
    round(b_fragments[set][pair]);
#pragma unroll
    for (unsigned half = 0; half < 2; ++half) {
#pragma unroll
      for (unsigned i = 0; i < rows; ++i) {
        multiply_add_tf32(sums[i][pair * 2 + half], a_fragments[set][i],
                          b_fragments[set][pair][half * 2], b_fragments[set][pair][half * 2 + 1]);
      }
    }
  };

  // The next step's fragments are loaded and rounded between the multiplications of this one, a few
  // at a time, those of B just before they are needed. So all units have work, and none is waited
  // for.
  go_through_stages<Tile, steps>(
      shape.k, copy_stage, [&](unsigned slot, unsigned step, std::size_t next, unsigned free) {
        const unsigned at = slot * stage_bytes;
#pragma unroll
        for (unsigned pair = 0; pair < pairs; ++pair) {
#pragma unroll
          for (unsigned i = 0; i < rows; ++i) {
            if (i / 2 == pair) {
              load_a(at, step, i);
            }
          }
          load_b(at, step, pair);
          if (step == 0 && pair == 1) {
            copy_stage(next, free);
          }
          multiply((step + 1) % 2, pair);
#pragma unroll
          for (unsigned i = 0; i < rows; ++i) {
            if (i * (pairs - 1) / rows + 1 == pair) {
              round(a_fragments[step % 2][i]);
            }
          }
        }
      });
#pragma unroll
  for (unsigned pair = 0; pair < pairs; ++pair) {
    multiply(1, pair);
  }
  wait_for_copies<0>();  // also the zeros that were copied past the last stage

#pragma unroll
  for (unsigned i = 0; i < rows; ++i) {
#pragma unroll
    for (unsigned j = 0; j < 2 * pairs; ++j) {
#pragma unroll
      for (unsigned half = 0; half < 2; ++half) {
        const std::size_t row = first_row + warp_row + i * tf32_m + half * 8 + lane / 4;
        const std::size_t column = first_column + warp_column + j * tf32_n + lane % 4 * 2;
        store_two<WholeChunks>(c, shape, row, column, sums[i][j][half * 2],
                               sums[i][j][half * 2 + 1]);
      }
    }
  }
}

void gemm_mma_sync_tf32(const float* a, const float* b, float* c, GemmShape shape,
                        cudaStream_t stream) {
  using Tile = MmaTile<128, 256, 32, 3, 64, 64, 1, 8>;
  constexpr unsigned bytes = Tile::stages * (Tile::m + Tile::n) * Tile::k * sizeof(float);
  static_assert(bytes == gemm_mma_sync_shared_bytes);
  launch_gemm({"gemm_mma_sync_tf32", Tile::m, Tile::n, Tile::threads, chunk_bytes, bytes},
              has_whole_chunks(shape, sizeof(float)) ? gemm_mma_sync_tf32_kernel<Tile, true>
                                                     : gemm_mma_sync_tf32_kernel<Tile, false>,
              a, b, c, shape, stream);
}

}  // namespace warpgauge::kernels
