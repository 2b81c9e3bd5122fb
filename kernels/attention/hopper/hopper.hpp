// SPDX-License-Identifier: Apache-2.0
// Attention with TMA and wgmma. Needs compute capability 9.0 exactly: has_wgmma().
#pragma once

#include "kernels/attention/attention.hpp"

namespace warpgauge::kernels {

// Arguments and errors as in attention.hpp; std::runtime_error on a device without wgmma.

/// A producer warp loads with TMA; two warpgroups multiply 64 queries each, with P in registers.
void attention_wgmma(const __nv_bfloat16* q, const __nv_bfloat16* k, const __nv_bfloat16* v,
                     __nv_bfloat16* out, AttentionShape shape, cudaStream_t stream);

/// The same with softmax of one tile during products of others; blocks go from tile to tile.
void attention_ping_pong(const __nv_bfloat16* q, const __nv_bfloat16* k, const __nv_bfloat16* v,
                         __nv_bfloat16* out, AttentionShape shape, cudaStream_t stream);

/// The same with larger tiles; with d = 128 only if not causal.
void attention_large_tiles(const __nv_bfloat16* q, const __nv_bfloat16* k, const __nv_bfloat16* v,
                           __nv_bfloat16* out, AttentionShape shape, cudaStream_t stream);

}  // namespace warpgauge::kernels
