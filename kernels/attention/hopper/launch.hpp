// SPDX-License-Identifier: Apache-2.0
// Launches the Hopper rungs of attention.
#pragma once

#include <cuda.h>

#include "kernels/attention/arguments.hpp"

namespace warpgauge::kernels::hopper {

/// A kernel's only parameter.
struct AttentionArguments {
  CUtensorMap q, k, v;  ///< heads head_size columns, length rows, batch matrices
  __nv_bfloat16* out;
  AttentionSizes sizes;
};

struct AttentionLaunch {
  const char* launcher;  ///< begins the messages
  unsigned tile_queries, tile_keys;
  unsigned threads;  ///< of a block
  unsigned shared_bytes;
  bool persistent = false;  ///< at most one block per multiprocessor
};

void launch_attention(const AttentionLaunch& launch, void (*kernel)(AttentionArguments),
                      const __nv_bfloat16* q, const __nv_bfloat16* k, const __nv_bfloat16* v,
                      __nv_bfloat16* out, AttentionShape shape, cudaStream_t stream);

}  // namespace warpgauge::kernels::hopper
