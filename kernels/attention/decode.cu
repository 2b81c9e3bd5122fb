// SPDX-License-Identifier: Apache-2.0
// One query per sequence over a paged cache. The queries of a kv head are the rows of one tile on
// tensor cores, so that each key is read once for all of them; the keys of a sequence are split
// over blocks ("Flash-Decoding", Dao et al. 2023), because batch and heads alone do not fill the
// GPU. Each warp has a ring of copies of its own and waits for nobody. Bound by device memory.
#include <algorithm>

#include <warpgauge/cuda/current_device.hpp>
#include "kernels/arguments.hpp"
#include "kernels/attention/decode.hpp"
#include "kernels/attention/tiles.cuh"
#include "kernels/gemm/copies.cuh"

namespace warpgauge::kernels {

inline constexpr unsigned decode_warps = 4;
inline constexpr unsigned decode_keys = decode_page_multiple;  ///< that a warp multiplies at once
inline constexpr unsigned decode_stages = 3;
inline constexpr unsigned decode_blocks_per_sm = 2;
inline constexpr unsigned decode_rows = most_decode_group;  ///< queries of a kv head, at most

template <unsigned D>
inline constexpr unsigned decode_stage_bytes = 2 * decode_keys * D * 2;

struct DecodeSizes {
  unsigned heads, kv_heads, page_keys, sequence_pages, splits;
  float scale;
};

/// What a block leaves in the workspace, for each of its queries: results[D] relative to the
/// largest score, then that score and the sum of powers.
template <unsigned D>
inline constexpr unsigned decode_partial_floats = D + 2;

template <unsigned D>
__global__ __launch_bounds__(decode_warps * 32, decode_blocks_per_sm) void attention_decode_kernel(
    const __nv_bfloat16* __restrict__ q, PagedCache cache, float* __restrict__ workspace,
    DecodeSizes sizes) {
  extern __shared__ __align__(128) unsigned char decode_memory[];
  const unsigned lane = threadIdx.x % 32;
  const unsigned warp = threadIdx.x / 32;
  const unsigned split = blockIdx.x % sizes.splits;
  const unsigned kv_head = blockIdx.x / sizes.splits % sizes.kv_heads;
  const std::size_t sequence = blockIdx.x / sizes.splits / sizes.kv_heads;
  const unsigned group = sizes.heads / sizes.kv_heads;
  const std::size_t first_query = sequence * sizes.heads + kv_head * group;
  const auto length = static_cast<unsigned>(cache.lengths[sequence]);
  const std::int32_t* const table = cache.table + sequence * sizes.sequence_pages;

  // This split's tiles, of which the warps take turns.
  const unsigned tiles = (length + decode_keys - 1) / decode_keys;
  const auto begin = static_cast<unsigned>(std::uint64_t{tiles} * split / sizes.splits);
  const auto end = static_cast<unsigned>(std::uint64_t{tiles} * (split + 1) / sizes.splits);

  unsigned char* const own = decode_memory + warp * decode_stages * decode_stage_bytes<D>;
  const auto copy_tile = [&](unsigned tile, unsigned stage) {
    const unsigned key = tile * decode_keys;
    const std::size_t row =
        (static_cast<std::size_t>(table[key / sizes.page_keys]) * sizes.kv_heads + kv_head) *
            sizes.page_keys +
        key % sizes.page_keys;
    unsigned char* const to = own + stage * decode_stage_bytes<D>;
#pragma unroll
    for (unsigned i = lane; i < decode_keys * (D / 8); i += 32) {
      const unsigned place = chunk_of<D>(i / (D / 8), i % (D / 8));
      const bool exists = key + i / (D / 8) < length;
      copy_async<16>(to + place, cache.k + row * D + i * 8, exists);
      copy_async<16>(to + decode_keys * D * 2 + place, cache.v + row * D + i * 8, exists);
    }
  };
  unsigned queries[D / 16][4];
#pragma unroll
  for (unsigned i = 0; i < D / 4; ++i) {
    // As load_matrices() would: odd registers hold the lower eight rows, later ones 8 columns on.
    const unsigned row = lane / 4 + i % 2 * 8;
    const unsigned column = i / 4 * 16 + i / 2 % 2 * 8 + lane % 4 * 2;
    queries[i / 4][i % 4] =
        row < group ? *reinterpret_cast<const unsigned*>(q + (first_query + row) * D + column) : 0;
  }
#pragma unroll
  for (unsigned stage = 0; stage < decode_stages - 1; ++stage) {
    if (begin + warp + stage * decode_warps < end) {
      copy_tile(begin + warp + stage * decode_warps, stage);
    }
    commit_copies();
  }
  float results[D / 2] = {};
  OnlineSoftmax softmax{sizes.scale};
  unsigned stage = 0;
  for (unsigned tile = begin + warp; tile < end; tile += decode_warps) {
    wait_for_copies<decode_stages - 2>();
    __syncwarp();  // other lanes' copies have arrived, and all have read the stage before
    const unsigned next = tile + (decode_stages - 1) * decode_warps;
    if (next < end) {
      copy_tile(next, stage == 0 ? decode_stages - 1 : stage - 1);
    }
    commit_copies();
    const unsigned keys = shared_address(own) + stage * decode_stage_bytes<D>;
    const unsigned values = keys + decode_keys * D * 2;
    float scores[decode_keys / 2] = {};
#pragma unroll
    for (unsigned step = 0; step < D / 16; ++step) {
      unsigned b[4];
      load_matrices(b, keys + chunk_of<D>(lane / 16 * 8 + lane % 8, step * 2 + lane / 8 % 2));
      multiply_matrices<__nv_bfloat16>(scores, queries[step], b[0], b[1]);
      multiply_matrices<__nv_bfloat16>(scores + 4, queries[step], b[2], b[3]);
    }
    const unsigned last = length - 1 - tile * decode_keys;  // key of the tile
    if (last < decode_keys - 1) {
#pragma unroll
      for (unsigned i = 0; i < decode_keys / 2; ++i) {
        if (i / 4 * 8 + lane % 4 * 2 + i % 2 > last) {
          scores[i] = -INFINITY;
        }
      }
    }
    float correction[2];
    unsigned powers[1][4];
    softmax.add(scores, correction);
    correct(results, correction);
    round_powers(powers, scores);
#pragma unroll
    for (unsigned pair = 0; pair < D / 16; ++pair) {
      unsigned b[4];
      load_matrices_transposed(b, values + chunk_of<D>(lane % 16, pair * 2 + lane / 16));
      multiply_matrices<__nv_bfloat16>(results + pair * 8, powers[0], b[0], b[1]);
      multiply_matrices<__nv_bfloat16>(results + pair * 8 + 4, powers[0], b[2], b[3]);
    }
    stage = stage + 1 == decode_stages ? 0 : stage + 1;
  }

  // The warps' results become the block's. A warp without keys has none: its largest score is
  // -infinity, and so is the block's if it has no keys at all.
  wait_for_copies<0>();
  __syncthreads();
  auto* const of_warps = reinterpret_cast<float*>(decode_memory);
  constexpr unsigned floats = decode_partial_floats<D>;
#pragma unroll
  for (unsigned half = 0; half < 2; ++half) {
    float* const to = of_warps + (warp * decode_rows + lane / 4 + half * 8) * floats;
    float sum = softmax.sums[half];
    sum += __shfl_xor_sync(~0U, sum, 1);
    sum += __shfl_xor_sync(~0U, sum, 2);
#pragma unroll
    for (unsigned i = half * 2; i < D / 2; i += 4) {
      to[i / 4 * 8 + lane % 4 * 2] = results[i];
      to[i / 4 * 8 + lane % 4 * 2 + 1] = results[i + 1];
    }
    if (lane % 4 == 0) {
      to[D] = softmax.largest[half];
      to[D + 1] = sum;
    }
  }
  __syncthreads();
  for (unsigned row = warp; row < group; row += decode_warps) {
    const float* const from = of_warps + row * floats;
    float largest = -INFINITY;
#pragma unroll
    for (unsigned i = 0; i < decode_warps; ++i) {
      largest = fmaxf(largest, from[i * decode_rows * floats + D]);
    }
    float combined[D / 32] = {};
    float sum = 0;
#pragma unroll
    for (unsigned i = 0; i < decode_warps; ++i) {
      const float* const of_warp = from + i * decode_rows * floats;
      const float own_largest = of_warp[D];
      const float weight =
          own_largest == -INFINITY ? 0 : power_of_2((own_largest - largest) * sizes.scale);
      sum += weight * of_warp[D + 1];
#pragma unroll
      for (unsigned j = 0; j < D / 32; ++j) {
        combined[j] += weight * of_warp[lane + j * 32];
      }
    }
    float* const to = workspace + ((first_query + row) * sizes.splits + split) * floats;
#pragma unroll
    for (unsigned j = 0; j < D / 32; ++j) {
      to[lane + j * 32] = combined[j];
    }
    if (lane == 0) {
      to[D] = largest;
      to[D + 1] = sum;
    }
  }
}

inline constexpr unsigned combine_parts = 4;  ///< of the splits of a query

/// One block per query; each of `combine_parts` times D threads adds its part of one element.
template <unsigned D>
__global__ __launch_bounds__(combine_parts* D) void attention_combine_kernel(
    const float* __restrict__ workspace, __nv_bfloat16* __restrict__ out, unsigned splits,
    float scale) {
  __shared__ float results[combine_parts][D];
  __shared__ float sums[combine_parts];
  constexpr unsigned floats = decode_partial_floats<D>;
  const float* const from = workspace + std::size_t{blockIdx.x} * splits * floats;
  const unsigned part = threadIdx.x / D;
  const unsigned column = threadIdx.x % D;
  float largest = -INFINITY;
  for (unsigned split = threadIdx.x % 32; split < splits; split += 32) {
    largest = fmaxf(largest, from[split * floats + D]);
  }
#pragma unroll
  for (unsigned step = 16; step > 0; step /= 2) {
    largest = fmaxf(largest, __shfl_xor_sync(~0U, largest, step));
  }
  float result = 0;
  float sum = 0;
#pragma unroll 8  // loads in flight
  for (unsigned split = part; split < splits; split += combine_parts) {
    const float* const partial = from + split * floats;
    const float own_largest = partial[D];
    const float weight = own_largest == -INFINITY ? 0 : power_of_2((own_largest - largest) * scale);
    result += weight * partial[column];
    sum += weight * partial[D + 1];
  }
  results[part][column] = result;
  if (column == 0) {
    sums[part] = sum;
  }
  __syncthreads();
  if (part == 0) {
#pragma unroll
    for (unsigned i = 1; i < combine_parts; ++i) {
      result += results[i][column];
      sum += sums[i];
    }
    out[std::size_t{blockIdx.x} * D + column] = __float2bfloat16(result / sum);
  }
}

namespace {

/// Blocks of each kv head of a sequence: together as many as run at once.
unsigned splits_of(DecodeShape shape) {
  const std::size_t pairs = shape.batch * shape.kv_heads;
  const std::size_t at_once = std::size_t{sm_count()} * decode_blocks_per_sm;
  const std::size_t tiles = shape.sequence_pages * shape.page_keys / decode_keys;
  return static_cast<unsigned>(
      std::clamp(at_once / pairs, std::size_t{1}, std::max(tiles / decode_warps, std::size_t{1})));
}

}  // namespace

std::size_t attention_decode_workspace(DecodeShape shape) {
  if (has_no_elements(shape) || shape.kv_heads == 0) {
    return 0;  // attention_decode() does nothing, or refuses the shape
  }
  return shape.batch * shape.heads * splits_of(shape) * (shape.head_size + 2);
}

void attention_decode(const __nv_bfloat16* q, PagedCache cache, __nv_bfloat16* out,
                      float* workspace, DecodeShape shape, cudaStream_t stream) {
  if (has_no_elements(shape)) {
    return;
  }
  constexpr const char* launcher = "attention_decode";
  require_decode(launcher, q, cache, shape);
  require_arrays(launcher, {{"out", out, 16}, {"workspace", workspace}});
  const unsigned splits = splits_of(shape);
  const unsigned blocks = blocks_for(launcher, shape.batch * shape.kv_heads * splits, 1);
  const unsigned queries = blocks_for(launcher, shape.batch * shape.heads, 1);
  const DecodeSizes sizes{.heads = static_cast<unsigned>(shape.heads),
                          .kv_heads = static_cast<unsigned>(shape.kv_heads),
                          .page_keys = static_cast<unsigned>(shape.page_keys),
                          .sequence_pages = static_cast<unsigned>(shape.sequence_pages),
                          .splits = splits,
                          .scale = sizes_of(as_attention(shape)).scale};
  with_head_size(as_attention(shape), [&]<unsigned D>(std::integral_constant<unsigned, D>) {
    constexpr unsigned bytes = decode_warps * decode_stages * decode_stage_bytes<D>;
    static_assert(bytes >= decode_warps * decode_rows * decode_partial_floats<D> * sizeof(float));
    allow_shared_memory(attention_decode_kernel<D>, bytes);
    attention_decode_kernel<D>
        <<<blocks, decode_warps * 32, bytes, stream>>>(q, cache, workspace, sizes);
    WARPGAUGE_CHECK(cudaGetLastError());
    attention_combine_kernel<D>
        <<<queries, combine_parts * D, 0, stream>>>(workspace, out, splits, sizes.scale);
  });
  WARPGAUGE_CHECK(cudaGetLastError());
}

}  // namespace warpgauge::kernels
