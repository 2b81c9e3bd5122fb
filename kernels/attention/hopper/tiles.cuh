// SPDX-License-Identifier: Apache-2.0
// Device code that the Hopper rungs of attention share: the shared memory of a block, loading it,
// and both products.
#pragma once

#include "kernels/attention/hopper/launch.hpp"
#include "kernels/attention/tiles.cuh"
#include "kernels/hopper/k_major.cuh"
#include "kernels/hopper/ptx.cuh"
#include "kernels/hopper/wgmma_registers.cuh"

namespace warpgauge::kernels::hopper {

/// A block computes 64 queries for each of `Consumers` warpgroups, `Keys` keys at a time. All tiles
/// are in boxes of 64 columns (128 bytes) with TMA's swizzle: Q and K are K-major, V is MN-major.
/// QStages: 2 to load the next queries during the products of these.
template <unsigned D, unsigned Keys, unsigned QStages, unsigned Consumers = 2, unsigned Stages = 2>
struct AttentionTile {
  static constexpr unsigned d = D, keys = Keys, consumers = Consumers;
  static constexpr unsigned q_stages = QStages, stages = Stages;
  static constexpr unsigned queries = Consumers * wgmma_m;
  static constexpr unsigned boxes = D / box_columns;
  static constexpr unsigned q_box_bytes = queries * box_row_bytes;
  static constexpr unsigned q_bytes = boxes * q_box_bytes;
  static constexpr unsigned kv_box_bytes = Keys * box_row_bytes;
  static constexpr unsigned kv_bytes = boxes * kv_box_bytes;
  static constexpr unsigned barriers = 2 * QStages + 4 * Stages;
  static constexpr unsigned shared_bytes =
      QStages * q_bytes + 2 * Stages * kv_bytes + barriers * barrier_bytes;
  static constexpr unsigned threads = (Consumers + 1) * warpgroup_threads;
  static_assert(shared_bytes <= 232'448, "of compute capability 9.0");
};

/// A position in a ring of stages.
template <unsigned Stages>
struct RingPlace {
  unsigned stage = 0;
  unsigned parity = 0;  ///< of the phase of the barrier `full` that fills the stage

  __device__ void advance() {
    if (++stage == Stages) {
      stage = 0;
      parity ^= 1;
    }
  }
};

/// Addresses in a block's shared memory. Each barrier `full` expects one arrival, which announces
/// the bytes of the copies. Each `empty` expects one arrival of each consumer's warps, once
/// wait_for_products() says that their wgmmas have read the tile. Both sides use the async proxy,
/// so no fence is needed.
template <class Tile>
struct AttentionMemory {
  using QPlace = RingPlace<Tile::q_stages>;
  using Place = RingPlace<Tile::stages>;
  unsigned memory;

  __device__ unsigned q(QPlace place) const { return memory + place.stage * Tile::q_bytes; }
  __device__ unsigned k(Place place) const {
    return memory + Tile::q_stages * Tile::q_bytes + place.stage * Tile::kv_bytes;
  }
  __device__ unsigned v(Place place) const { return k(place) + Tile::stages * Tile::kv_bytes; }
  __device__ unsigned barrier(unsigned number) const {
    return memory + Tile::shared_bytes - (number + 1) * barrier_bytes;
  }
  __device__ unsigned k_full(Place place) const { return barrier(place.stage); }
  __device__ unsigned k_empty(Place place) const { return barrier(Tile::stages + place.stage); }
  __device__ unsigned v_full(Place place) const { return barrier(2 * Tile::stages + place.stage); }
  __device__ unsigned v_empty(Place place) const { return barrier(3 * Tile::stages + place.stage); }
  __device__ unsigned q_full(QPlace place) const { return barrier(4 * Tile::stages + place.stage); }
  __device__ unsigned q_empty(QPlace place) const {
    return barrier(4 * Tile::stages + Tile::q_stages + place.stage);
  }

