// SPDX-License-Identifier: Apache-2.0
// A cluster of two blocks with queries of one head shares its keys: each block reads half of a tile
// from the L2 and multicasts it to both. 128 queries and 128 keys read 64 KiB, 5.5 TB/s at 670
// TFLOP/s, about what the L2 can give; this halves it. Bound by products.
#include "kernels/attention/hopper/hopper.hpp"
#include "kernels/attention/hopper/ping_pong.cuh"

namespace warpgauge::kernels {

void attention_multicast(const __nv_bfloat16* q, const __nv_bfloat16* k, const __nv_bfloat16* v,
                         __nv_bfloat16* out, AttentionShape shape, cudaStream_t stream) {
  using Tile = hopper::AttentionTile<128, 176, 1, 2, 2>;
  constexpr const char* launcher = "attention_multicast";
  const std::size_t tiles = (shape.length + Tile::queries - 1) / Tile::queries;
  if (has_no_elements(shape) || shape.causal || shape.head_size != Tile::d || tiles % 2 != 0) {
    hopper::launch_large_tiles(launcher, q, k, v, out, shape, stream);
    return;
  }
  hopper::launch_ping_pong<Tile>(launcher, q, k, v, out, shape, stream);
}

}  // namespace warpgauge::kernels
