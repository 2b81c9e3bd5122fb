// SPDX-License-Identifier: Apache-2.0
// TMA and wgmma: a producer warp loads, two warpgroups multiply 64 queries each by tiles of 128
// keys; P is converted in registers and never stored. Bound by waiting: within a warpgroup, softmax
// and both products follow each other, and only the other warpgroup fills the pauses, by chance.
#include "kernels/attention/hopper/hopper.hpp"
#include "kernels/attention/hopper/tiles.cuh"

namespace warpgauge::kernels {
namespace hopper {

template <class Tile>
__global__ __launch_bounds__(Tile::threads, 1) void attention_wgmma_kernel(
    const __grid_constant__ AttentionArguments arguments) {
  const AttentionMemory<Tile> memory = attention_memory<Tile>();
  const QueryTile tile = query_tile<Tile::queries>(arguments.sizes, blockIdx.x);
  RingPlace<Tile::q_stages> q_place;
  RingPlace<Tile::stages> place;
  memory.init();
  const unsigned warpgroup = threadIdx.x / warpgroup_threads;
  if (warpgroup == Tile::consumers) {
    release_registers<24>();
    if (warp_index() == Tile::consumers * warpgroup_threads / 32) {
      load_query_tile(arguments, memory, q_place, place, tile);
    }
    return;
  }
  claim_registers<240>();
  const unsigned row = tile.first + warpgroup * wgmma_m + own_row();
  const unsigned tiles = key_tiles<Tile>(tile);
  const unsigned q = memory.q(q_place) + warpgroup * wgmma_m * box_row_bytes;
  float scores[1][Tile::keys / 2];
  float out[1][Tile::d / 2] = {};
  unsigned powers[Tile::keys / wgmma_k][4];
  OnlineSoftmax softmax{arguments.sizes.scale};
  wait(memory.q_full(q_place), q_place.parity);
  for (unsigned key_tile = tiles; key_tile-- > 0;) {
    wait(memory.k_full(place), place.parity);
    pin_sums(scores);
    begin_products();
    multiply_keys<Tile>(scores, q, memory.k(place));
    wait_for_products<0>();
    pin_sums(scores);
    release(memory.k_empty(place));
    if (key_tile + 1 == tiles) {
      hide_keys(scores[0], arguments.sizes, key_tile * Tile::keys, row);
    }
    float correction[2];
    softmax.add(scores[0], correction);
    correct(out[0], correction);
    round_powers(powers, scores[0]);
    wait(memory.v_full(place), place.parity);
    pin_sums(out);
    begin_products();
    multiply_values<Tile>(out, powers, memory.v(place));
    wait_for_products<0>();
    pin_sums(out);
    release(memory.v_empty(place));
    place.advance();
  }
  store_rows(arguments.out, arguments.sizes, tile, row, out[0], softmax.sums);
}

}  // namespace hopper

void attention_wgmma(const __nv_bfloat16* q, const __nv_bfloat16* k, const __nv_bfloat16* v,
                     __nv_bfloat16* out, AttentionShape shape, cudaStream_t stream) {
  if (has_no_elements(shape)) {
    return;
  }
  // Other head sizes are refused in the launch.
  with_head_size(shape, [&]<unsigned D>(std::integral_constant<unsigned, D>) {
    using Tile = hopper::AttentionTile<D, 128, 1>;
    hopper::launch_attention({.launcher = "attention_wgmma",
                              .tile_queries = Tile::queries,
                              .tile_keys = Tile::keys,
                              .threads = Tile::threads,
                              .shared_bytes = Tile::shared_bytes},
                             hopper::attention_wgmma_kernel<Tile>, q, k, v, out, shape, stream);
  });
}

}  // namespace warpgauge::kernels
