// SPDX-License-Identifier: Apache-2.0
// Tiles as large as registers hold. With d = 128, unless causal: 176 keys instead of 128, so fewer
// turns, maxima and corrections for the same products; shared memory then has room for one tile of
// queries. With d = 64, 2^x takes as long as the products, and two warpgroups leave both units
// idle: a third one of 64 queries fits, 160 registers a thread. Bound by products and 2^x.
#include "kernels/attention/hopper/hopper.hpp"
#include "kernels/attention/hopper/ping_pong.cuh"

namespace warpgauge::kernels {

void attention_large_tiles(const __nv_bfloat16* q, const __nv_bfloat16* k, const __nv_bfloat16* v,
                           __nv_bfloat16* out, AttentionShape shape, cudaStream_t stream) {
  if (has_no_elements(shape)) {
    return;
  }
  constexpr const char* launcher = "attention_large_tiles";
  if (shape.head_size == 64 && shape.causal) {
    hopper::launch_ping_pong<hopper::AttentionTile<64, 128, 2, 3, 3>>(launcher, q, k, v, out, shape,
                                                                      stream);
    return;
  }
  if (shape.causal) {
    // With 176 keys, a query would see no key of the first tile, the last keys.
    with_head_size(shape, [&]<unsigned D>(std::integral_constant<unsigned, D>) {
      hopper::launch_ping_pong<hopper::AttentionTile<D, 128, 2>>(launcher, q, k, v, out, shape,
                                                                 stream);
    });
    return;
  }
  with_head_size(shape, [&]<unsigned D>(std::integral_constant<unsigned, D>) {
    using Tile = std::conditional_t<D == 64, hopper::AttentionTile<D, 128, 2, 3>,
                                    hopper::AttentionTile<D, 176, 1>>;
    hopper::launch_ping_pong<Tile>(launcher, q, k, v, out, shape, stream);
  });
}

}  // namespace warpgauge::kernels
