// SPDX-License-Identifier: Apache-2.0
// A block computes all rows of some columns, its warps each a part of the terms. The packed words
// are a warp's fragments for mma.sync as they are, so that they go from device memory to the tensor
// cores through registers only: a shift and two logic or subtract instructions for two weights.
// Bound by device memory: the words are read once, several of each thread in flight.
#include <warpgauge/cuda/arguments.hpp>
#include <warpgauge/cuda/check.hpp>
#include "kernels/gemm/arguments.hpp"
#include "kernels/matrix_fragments.cuh"
#include "kernels/quantized/int4_arguments.hpp"

#include <cstring>
#include <stdexcept>
#include <string>

namespace warpgauge::kernels {

inline constexpr unsigned int4_warps = 8;  // of a block
inline constexpr unsigned int4_threads = int4_warps * 32;

/// `Pieces` pieces of 16 columns and `Rows` times 8 rows of A per block; words of `Ahead` groups of
/// terms are in flight. More columns per block read A less often, fewer occupy more
/// multiprocessors.
template <unsigned Pieces, unsigned Rows, unsigned Ahead>
struct Int4Tile {
  static constexpr unsigned pieces = Pieces, rows = Rows, ahead = Ahead;
  static constexpr unsigned columns = Pieces * 16;
  static constexpr unsigned blocks_per_sm = 4 / Pieces;
};

/// Two weights q - 8 in bf16 from nibbles `pair` and `pair` + 4. The bits of 128 + q are those of
/// 128 with q as the lowest bits of the significand.
__device__ inline unsigned two_weights(unsigned word, unsigned pair) {
  const unsigned raised = (word >> pair * 4 & 0x000F'000FU) | 0x4300'4300U;
  __nv_bfloat162 two;
  std::memcpy(&two, &raised, sizeof(two));
  two = __hsub2(two, __float2bfloat162_rn(136));
  unsigned weights = 0;
  std::memcpy(&weights, &two, sizeof(weights));
  return weights;
}

/// Lane 4 g + t has the weights of columns g and g + 8 and the terms 16 t to 16 t + 15 of each half
/// of a group, and the same terms of row g of A: whichever terms stand at a fragment's places, both
/// operands have the same ones there. It sums columns g and g + 8 of rows 2 t and 2 t + 1.
template <class Tile>
__global__ __launch_bounds__(int4_threads, Tile::blocks_per_sm) void int4_gemm_mma_kernel(
    const __nv_bfloat16* __restrict__ a, Int4Weights w, __nv_bfloat16* __restrict__ c, unsigned m,
    std::size_t n, std::size_t k) {
  constexpr unsigned outputs = Tile::pieces * Tile::rows * 128;
  __shared__ __align__(16) float of_warps[int4_warps][outputs];
  const unsigned lane = threadIdx.x % 32;
  const unsigned warp = threadIdx.x / 32;
  const unsigned g = lane / 4;
  const unsigned t = lane % 4;
  const std::size_t groups = k / int4_group;
  const std::size_t first_piece = std::size_t{blockIdx.x} * Tile::pieces;
  const std::size_t last_piece = n / 16 - 1;  // a block's pieces past it repeat it
  float sums[Tile::pieces][Tile::rows][4] = {};
  for (std::size_t first = warp; first < groups; first += std::size_t{int4_warps} * Tile::ahead) {
    uint4 words[Tile::ahead][Tile::pieces][2];
#pragma unroll
    for (unsigned i = 0; i < Tile::ahead; ++i) {
      const std::size_t group = min(first + i * int4_warps, groups - 1);
#pragma unroll
      for (unsigned piece = 0; piece < Tile::pieces; ++piece) {
        const std::size_t at = (min(first_piece + piece, last_piece) * groups + group) * 64 + lane;
        words[i][piece][0] = __ldcs(reinterpret_cast<const uint4*>(w.words) + at);
        words[i][piece][1] = __ldcs(reinterpret_cast<const uint4*>(w.words) + at + 32);
      }
    }
#pragma unroll
    for (unsigned i = 0; i < Tile::ahead; ++i) {
      const std::size_t group = first + i * int4_warps;
      if (group >= groups) {
        break;
      }
      float products[Tile::pieces][Tile::rows][4] = {};
#pragma unroll
      for (unsigned half = 0; half < 2; ++half) {
        unsigned terms[Tile::rows][8] = {};  // 16 of bf16
#pragma unroll
        for (unsigned of_rows = 0; of_rows < Tile::rows; ++of_rows) {
          const unsigned row = of_rows * 8 + g;
          if (row < m) {
            const auto* from = reinterpret_cast<const uint4*>(a + row * k + group * int4_group +
                                                              half * 64 + t * 16);
            const uint4 two[2]{__ldg(from), __ldg(from + 1)};
            std::memcpy(terms[of_rows], two, sizeof(two));
          }
        }
#pragma unroll
        for (unsigned step = 0; step < 4; ++step) {
#pragma unroll
          for (unsigned piece = 0; piece < Tile::pieces; ++piece) {
            const uint4& four = words[i][piece][half];
            const unsigned word = step == 0   ? four.x
                                  : step == 1 ? four.y
                                  : step == 2 ? four.z
                                              : four.w;
            const unsigned weights[4]{two_weights(word, 0), two_weights(word, 1),
                                      two_weights(word, 2), two_weights(word, 3)};
#pragma unroll
            for (unsigned of_rows = 0; of_rows < Tile::rows; ++of_rows) {
              multiply_matrices<__nv_bfloat16>(products[piece][of_rows], weights,
                                               terms[of_rows][step * 2],
                                               terms[of_rows][step * 2 + 1]);
            }
          }
        }
      }
#pragma unroll
      for (unsigned piece = 0; piece < Tile::pieces; ++piece) {
        const __nv_bfloat16* const scales =
            w.scales + group * n + min(first_piece + piece, last_piece) * 16 + g;
        const float factors[2]{__bfloat162float(scales[0]), __bfloat162float(scales[8])};
#pragma unroll
        for (unsigned of_rows = 0; of_rows < Tile::rows; ++of_rows) {
#pragma unroll
          for (unsigned i_sum = 0; i_sum < 4; ++i_sum) {
            sums[piece][of_rows][i_sum] += products[piece][of_rows][i_sum] * factors[i_sum / 2];
          }
        }
      }
    }
  }

#pragma unroll
  for (unsigned piece = 0; piece < Tile::pieces; ++piece) {
#pragma unroll
    for (unsigned of_rows = 0; of_rows < Tile::rows; ++of_rows) {
      const auto& four = sums[piece][of_rows];
      auto* const to = &of_warps[warp][((piece * Tile::rows + of_rows) * 32 + lane) * 4];
      *reinterpret_cast<float4*>(to) = {four[0], four[1], four[2], four[3]};
    }
  }
  __syncthreads();
  for (unsigned i = threadIdx.x; i < Tile::columns * m; i += int4_threads) {
    const unsigned row = i / Tile::columns;
    const unsigned in_tile = i % Tile::columns;
    const unsigned in_piece = in_tile % 16;
    const std::size_t column = first_piece * 16 + in_tile;
    const unsigned from =
        ((in_tile / 16 * Tile::rows + row / 8) * 32 + in_piece % 8 * 4 + row % 8 / 2) * 4 +
        in_piece / 8 * 2 + row % 2;
    float sum = 0;
#pragma unroll
    for (const auto& of_warp : of_warps) {
      sum += of_warp[from];
    }
    if (column < n) {
      c[row * n + column] = __float2bfloat16_rn(sum);
    }
  }
}

template <class Tile>
void launch_int4(const char* launcher, const __nv_bfloat16* a, Int4Weights w, __nv_bfloat16* c,
                 GemmShape shape, cudaStream_t stream) {
  const unsigned blocks = blocks_for(launcher, shape.n, Tile::columns);
  int4_gemm_mma_kernel<Tile><<<blocks, int4_threads, 0, stream>>>(
      a, w, c, static_cast<unsigned>(shape.m), shape.n, shape.k);
  WARPGAUGE_CHECK(cudaGetLastError());
}

void int4_gemm_mma(const __nv_bfloat16* a, Int4Weights w, __nv_bfloat16* c, GemmShape shape,
                   cudaStream_t stream) {
  if (shape.m == 0 || shape.n == 0) {
    return;
  }
  constexpr const char* launcher = "int4_gemm_mma";
  require_int4(launcher, a, w, shape);
  require_pointer(launcher, "c", c, chunk_bytes);
  if (shape.m > int4_most_rows) {
    throw std::invalid_argument(describe(launcher, shape) + ": at most " +
                                std::to_string(int4_most_rows) + " rows");
  }
  const auto launch = shape.m <= 4   ? launch_int4<Int4Tile<1, 1, 4>>
                      : shape.m <= 8 ? launch_int4<Int4Tile<2, 1, 4>>
                                     : launch_int4<Int4Tile<2, 2, 4>>;
  launch(launcher, a, w, c, shape, stream);
}

}  // namespace warpgauge::kernels
