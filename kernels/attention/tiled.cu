// SPDX-License-Identifier: Apache-2.0
// Tiles of 64 queries and 64 keys in shared memory, and softmax online: results so far are
// corrected when a tile has a larger score (Milakov and Gimelshein 2018; Dao et al. 2022,
// "FlashAttention"). Scores never leave the block. Bound by fp32 multiply-adds, of which two thirds
// are fed: 4 x 4 scores and 4 x d / 16 results per thread.
#include <warpgauge/cuda/arguments.hpp>
#include "kernels/attention/tiles.cuh"

namespace warpgauge::kernels {

inline constexpr unsigned tiled_rows = 64;      ///< queries, and keys, of a tile
inline constexpr unsigned tiled_threads = 256;  ///< 16 by 16
inline constexpr unsigned tiled_own = 4;        ///< rows of a thread

/// Rows are padded by 16 bytes, so that vectors of 8 rows' same columns lie in all banks.
template <unsigned D>
struct TiledMemory {
  float q[tiled_rows][D + 4];
  float kv[tiled_rows][D + 4];  ///< keys, then values
  float powers[tiled_rows][tiled_rows + 4];
};

template <unsigned D>
__global__ __launch_bounds__(tiled_threads, 2) void attention_tiled_kernel(
    const __nv_bfloat16* __restrict__ q, const __nv_bfloat16* __restrict__ k,
    const __nv_bfloat16* __restrict__ v, __nv_bfloat16* __restrict__ out, AttentionSizes sizes) {
  extern __shared__ __align__(16) unsigned char tiled_memory[];
  auto& memory = *reinterpret_cast<TiledMemory<D>*>(tiled_memory);
  const QueryTile tile = query_tile<tiled_rows>(sizes, blockIdx.x);
  const unsigned kv_head = tile.head / (sizes.heads / sizes.kv_heads);
  const auto load = [&](float(&to)[tiled_rows][D + 4], const __nv_bfloat16* from, unsigned first,
                        unsigned heads, unsigned head, float scale) {
    for (unsigned i = threadIdx.x; i < tiled_rows * D; i += tiled_threads) {
      const unsigned row = first + i / D;
      const std::size_t at =
          ((std::size_t{tile.batch} * sizes.length + row) * heads + head) * D + i % D;
      to[i / D][i % D] = row < sizes.length ? __bfloat162float(from[at]) * scale : 0;
    }
  };
  load(memory.q, q, tile.first, sizes.heads, tile.head, sizes.scale);
  // Threads of one y, half a warp, have the same rows of scores and of results.
  const unsigned x = threadIdx.x % 16;
  const unsigned first_row = threadIdx.x / 16 * tiled_own;
  float largest[tiled_own];
  float sums[tiled_own] = {};
  float results[tiled_own][D / 16] = {};
#pragma unroll
  for (float& value : largest) {
    value = -INFINITY;
  }
  for (unsigned first_key = 0; first_key < tile.keys; first_key += tiled_rows) {
    __syncthreads();  // nobody reads the values before
    load(memory.kv, k, first_key, sizes.kv_heads, kv_head, 1);
    __syncthreads();
    float scores[tiled_own][tiled_own] = {};  // of keys x, x + 16, ...
#pragma unroll 4
    for (unsigned i = 0; i < D; i += 4) {
      float4 key[tiled_own];
#pragma unroll
      for (unsigned j = 0; j < tiled_own; ++j) {
        key[j] = *reinterpret_cast<const float4*>(&memory.kv[x + j * 16][i]);
      }
#pragma unroll
      for (unsigned row = 0; row < tiled_own; ++row) {
        const auto query = *reinterpret_cast<const float4*>(&memory.q[first_row + row][i]);
#pragma unroll
        for (unsigned j = 0; j < tiled_own; ++j) {
          scores[row][j] +=
              query.x * key[j].x + query.y * key[j].y + query.z * key[j].z + query.w * key[j].w;
        }
      }
    }
#pragma unroll
    for (unsigned row = 0; row < tiled_own; ++row) {
      float tallest = largest[row];
#pragma unroll
      for (unsigned j = 0; j < tiled_own; ++j) {
        const unsigned key = first_key + x + j * 16;
        if (key >= sizes.length || (sizes.causal && key > tile.first + first_row + row)) {
          scores[row][j] = -INFINITY;
        }
        tallest = fmaxf(tallest, scores[row][j]);
      }
#pragma unroll
      for (unsigned step = 8; step > 0; step /= 2) {
        tallest = fmaxf(tallest, __shfl_xor_sync(~0U, tallest, step));
      }
      const float correction = power_of_2(largest[row] - tallest);
      largest[row] = tallest;
      sums[row] *= correction;
#pragma unroll
      for (unsigned j = 0; j < tiled_own; ++j) {
        const float power = power_of_2(scores[row][j] - tallest);
        sums[row] += power;
        memory.powers[first_row + row][x + j * 16] = power;
      }
#pragma unroll
      for (float& result : results[row]) {
        result *= correction;
      }
    }
    __syncthreads();  // nobody reads the keys
    load(memory.kv, v, first_key, sizes.kv_heads, kv_head, 1);
    __syncthreads();
#pragma unroll 4
    for (unsigned key = 0; key < tiled_rows; ++key) {
      float power[tiled_own];
#pragma unroll
      for (unsigned row = 0; row < tiled_own; ++row) {
        power[row] = memory.powers[first_row + row][key];
      }
#pragma unroll
      for (unsigned j = 0; j < D / 64; ++j) {
        const auto value = *reinterpret_cast<const float4*>(&memory.kv[key][j * 64 + x * 4]);
#pragma unroll
        for (unsigned row = 0; row < tiled_own; ++row) {
          results[row][j * 4] += power[row] * value.x;
          results[row][j * 4 + 1] += power[row] * value.y;
          results[row][j * 4 + 2] += power[row] * value.z;
          results[row][j * 4 + 3] += power[row] * value.w;
        }
      }
    }
  }
#pragma unroll
  for (unsigned row = 0; row < tiled_own; ++row) {
    float sum = sums[row];
#pragma unroll
    for (unsigned step = 8; step > 0; step /= 2) {
      sum += __shfl_xor_sync(~0U, sum, step);
    }
    const unsigned query = tile.first + first_row + row;
    if (query < sizes.length) {
      __nv_bfloat16* const to =
          out + ((std::size_t{tile.batch} * sizes.length + query) * sizes.heads + tile.head) * D +
          x * 4;
#pragma unroll
      for (unsigned j = 0; j < D / 16; j += 2) {
        *reinterpret_cast<unsigned*>(to + j / 4 * 64 + j % 4) =
            round_two<__nv_bfloat16>(results[row][j] / sum, results[row][j + 1] / sum);
      }
    }
  }
}

void attention_tiled(const __nv_bfloat16* q, const __nv_bfloat16* k, const __nv_bfloat16* v,
                     __nv_bfloat16* out, AttentionShape shape, cudaStream_t stream) {
  if (has_no_elements(shape)) {
    return;
  }
  constexpr const char* launcher = "attention_tiled";
  require_attention(launcher, q, k, v, shape);
  require_pointer(launcher, "out", out, 16);
  const unsigned blocks = attention_blocks(launcher, shape, tiled_rows);
  with_head_size(shape, [&]<unsigned D>(std::integral_constant<unsigned, D>) {
    constexpr std::size_t bytes = sizeof(TiledMemory<D>);
    allow_shared_memory(attention_tiled_kernel<D>, bytes);
    attention_tiled_kernel<D>
        <<<blocks, tiled_threads, bytes, stream>>>(q, k, v, out, sizes_of(shape));
  });
  WARPGAUGE_CHECK(cudaGetLastError());
}

}  // namespace warpgauge::kernels
