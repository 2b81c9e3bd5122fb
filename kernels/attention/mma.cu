// SPDX-License-Identifier: Apache-2.0
// mma.sync, in the form of FlashAttention-2 (Dao 2023): a warp has 32 queries and all keys, so its
// softmax needs no other warp, and the powers go from the results of the first product to the
// inputs of the second in registers. Copies of the next keys run during both. Bound by the rate of
// mma.sync, and by softmax, during which a warp multiplies nothing: two blocks of 4 warps share a
// multiprocessor to fill that.
#include <warpgauge/cuda/arguments.hpp>
#include "kernels/attention/tiles.cuh"
#include "kernels/gemm/copies.cuh"

namespace warpgauge::kernels {

inline constexpr unsigned mma_queries = 128;
inline constexpr unsigned mma_threads = 128;
inline constexpr unsigned mma_rows = 16;  ///< of an instruction
inline constexpr unsigned mma_steps = 2;  ///< of 16 queries in a warp
inline constexpr unsigned mma_warp_queries = mma_steps * mma_rows;

/// Keys of a tile: as many as leave registers for the results.
template <unsigned D>
inline constexpr unsigned mma_keys = 64 * 64 / D;

/// Starts to copy `Rows` rows of a head to shared memory, from row `first`; zeros after the last.
template <unsigned D, unsigned Rows>
__device__ inline void copy_rows(unsigned char* to, const __nv_bfloat16* from, unsigned stride,
                                 unsigned first, unsigned end) {
#pragma unroll
  for (unsigned i = threadIdx.x; i < Rows * (D / 8); i += mma_threads) {
    const unsigned row = i / (D / 8);
    const unsigned chunk = i % (D / 8);
    copy_async<16>(to + chunk_of<D>(row, chunk),
                   from + std::size_t{first + row} * stride + chunk * 8, first + row < end);
  }
}

template <unsigned D>
__global__ __launch_bounds__(mma_threads, 2) void attention_mma_kernel(
    const __nv_bfloat16* __restrict__ q, const __nv_bfloat16* __restrict__ k,
    const __nv_bfloat16* __restrict__ v, __nv_bfloat16* __restrict__ out, AttentionSizes sizes) {
  constexpr unsigned q_bytes = mma_queries * D * 2;
  constexpr unsigned kv_bytes = mma_keys<D> * D * 2;
  extern __shared__ __align__(128) unsigned char mma_memory[];
  const QueryTile tile = query_tile<mma_queries>(sizes, blockIdx.x);
  const unsigned kv_head = tile.head / (sizes.heads / sizes.kv_heads);
  const std::size_t first_of_batch = std::size_t{tile.batch} * sizes.length;
  const unsigned q_stride = sizes.heads * D;
  const unsigned kv_stride = sizes.kv_heads * D;
  const __nv_bfloat16* const own_k = k + (first_of_batch * sizes.kv_heads + kv_head) * D;
  const __nv_bfloat16* const own_v = v + (first_of_batch * sizes.kv_heads + kv_head) * D;
  const auto copy_keys = [&](unsigned key_tile) {
    unsigned char* const to = mma_memory + q_bytes + key_tile % 2 * 2 * kv_bytes;
    copy_rows<D, mma_keys<D>>(to, own_k, kv_stride, key_tile * mma_keys<D>, sizes.length);
    copy_rows<D, mma_keys<D>>(to + kv_bytes, own_v, kv_stride, key_tile * mma_keys<D>,
                              sizes.length);
  };
  copy_rows<D, mma_queries>(mma_memory, q + (first_of_batch * sizes.heads + tile.head) * D,
                            q_stride, tile.first, sizes.length);
  copy_keys(0);
  commit_copies();

  const unsigned lane = threadIdx.x % 32;
  const unsigned warp_row = threadIdx.x / 32 * mma_warp_queries;
  const unsigned own_q = shared_address(mma_memory);
  const unsigned row = tile.first + warp_row + lane / 4;
  float results[mma_steps][D / 2] = {};
  OnlineSoftmax softmax[mma_steps] = {{sizes.scale}, {sizes.scale}};
  const unsigned tiles = (tile.keys - 1) / mma_keys<D> + 1;
  for (unsigned key_tile = 0; key_tile < tiles; ++key_tile) {
    wait_for_copies<0>();
    __syncthreads();  // this tile has arrived, and nobody reads the one before
    if (key_tile + 1 < tiles) {
      copy_keys(key_tile + 1);
    }
    commit_copies();
    const unsigned keys = own_q + q_bytes + key_tile % 2 * 2 * kv_bytes;
    const unsigned values = keys + kv_bytes;
    float scores[mma_steps][mma_keys<D> / 2] = {};
#pragma unroll
    for (unsigned step = 0; step < D / 16; ++step) {
      unsigned a[mma_steps][4];
#pragma unroll
      for (unsigned i = 0; i < mma_steps; ++i) {
        load_matrices(
            a[i], own_q + chunk_of<D>(warp_row + i * mma_rows + lane % 16, step * 2 + lane / 16));
      }
#pragma unroll
      for (unsigned pair = 0; pair < mma_keys<D> / 16; ++pair) {
        unsigned b[4];
        load_matrices(
            b, keys + chunk_of<D>(pair * 16 + lane / 16 * 8 + lane % 8, step * 2 + lane / 8 % 2));
#pragma unroll
        for (unsigned i = 0; i < mma_steps; ++i) {
          multiply_matrices<__nv_bfloat16>(scores[i] + pair * 8, a[i], b[0], b[1]);
          multiply_matrices<__nv_bfloat16>(scores[i] + pair * 8 + 4, a[i], b[2], b[3]);
        }
      }
    }
    const unsigned first_key = key_tile * mma_keys<D>;
    // The first query of the block sees the fewest keys.
    const bool masked = first_key + mma_keys<D> > (sizes.causal ? tile.first + 1 : sizes.length);
    unsigned powers[mma_steps][mma_keys<D> / 16][4];
#pragma unroll
    for (unsigned i = 0; i < mma_steps; ++i) {
      if (masked) {
        hide_keys(scores[i], sizes, first_key, row + i * mma_rows);
      }
      float correction[2];
      softmax[i].add(scores[i], correction);
      correct(results[i], correction);
      round_powers(powers[i], scores[i]);
    }
#pragma unroll
    for (unsigned step = 0; step < mma_keys<D> / 16; ++step) {
#pragma unroll
      for (unsigned pair = 0; pair < D / 16; ++pair) {
        unsigned b[4];
        load_matrices_transposed(b,
                                 values + chunk_of<D>(step * 16 + lane % 16, pair * 2 + lane / 16));
#pragma unroll
        for (unsigned i = 0; i < mma_steps; ++i) {
          multiply_matrices<__nv_bfloat16>(results[i] + pair * 8, powers[i][step], b[0], b[1]);
          multiply_matrices<__nv_bfloat16>(results[i] + pair * 8 + 4, powers[i][step], b[2], b[3]);
        }
      }
    }
  }
#pragma unroll
  for (unsigned i = 0; i < mma_steps; ++i) {
    store_rows(out, sizes, tile, row + i * mma_rows, results[i], softmax[i].sums);
  }
}

void attention_mma(const __nv_bfloat16* q, const __nv_bfloat16* k, const __nv_bfloat16* v,
                   __nv_bfloat16* out, AttentionShape shape, cudaStream_t stream) {
  if (has_no_elements(shape)) {
    return;
  }
  constexpr const char* launcher = "attention_mma";
  require_attention(launcher, q, k, v, shape);
  require_pointer(launcher, "out", out, 16);
  const unsigned blocks = attention_blocks(launcher, shape, mma_queries);
  with_head_size(shape, [&]<unsigned D>(std::integral_constant<unsigned, D>) {
    constexpr unsigned bytes = (mma_queries + 4 * mma_keys<D>)*D * 2;
    allow_shared_memory(attention_mma_kernel<D>, bytes);
    attention_mma_kernel<D><<<blocks, mma_threads, bytes, stream>>>(q, k, v, out, sizes_of(shape));
  });
  WARPGAUGE_CHECK(cudaGetLastError());
}

}  // namespace warpgauge::kernels
