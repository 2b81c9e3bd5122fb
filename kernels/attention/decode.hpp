// SPDX-License-Identifier: Apache-2.0
// Attention of the next token of each sequence over a long cache of keys and values in pages: each
// key is read once, 4 head_size bytes with its value, for heads / kv_heads queries. Bound by device
// memory.
#pragma once

#include <cuda_bf16.h>
#include <cuda_runtime_api.h>

#include <cstddef>
#include <cstdint>

namespace warpgauge::kernels {

inline constexpr std::size_t most_decode_group = 16;
inline constexpr std::size_t decode_page_multiple = 16;

/// q and out are [batch, heads, head_size]; k and v are [pages, kv_heads, page_keys, head_size], so
/// that a head's keys of a page are contiguous. Query head h reads kv head h / (heads / kv_heads).
struct DecodeShape {
  std::size_t batch, heads, kv_heads;  ///< at most most_decode_group heads for each kv head
  std::size_t head_size;               ///< 64 or 128
  std::size_t page_keys;               ///< keys of a page, a multiple of decode_page_multiple
  std::size_t sequence_pages;          ///< entries of `table` for each sequence
};

/// A cache: key i of sequence s lies in page table[s sequence_pages + i / page_keys], at place
/// i % page_keys. A sequence has lengths[s] keys, 1 to sequence_pages * page_keys.
struct PagedCache {
  const __nv_bfloat16* k;
  const __nv_bfloat16* v;
  const std::int32_t* table;
  const std::int32_t* lengths;
};

/// Floats of the workspace that attention_decode() needs for this shape on the current device.
std::size_t attention_decode_workspace(DecodeShape shape);

/// Splits the keys of each sequence over blocks, which write partial results to `workspace`; a
/// second kernel combines them. Accuracy, alignment and errors as in attention.hpp.
void attention_decode(const __nv_bfloat16* q, PagedCache cache, __nv_bfloat16* out,
                      float* workspace, DecodeShape shape, cudaStream_t stream);

/// All of the result in double precision, for verification. Errors as above.
void attention_decode_reference(const __nv_bfloat16* q, PagedCache cache, double* expected,
                                DecodeShape shape, cudaStream_t stream);

}  // namespace warpgauge::kernels