  /// Call first, from all threads of the block.
  __device__ void init() const {
    if (threadIdx.x == 0) {
      constexpr unsigned warps = Tile::consumers * warpgroup_threads / 32;
      for (QPlace place; place.stage < Tile::q_stages; ++place.stage) {
        init_barrier(q_full(place), 1);
        init_barrier(q_empty(place), warps);
      }
      for (Place place; place.stage < Tile::stages; ++place.stage) {
        init_barrier(k_full(place), 1);
        init_barrier(v_full(place), 1);
        init_barrier(k_empty(place), warps);
        init_barrier(v_empty(place), warps);
      }
      fence_barriers();
    }
    __syncthreads();
  }
};

/// The block's dynamic shared memory, aligned to the swizzle pattern.
template <class Tile>
__device__ inline AttentionMemory<Tile> attention_memory() {
  extern __shared__ __align__(1024) unsigned char attention_tiles[];
  return {static_cast<unsigned>(__cvta_generic_to_shared(attention_tiles))};
}

/// For consumers: call from whole warps.
__device__ inline void release(unsigned empty) {
  if (threadIdx.x % 32 == 0) {
    arrive(empty);
  }
}

template <class Tile>
__device__ inline unsigned key_tiles(const QueryTile& tile) {
  return (tile.keys - 1) / Tile::keys + 1;
}

/// The first of the two rows that a thread has of its warpgroup's 64.
__device__ inline unsigned own_row() {
  return threadIdx.x % warpgroup_threads / 32 * 16 + threadIdx.x % 32 / 4;
}

/// Loads Q, then all tiles of K and V, the last keys first: those are the ones to mask. Call from a
/// whole warp, see produce() of gemm.
template <class Tile>
__device__ inline void load_query_tile(const AttentionArguments& arguments,
                                       const AttentionMemory<Tile>& memory,
                                       RingPlace<Tile::q_stages>& q_place,
                                       RingPlace<Tile::stages>& place, const QueryTile& tile) {
  const auto load = [&](unsigned to, unsigned box_bytes, const CUtensorMap& map, unsigned head,
                        unsigned row, unsigned full) {
    if (elect_one()) {
      arrive_and_expect(full, Tile::boxes * box_bytes);
#pragma unroll
      for (unsigned box = 0; box < Tile::boxes; ++box) {
        load_box(to + box * box_bytes, map, head * Tile::d + box * box_columns, row, tile.batch,
                 full);
      }
    }
    __syncwarp();
  };
  wait(memory.q_empty(q_place), q_place.parity ^ 1);
  load(memory.q(q_place), Tile::q_box_bytes, arguments.q, tile.head, tile.first,
       memory.q_full(q_place));
  q_place.advance();
  const unsigned kv_head = tile.head / (arguments.sizes.heads / arguments.sizes.kv_heads);
#pragma unroll 1
  for (unsigned key_tile = key_tiles<Tile>(tile); key_tile-- > 0;) {
    wait(memory.k_empty(place), place.parity ^ 1);
    load(memory.k(place), Tile::kv_box_bytes, arguments.k, kv_head, key_tile * Tile::keys,
         memory.k_full(place));
    wait(memory.v_empty(place), place.parity ^ 1);
    load(memory.v(place), Tile::kv_box_bytes, arguments.v, kv_head, key_tile * Tile::keys,
         memory.v_full(place));
    place.advance();
  }
}

/// Starts scores = Q K^T for 64 queries at `q`.
template <class Tile>
__device__ inline void multiply_keys(float (&scores)[1][Tile::keys / 2], unsigned q, unsigned k) {
  const std::uint64_t first_q = descriptor_a(q);
  const std::uint64_t first_k = descriptor_a(k);
#pragma unroll
  for (unsigned step = 0; step < Tile::d / wgmma_k; ++step) {
    constexpr unsigned in_box = box_columns / wgmma_k;
    const unsigned box = step / in_box;
    const unsigned within = step % in_box * a_step;
    multiply_async<KMajor<__nv_bfloat16>>(
        scores[0], first_q + box * (Tile::q_box_bytes / 16) + within,
        first_k + box * (Tile::kv_box_bytes / 16) + within, step > 0);
  }
  commit_products();
}

/// Starts out += P V.
template <class Tile>
__device__ inline void multiply_values(float (&out)[1][Tile::d / 2],
                                       const unsigned (&powers)[Tile::keys / wgmma_k][4],
                                       unsigned v) {
  const std::uint64_t first_v = descriptor(v, Tile::kv_box_bytes, pattern_bytes);
#pragma unroll
  for (unsigned step = 0; step < Tile::keys / wgmma_k; ++step) {
    multiply_add_async(out[0], powers[step], first_v + step * b_step);
  }
  commit_products();
}

}  // namespace warpgauge::kernels::hopper
