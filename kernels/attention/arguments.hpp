// SPDX-License-Identifier: Apache-2.0
// What the launchers of attention check, and how they pass a shape to a kernel.
#pragma once

#include <cmath>
#include <cstddef>
#include <numbers>
#include <type_traits>

#include <warpgauge/cuda/check.hpp>
#include "kernels/attention/attention.hpp"
#include "kernels/attention/decode.hpp"

namespace warpgauge::kernels {

/// Throws std::invalid_argument, beginning with launcher, for a shape or pointer that no launcher
/// accepts. The shape has elements.
void require_attention(const char* launcher, const void* q, const void* k, const void* v,
                       AttentionShape shape);

inline bool has_no_elements(AttentionShape shape) {
  return shape.batch == 0 || shape.length == 0 || shape.heads == 0;
}

/// The same for decoding.
void require_decode(const char* launcher, const void* q, PagedCache cache, DecodeShape shape);

inline bool has_no_elements(DecodeShape shape) {
  return shape.batch == 0 || shape.heads == 0 || shape.sequence_pages == 0;
}

/// A sequence's queries of one token.
inline AttentionShape as_attention(DecodeShape shape) {
  return {shape.batch, 1, shape.heads, shape.kv_heads, shape.head_size, false};
}

/// Calls launch(std::integral_constant<unsigned, head size>).
template <class Launch>
void with_head_size(AttentionShape shape, const Launch& launch) {
  if (shape.head_size == 64) {
    launch(std::integral_constant<unsigned, 64>{});
  } else {
    launch(std::integral_constant<unsigned, 128>{});
  }
}

/// What a kernel needs to find its head and its rows.
struct AttentionSizes {
  unsigned batch, length, heads, kv_heads;
  bool causal;
  /// exp(score / sqrt(d)) = 2^(score scale), because the GPU has 2^x.
  float scale;
};

inline AttentionSizes sizes_of(AttentionShape shape) {
  return {.batch = static_cast<unsigned>(shape.batch),
          .length = static_cast<unsigned>(shape.length),
          .heads = static_cast<unsigned>(shape.heads),
          .kv_heads = static_cast<unsigned>(shape.kv_heads),
          .causal = shape.causal,
          .scale = static_cast<float>(std::numbers::log2e /
                                      std::sqrt(static_cast<double>(shape.head_size)))};
}

/// The blocks of a grid for tiles of `rows` queries. Throws std::invalid_argument if there are too
/// many.
unsigned attention_blocks(const char* launcher, AttentionShape shape, unsigned rows);

/// Allows so many bytes of shared memory to the blocks of a kernel.
template <class Kernel>
void allow_shared_memory(Kernel* kernel, std::size_t bytes) {
  WARPGAUGE_CHECK(cudaFuncSetAttribute(reinterpret_cast<const void*>(kernel),
                                       cudaFuncAttributeMaxDynamicSharedMemorySize,
                                       static_cast<int>(bytes)));
}

}  // namespace warpgauge::kernels
