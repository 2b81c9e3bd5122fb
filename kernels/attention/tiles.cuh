// SPDX-License-Identifier: Apache-2.0
// What the rungs on tensor cores share: which queries a block computes, softmax of one tile of keys
// after the other, and the stores. Scores and results are in the register layout of mma.sync, which
// is wgmma's too: a thread has two rows, lane / 4 and 8 further, and in elements 4 j and 4 j + 1 of
// its array columns 8 j + 2 (lane % 4) and the next one of the first row, then those of the second.
#pragma once

#include "kernels/attention/arguments.hpp"
#include "kernels/matrix_fragments.cuh"

namespace warpgauge::kernels {

/// The tile of queries of a block.
struct QueryTile {
  unsigned first, head, batch;
  unsigned keys;  ///< that its queries see, from key 0 on
};

/// The tile of `Queries` queries with this index. Full: all tiles of a head follow each other, so
/// that its keys stay in the L2. Causal: the longest tiles of all heads come first, so that short
/// ones fill the end.
template <unsigned Queries>
__device__ inline QueryTile query_tile(const AttentionSizes& sizes, unsigned index) {
  const unsigned tiles = (sizes.length - 1) / Queries + 1;
  const unsigned heads = sizes.heads * sizes.batch;
  const unsigned first = (sizes.causal ? tiles - 1 - index / heads : index % tiles) * Queries;
  const unsigned head = sizes.causal ? index % heads : index / tiles;
  return {first, head % sizes.heads, head / sizes.heads,
          sizes.causal ? min(sizes.length, first + Queries) : sizes.length};
}

/// 2^x; results below 2^-126 are 0.
__device__ inline float power_of_2(float x) {
  float power = 0;
  asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(power) : "f"(x));
  return power;
}

/// Byte offset of 8 elements of a row. Rows permute them, so that eight rows of one column, as
/// ldmatrix reads them, lie in different banks.
template <unsigned D>
__device__ inline unsigned chunk_of(unsigned row, unsigned chunk) {
  return (row * (D / 8) + (chunk ^ row % 8)) * 16;
}

/// Softmax of a thread's two rows, one tile of keys after the other (Milakov and Gimelshein 2018,
/// "Online normalizer calculation for softmax").
struct OnlineSoftmax {
  float scale;  ///< of scores, to exponents of 2
  float largest[2] = {-INFINITY, -INFINITY};
  float sums[2] = {0, 0};  ///< of this thread's powers

  /// Replaces scores by powers relative to the largest score so far. Earlier results must be
  /// multiplied by `correction`. Each row sees a key of the first tile.
  template <unsigned Count>
  __device__ void add(float (&scores)[Count], float (&correction)[2]) {
#pragma unroll
    for (unsigned half = 0; half < 2; ++half) {
      float even = fmaxf(largest[half], scores[half * 2]);
      float odd = scores[half * 2 + 1];
#pragma unroll
      for (unsigned i = 4; i < Count; i += 4) {
        even = fmaxf(even, scores[i + half * 2]);
        odd = fmaxf(odd, scores[i + half * 2 + 1]);
      }
      even = fmaxf(even, odd);
      even = fmaxf(even, __shfl_xor_sync(~0U, even, 1));
      even = fmaxf(even, __shfl_xor_sync(~0U, even, 2));
      correction[half] = power_of_2((largest[half] - even) * scale);
      largest[half] = even;
    }
#pragma unroll
    for (unsigned half = 0; half < 2; ++half) {
      const float offset = largest[half] * scale;
      float even = 0;
      float odd = 0;
#pragma unroll
      for (unsigned i = half * 2; i < Count; i += 4) {
        scores[i] = power_of_2(fmaf(scores[i], scale, -offset));
        scores[i + 1] = power_of_2(fmaf(scores[i + 1], scale, -offset));
        even += scores[i];
        odd += scores[i + 1];
      }
      sums[half] = sums[half] * correction[half] + (even + odd);
    }
  }
};

/// Call from whole warps. Most tiles have no larger score in any of a warp's rows.
template <unsigned Count>
__device__ inline void correct(float (&results)[Count], const float (&correction)[2]) {
  if (__any_sync(~0U, correction[0] != 1 || correction[1] != 1)) {
#pragma unroll
    for (unsigned i = 0; i < Count; ++i) {
      results[i] *= correction[i / 2 % 2];
    }
  }
}

/// Makes -infinity of the scores that a thread's two rows do not see; `row` is the first one.
template <unsigned Count>
__device__ inline void hide_keys(float (&scores)[Count], const AttentionSizes& sizes,
                                 unsigned first_key, unsigned row) {
  const unsigned key = first_key + threadIdx.x % 4 * 2;
  const unsigned last[2] = {sizes.causal ? row : sizes.length - 1,
                            sizes.causal ? row + 8 : sizes.length - 1};
#pragma unroll
  for (unsigned i = 0; i < Count; ++i) {
    if (key + i / 4 * 8 + i % 2 > last[i / 2 % 2]) {
      scores[i] = -INFINITY;
    }
  }
}

/// The powers of 16 keys a step as the A of the second product, whose layout has the same places.
template <unsigned Steps>
__device__ inline void round_powers(unsigned (&powers)[Steps][4],
                                    const float (&scores)[Steps * 8]) {
#pragma unroll
  for (unsigned i = 0; i < Steps * 4; ++i) {
    powers[i / 4][i % 4] = round_two<__nv_bfloat16>(scores[i * 2], scores[i * 2 + 1]);
  }
}

/// Divides by the sums of all threads of a row, and stores the two rows from `row` on.
template <unsigned Count>
__device__ inline void store_rows(__nv_bfloat16* out, const AttentionSizes& sizes,
                                  const QueryTile& tile, unsigned row,
                                  const float (&results)[Count], const float (&sums)[2]) {
  constexpr unsigned d = Count * 2;
#pragma unroll
  for (unsigned half = 0; half < 2; ++half) {
    float sum = sums[half];
    sum += __shfl_xor_sync(~0U, sum, 1);
    sum += __shfl_xor_sync(~0U, sum, 2);
    const float share = 1 / sum;
    const unsigned query = row + half * 8;
    if (query < sizes.length) {
      const std::size_t query_of_all = std::size_t{tile.batch} * sizes.length + query;
      __nv_bfloat16* const to =
          out + (query_of_all * sizes.heads + tile.head) * d + threadIdx.x % 4 * 2;
#pragma unroll
      for (unsigned j = 0; j < d / 8; ++j) {
        *reinterpret_cast<unsigned*>(to + j * 8) = round_two<__nv_bfloat16>(
            results[j * 4 + half * 2] * share, results[j * 4 + half * 2 + 1] * share);
      }
    }
  }
}

}  // namespace warpgauge::kernels
