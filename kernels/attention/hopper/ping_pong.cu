// SPDX-License-Identifier: Apache-2.0
// Softmax hides behind products (Shah et al. 2024, "FlashAttention-3"). Within a warpgroup, Q K^T
// of the next keys and P V of these are issued together, and softmax of the next scores begins when
// the first is complete. Two warpgroups take turns to issue, so that the products of one run during
// the softmax of the other. Persistent blocks store one tile while the next is loaded. Bound by
// products, per 128 x 128 scores with d = 128 2048 cycles and 1024 of 2^x; measured: 2800.
#include "kernels/attention/hopper/hopper.hpp"
#include "kernels/attention/hopper/ping_pong.cuh"

namespace warpgauge::kernels {

void attention_ping_pong(const __nv_bfloat16* q, const __nv_bfloat16* k, const __nv_bfloat16* v,
                         __nv_bfloat16* out, AttentionShape shape, cudaStream_t stream) {
  if (has_no_elements(shape)) {
    return;
  }
  with_head_size(shape, [&]<unsigned D>(std::integral_constant<unsigned, D>) {
    hopper::launch_ping_pong<hopper::AttentionTile<D, 128, 2>>("attention_ping_pong", q, k, v, out,
                                                               shape, stream);
  });
}

}  // namespace warpgauge::kernels
