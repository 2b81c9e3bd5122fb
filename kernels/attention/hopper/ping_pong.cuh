// SPDX-License-Identifier: Apache-2.0
// The kernel in which warpgroups take turns; ping_pong.cu says why.
#pragma once

#include "kernels/attention/hopper/tiles.cuh"

namespace warpgauge::kernels::hopper {

/// Calls body(tile of queries) for each tile of this block. Every other round goes through the
/// blocks backwards, so that each has long and short tiles.
template <unsigned Queries, class Body>
__device__ inline void for_each_query_tile(const AttentionSizes& sizes, const Body& body) {
  const unsigned tiles = ((sizes.length - 1) / Queries + 1) * sizes.heads * sizes.batch;
  bool backwards = false;
  for (unsigned first = 0; first < tiles; first += gridDim.x) {
    const unsigned index = first + (backwards ? gridDim.x - 1 - blockIdx.x : blockIdx.x);
    if (index < tiles) {
      body(query_tile<Queries>(sizes, index));
    }
    backwards = !backwards;
  }
}

/// The turns of warpgroups: each waits at a barrier of its own for the arrival of the one before.
/// All take as many turns, and the last arrives first, so the first begins.
template <unsigned Count>
struct Turns {
  unsigned own, next;  ///< numbers of barriers
  static constexpr unsigned threads = 2 * warpgroup_threads;

  __device__ explicit Turns(unsigned warpgroup)
      : own(1 + warpgroup), next(1 + (warpgroup + 1) % Count) {
    if (warpgroup == Count - 1) {
      pass();
    }
  }
  __device__ void take() const { synchronize_threads<threads>(own); }
  __device__ void pass() const { arrive_for_threads<threads>(next); }
  /// Call at the end: the first meets the arrival of the last turn.
  __device__ void finish(unsigned warpgroup) const {
    if (warpgroup == 0) {
      take();
    }
  }
};

template <class Tile>
__global__ __launch_bounds__(Tile::threads, 1) void attention_ping_pong_kernel(
    const __grid_constant__ AttentionArguments arguments) {
  // What the producers release, consumers claim.
  constexpr unsigned registers = Tile::consumers == 2 ? 240 : 160;
  const AttentionMemory<Tile> memory = attention_memory<Tile>();
  memory.init();
  RingPlace<Tile::q_stages> q;
  // warpgroup_index() saves three warpgroups a tenth of the time. With 176 keys it would cost 5 %,
  // because nvcc 13.0 orders the instructions otherwise (H200).
  const unsigned warpgroup = Tile::keys > 128 ? threadIdx.x / warpgroup_threads : warpgroup_index();
  if (warpgroup == Tile::consumers) {
    release_registers<24>();
    if (warp_index() == Tile::consumers * warpgroup_threads / 32) {
      RingPlace<Tile::stages> place;
      for_each_query_tile<Tile::queries>(arguments.sizes, [&](const QueryTile& tile) {
        load_query_tile(arguments, memory, q, place, tile);
      });
    }
    return;
  }
  claim_registers<registers>();
  const Turns<Tile::consumers> turns(warpgroup);
  RingPlace<Tile::stages> k;
  RingPlace<Tile::stages> v;
  for_each_query_tile<Tile::queries>(arguments.sizes, [&](const QueryTile& tile) {
    const unsigned row = tile.first + warpgroup * wgmma_m + own_row();
    const unsigned tiles = key_tiles<Tile>(tile);
    float scores[1][Tile::keys / 2];
    float out[1][Tile::d / 2] = {};
    unsigned powers[Tile::keys / wgmma_k][4];
    float correction[2];
    OnlineSoftmax softmax{arguments.sizes.scale};

    // Causal: the last keys may come after all queries of this warpgroup, which then skips them.
    unsigned own_tiles = tiles;
    if constexpr (Tile::queries > Tile::keys) {
      if (arguments.sizes.causal) {
        own_tiles = min(tiles, (tile.first + (warpgroup + 1) * wgmma_m - 1) / Tile::keys + 1);
      }
#pragma unroll 1
      for (unsigned skipped = own_tiles; skipped < tiles; ++skipped) {
        wait(memory.k_full(k), k.parity);
        __syncwarp();  // all threads have seen this phase: no wgmma stands between, as below
        release(memory.k_empty(k));
        k.advance();
        turns.take();
        turns.pass();
        wait(memory.v_full(v), v.parity);
        __syncwarp();
        release(memory.v_empty(v));
        v.advance();
      }
    }

    // The last keys: only these are masked.
    const unsigned queries = memory.q(q) + warpgroup * wgmma_m * box_row_bytes;
    wait(memory.q_full(q), q.parity);
    wait(memory.k_full(k), k.parity);
    pin_sums(scores);
    begin_products();
    multiply_keys<Tile>(scores, queries, memory.k(k));
    wait_for_products<0>();
    pin_sums(scores);
    release(memory.k_empty(k));
    k.advance();
    hide_keys(scores[0], arguments.sizes, (own_tiles - 1) * Tile::keys, row);
    softmax.add(scores[0], correction);
    round_powers(powers, scores[0]);
    if (own_tiles > 1) {
      wait(memory.k_full(k), k.parity);
    }

#pragma unroll 1
    for (unsigned left = own_tiles - 1; left > 0; --left) {
      turns.take();
      pin_sums(scores);
      pin_sums(out);
      begin_products();
      multiply_keys<Tile>(scores, queries, memory.k(k));
      wait(memory.v_full(v), v.parity);
      begin_products();
      multiply_values<Tile>(out, powers, memory.v(v));
      turns.pass();
      wait_for_products<1>();
      pin_sums(scores);
      release(memory.k_empty(k));
      k.advance();
      softmax.add(scores[0], correction);
      pin_sums(scores);
      // A branch here: ptxas would else compute most powers after the products that they hide.
      if (left > 1) {
        wait(memory.k_full(k), k.parity);
      }
      wait_for_products<0>();
      pin_sums(out);
      release(memory.v_empty(v));
      v.advance();
      round_powers(powers, scores[0]);
      correct(out[0], correction);
    }
    release(memory.q_empty(q));
    q.advance();

    wait(memory.v_full(v), v.parity);
    pin_sums(out);
    begin_products();
    multiply_values<Tile>(out, powers, memory.v(v));
    wait_for_products<0>();
    pin_sums(out);
    release(memory.v_empty(v));
    v.advance();
    store_rows(arguments.out, arguments.sizes, tile, row, out[0], softmax.sums);
  });
  turns.finish(warpgroup);
}

template <class Tile>
void launch_ping_pong(const char* launcher, const __nv_bfloat16* q, const __nv_bfloat16* k,
                      const __nv_bfloat16* v, __nv_bfloat16* out, AttentionShape shape,
                      cudaStream_t stream) {
  launch_attention({.launcher = launcher,
                    .tile_queries = Tile::queries,
                    .tile_keys = Tile::keys,
                    .threads = Tile::threads,
                    .shared_bytes = Tile::shared_bytes,
                    .persistent = true},
                   attention_ping_pong_kernel<Tile>, q, k, v, out, shape, stream);
}

}  // namespace warpgauge::kernels::hopper
