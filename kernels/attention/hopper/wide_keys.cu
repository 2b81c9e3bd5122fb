// SPDX-License-Identifier: Apache-2.0
// Tiles of 176 keys instead of 128, as many as registers and shared memory hold with d = 128: fewer
// turns, maxima and corrections for the same products. Then only one tile of queries fits. Causal
// attention keeps 128, because a query would else see no key of the first tile, the last keys.
// Bound as the rung before.
#include "kernels/attention/hopper/hopper.hpp"
#include "kernels/attention/hopper/ping_pong.cuh"

namespace warpgauge::kernels {

void attention_wide_keys(const __nv_bfloat16* q, const __nv_bfloat16* k, const __nv_bfloat16* v,
                         __nv_bfloat16* out, AttentionShape shape, cudaStream_t stream) {
  if (has_no_elements(shape)) {
    return;
  }
  constexpr const char* launcher = "attention_wide_keys";
  with_head_size(shape, [&]<unsigned D>(std::integral_constant<unsigned, D>) {
    if (shape.causal) {
      hopper::launch_ping_pong<hopper::AttentionTile<D, 128, 2>>(launcher, q, k, v, out, shape,
                                                                 stream);
    } else {
      hopper::launch_ping_pong<hopper::AttentionTile<D, 176, 1>>(launcher, q, k, v, out, shape,
                                                                 stream);
    }
  });
}

}  // namespace warpgauge::kernels
