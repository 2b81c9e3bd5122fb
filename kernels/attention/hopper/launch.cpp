// SPDX-License-Identifier: Apache-2.0
#include "kernels/attention/hopper/launch.hpp"

#include <algorithm>

#include <warpgauge/cuda/arguments.hpp>
#include <warpgauge/cuda/current_device.hpp>
#include "kernels/hopper/tensor_map.hpp"

namespace warpgauge::kernels::hopper {

void launch_attention(const AttentionLaunch& launch, void (*kernel)(AttentionArguments),
                      const __nv_bfloat16* q, const __nv_bfloat16* k, const __nv_bfloat16* v,
                      __nv_bfloat16* out, AttentionShape shape, cudaStream_t stream) {
  require_attention(launch.launcher, q, k, v, shape);
  require_pointer(launch.launcher, "out", out, 16);
  const unsigned tiles = attention_blocks(launch.launcher, shape, launch.tile_queries);
  require_wgmma(launch.launcher);
  const auto map = [&](const __nv_bfloat16* array, std::size_t heads, unsigned box_rows) {
    return tensor_map(launch.launcher, array, shape.batch, shape.length, heads * shape.head_size,
                      box_rows, sizeof(__nv_bfloat16));
  };
  AttentionArguments arguments{.q = map(q, shape.heads, launch.tile_queries),
                               .k = map(k, shape.kv_heads, launch.tile_keys),
                               .v = map(v, shape.kv_heads, launch.tile_keys),
                               .out = out,
                               .sizes = sizes_of(shape)};
  allow_shared_memory(kernel, launch.shared_bytes);
  unsigned blocks = tiles;
  if (launch.persistent) {
    // Fewer need as many turns, if tiles are alike: the last turn is then nearly full, and the
    // unused multiprocessors save power.
    const unsigned turns = (tiles - 1) / sm_count() + 1;
    blocks = shape.causal ? std::min(tiles, sm_count()) : (tiles - 1) / turns + 1;
  }
  void* parameters[]{&arguments};
  WARPGAUGE_CHECK(cudaLaunchKernel(reinterpret_cast<const void*>(kernel), dim3(blocks),
                                   dim3(launch.threads), parameters, launch.shared_bytes, stream));
}

}  // namespace warpgauge::kernels::hopper
