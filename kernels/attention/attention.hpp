// SPDX-License-Identifier: Apache-2.0
// Attention, forward: out = softmax(q k^T / sqrt(d)) v for each head (Vaswani et al. 2017,
// "Attention Is All You Need"). 4 batch heads length^2 d operations, half of that if causal, on
// inputs that are read once: long sequences are bound by arithmetic.
#pragma once

#include <cuda_bf16.h>
#include <cuda_runtime_api.h>

#include <cstddef>

namespace warpgauge::kernels {

/// Arrays are contiguous: q and out [batch, length, heads, head_size], k and v [batch, length,
/// kv_heads, head_size], as in FlashAttention. Query head h reads kv head h / (heads / kv_heads).
struct AttentionShape {
  std::size_t batch, length, heads, kv_heads;
  std::size_t head_size;  ///< 64 or 128
  bool causal;            ///< query i sees keys 0 to i only
};

// All launchers below: scores, sums and results are fp32; each result is rounded to bf16 once. The
// tensor-core rungs also round the powers to bf16, as FlashAttention does. Hidden keys have a power
// of 0, so an infinite or NaN v may make NaN of queries that do not see it. Arrays are on the
// device, aligned to 16 bytes, and do not overlap. Asynchronous on stream; can be captured into a
// graph. No batch, no length or no heads: they do nothing, whatever the pointers. Throw
// std::invalid_argument for a null or misaligned pointer, a head_size that is not 64 or 128, heads
// that are no multiple of kv_heads, a length above most_attention_length, or more than 2^31 - 1
// blocks; std::runtime_error for a refused launch or a device that is too old.

inline constexpr std::size_t most_attention_length = std::size_t{1} << 20;

/// One block per query; its scores are a row in shared memory. At most most_naive_length keys.
void attention_naive(const __nv_bfloat16* q, const __nv_bfloat16* k, const __nv_bfloat16* v,
                     __nv_bfloat16* out, AttentionShape shape, cudaStream_t stream);
inline constexpr std::size_t most_naive_length = std::size_t{16} << 10;

/// Tiles of 64 queries and 64 keys, and softmax one tile at a time.
void attention_tiled(const __nv_bfloat16* q, const __nv_bfloat16* k, const __nv_bfloat16* v,
                     __nv_bfloat16* out, AttentionShape shape, cudaStream_t stream);

/// Tensor cores with mma.sync; the powers stay in registers between the two products.
void attention_mma(const __nv_bfloat16* q, const __nv_bfloat16* k, const __nv_bfloat16* v,
                   __nv_bfloat16* out, AttentionShape shape, cudaStream_t stream);

/// expected[i] = element first + i of the flattened result for i < count, in double precision, for
/// verification. count = 0 does nothing. Also throws std::invalid_argument if first + count is
/// larger than the result.
void attention_reference(const __nv_bfloat16* q, const __nv_bfloat16* k, const __nv_bfloat16* v,
                         double* expected, AttentionShape shape, std::size_t first,
                         std::size_t count, cudaStream_t stream);

}  // namespace warpgauge::kernels
