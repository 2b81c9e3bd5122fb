// SPDX-License-Identifier: Apache-2.0
// Device code that the Hopper rungs share: the layout of a stage of A and B in shared memory,
// loading and multiplying it, and the ring of stages between one producer and its consumers.
#pragma once

#include "kernels/gemm/copies.cuh"
#include "kernels/gemm/hopper/launch.hpp"
#include "kernels/hopper/k_major.cuh"
#include "kernels/hopper/ptx.cuh"
#include "kernels/hopper/wgmma.cuh"

namespace warpgauge::kernels::hopper {

/// A block makes an M x N tile of C from a ring of `Stages` stages. `Consumers` warpgroups multiply
/// equal numbers of rows. A stage has 128 bytes per row of A. A stage of B has the same size
/// row-major (64 terms of N 2-byte columns) and K-major (N columns of 128 bytes).
///
/// If A has at most `ARows` < M rows, a stage holds only those. wgmma then takes the first bytes of
/// B for the other rows; nothing may read the sums of those.
template <unsigned M, unsigned N, unsigned Stages, unsigned Consumers, unsigned StageK = stage_k,
          bool BIsKMajor = false, unsigned ARows = M>
struct WgmmaTile {
  static constexpr unsigned m = M, n = N, stages = Stages, consumers = Consumers, a_rows = ARows;
  static constexpr unsigned terms = StageK;  ///< per stage
  static constexpr bool b_is_k_major = BIsKMajor;
  static constexpr unsigned consumer_m = M / Consumers;
  static constexpr unsigned consumer_threads = Consumers * warpgroup_threads;
  static constexpr unsigned blocks = consumer_m / wgmma_m;  ///< of 64 rows per consumer
  static constexpr unsigned sums = N / 2;                   ///< per thread and block of 64 rows
  static constexpr unsigned a_bytes = ARows * box_row_bytes;
  static constexpr unsigned b_boxes = N / box_columns;
  static constexpr unsigned stage_bytes = a_bytes + b_boxes * b_box_bytes;
  static constexpr unsigned ring_bytes = Stages * (stage_bytes + 2 * barrier_bytes);
  /// Rows of the boxes in which a block of a cluster loads its share of B, see load_stage().
  template <unsigned Cluster>
  static constexpr unsigned b_box_rows = BIsKMajor                ? N / Cluster
                                         : b_boxes % Cluster == 0 ? stage_k
                                                                  : stage_k / Cluster;
  static_assert(M % (Consumers * wgmma_m) == 0 && N % box_columns == 0);
  static_assert(stage_bytes % pattern_bytes == 0, "the swizzle is a function of the address");
  static_assert(ARows <= M && M * box_row_bytes <= stage_bytes, "wgmma reads M rows");
};

/// The block's dynamic shared memory, aligned to the swizzle pattern.
__device__ inline unsigned tile_memory() {
  extern __shared__ __align__(1024) unsigned char wgmma_memory[];
  return shared_address(wgmma_memory);
}

/// Call from one thread, early: the first copy with each map then need not wait for it.
__device__ inline void prefetch_maps(const WgmmaArguments& arguments) {
  prefetch_map(arguments.a_map);
  prefetch_map(arguments.b_map);
  prefetch_map(arguments.c_map);
}

/// Starts loading the tiles of A and B with terms from k on into `stage`; barrier `full` counts
/// their bytes. Call from one thread. The blocks of a cluster lie one below the other and share B:
/// each loads its share into all of them, so B is read once from the L2. A share is some columns of
/// a K-major B. Of a row-major B, it is some boxes or, if their number is not a multiple of the
/// blocks, some terms of each box.
///
/// Hand-over from copies to consumers: `full` expects one arrival, made here, which announces all
/// bytes of the stage: those this block loads and those from its cluster, whose shares are disjoint
/// and together all of B. (Bytes outside the matrices count too, because zeros are written for
/// them.) The phase completes when all bytes are written; then the consumers go on. Bytes from the
/// cluster may come before the arrival. They still belong to this phase: a sender waits until this
/// block's consumers have released the stage, and that happens only after the previous phase is
/// complete.
template <class Tile, unsigned Cluster = 1>
__device__ inline void load_stage(const WgmmaArguments& arguments, unsigned stage, unsigned full,
                                  unsigned row, unsigned column, unsigned k, unsigned rank = 0) {
  arrive_and_expect(full, Tile::stage_bytes);
  load_box(stage, arguments.a_map, k, row, full);
  const auto load_b = [&](unsigned offset, unsigned x, unsigned y) {
    const unsigned to = stage + Tile::a_bytes + offset;
    if constexpr (Cluster == 1) {
      load_box(to, arguments.b_map, x, y, full);
    } else {
      load_box_into((1U << Cluster) - 1, to, arguments.b_map, x, y, full);
    }
  };
  if constexpr (Tile::b_is_k_major) {
    constexpr unsigned own_columns = Tile::n / Cluster;
    static_assert(own_columns % 8 == 0, "each part begins a pattern");
    const unsigned first = rank * own_columns;
    load_b(first * box_row_bytes, k, column + first);
  } else {
    constexpr unsigned own_terms = Tile::template b_box_rows<Cluster>;
    constexpr bool all_terms = own_terms == stage_k;
    static_assert(all_terms || own_terms * Cluster == stage_k);
    static_assert(own_terms % 8 == 0, "each part begins a pattern");
    constexpr unsigned own_boxes = all_terms ? Tile::b_boxes / Cluster : Tile::b_boxes;
    const unsigned first_box = all_terms ? rank * own_boxes : 0;
    const unsigned first_term = all_terms ? 0 : rank * own_terms;
#pragma unroll
    for (unsigned i = 0; i < own_boxes; ++i) {
      const unsigned box = first_box + i;
      load_b(box * b_box_bytes + first_term * box_row_bytes, column + box * box_columns,
             k + first_term);
    }
  }
}

/// The stages in shared memory, each with a `full` and an `empty` barrier. Each thread holds a copy
/// of this with its own position in the ring.
///
/// Hand-over from consumers to copies: each warp of each consumer in the cluster arrives at `empty`
/// of every block whose copies write to its stages, once wgmma.wait_group reports that its wgmmas
/// have completed and therefore read the stage. The producer waits for that phase before it loads
/// again. Reads and writes both use the async proxy, so no proxy fence is needed. There are no
/// ordinary loads or stores but those of a block's own scales (scaled_consumer.cuh), so the
/// barriers need no wider scope.
template <class Tile, unsigned Cluster = 1>
struct Ring {
  unsigned memory;
  unsigned stage = 0;
  unsigned parity = 0;  ///< of the phase of `full` that fills the current stage

  __device__ unsigned a() const { return memory + stage * Tile::stage_bytes; }
  __device__ unsigned b() const { return a() + Tile::a_bytes; }
  __device__ unsigned full() const { return full_of(stage); }
  __device__ unsigned full_of(unsigned which) const {
    return memory + Tile::stages * Tile::stage_bytes + which * barrier_bytes;
  }
  __device__ unsigned empty_of(unsigned which) const { return full_of(Tile::stages + which); }

  /// Call first, from all threads of the cluster. `consumers`: warpgroups that read each stage;
  /// `loads`: arrivals that fill it.
  __device__ void init(unsigned consumers = Tile::consumers, unsigned loads = 1) const {
    if (threadIdx.x == 0) {
      init_barriers(consumers, loads);
    }
    synchronize();
  }

  /// The first half of init(), for one thread.
  __device__ void init_barriers(unsigned consumers = Tile::consumers, unsigned loads = 1) const {
    for (unsigned i = 0; i < Tile::stages; ++i) {
      init_barrier(full_of(i), loads);
      init_barrier(empty_of(i), Cluster * consumers * (warpgroup_threads / 32));
    }
    fence_barriers();
  }

  /// The second half, for all threads of the cluster.
  __device__ void synchronize() const {
    if constexpr (Cluster == 1) {
      __syncthreads();
    } else {
      synchronize_cluster();  // other blocks write to this block and arrive at its barriers
    }
  }

  __device__ void advance() {
    if (++stage == Tile::stages) {
      stage = 0;
      parity ^= 1;
    }
  }

  /// Same as `count` calls of advance().
  __device__ void skip(unsigned count) {
    const unsigned to = stage + count;
    parity ^= to / Tile::stages % 2;
    stage = to % Tile::stages;
  }

  /// For the producer: waits until the stage may be overwritten. The first time round it returns at
  /// once, because the phase before a barrier's first counts as complete.
  __device__ void wait_until_empty() const { wait(empty_of(stage), parity ^ 1); }

  /// For the producer of a cluster, at its end: waits for all arrivals at this block's barriers.
  /// Those of other blocks need this block's shared memory to be alive.
  __device__ void drain() {
    for (unsigned i = 0; i < Tile::stages; ++i) {
      wait_until_empty();
      advance();
    }
  }

  /// For consumers: call from whole warps.
  __device__ void release(unsigned which) const {
    const unsigned lane = threadIdx.x % 32;
    if constexpr (Cluster == 1) {
      if (lane == 0) {
        arrive(empty_of(which));
      }
    } else if (lane < Cluster) {
      arrive_in_cluster(empty_of(which), lane);
    }
  }
};

/// The number of stages that hold `terms` terms.
__device__ inline unsigned stages_of(unsigned terms, unsigned of_stage = stage_k) {
  return (terms + of_stage - 1) / of_stage;
}

/// Loads `stages` stages of a tile, the first with terms from k on; each next one has terms k +
/// step on. Call from a whole warp: what is the same in all threads then stays in uniform
/// registers, from which TMA takes its operands. In a branch of one thread, nvcc 13.0 moves them
/// there in a loop for each copy. The later loads cost 15 % of the time of a product with 128 rows,
/// 4096 columns and 14,336 terms (H200).
template <class Tile, unsigned Cluster>
__device__ inline void produce(const WgmmaArguments& arguments, Ring<Tile, Cluster>& ring,
                               unsigned row, unsigned column, unsigned rank, unsigned k,
                               unsigned stages, unsigned step = Tile::terms) {
#pragma unroll 1  // its registers are few
  for (unsigned i = 0; i < stages; ++i) {
    ring.wait_until_empty();
    if (elect_one()) {
      load_stage<Tile, Cluster>(arguments, ring.a(), ring.full(), row, column, k, rank);
    }
    __syncwarp();
    ring.advance();
    k += step;
  }
}

/// Loads all stages of a tile, the last one first if `backwards`. Call from a whole warp.
template <class Tile, unsigned Cluster>
__device__ inline void produce_tile(const WgmmaArguments& arguments, Ring<Tile, Cluster>& ring,
                                    unsigned row, unsigned column, unsigned rank = 0,
                                    bool backwards = false) {
  const unsigned stages = stages_of(arguments.k, Tile::terms);
  produce(arguments, ring, row, column, rank, backwards ? (stages - 1) * Tile::terms : 0, stages,
          backwards ? 0 - Tile::terms : Tile::terms);
}

/// Multiplies all stages of a tile. Call from a warpgroup whose rows of A begin at byte a_offset of
/// each stage. While one group of wgmmas runs, the next is issued and the previous stage is
/// released. all_issued() is called once the last group is issued. With `add`, the sums go on.
template <class T, class Tile, unsigned Cluster, class AllIssued>
__device__ inline void consume_tile(float (&sums)[Tile::blocks][Tile::sums],
                                    Ring<Tile, Cluster>& ring, unsigned a_offset, unsigned stages,
                                    const AllIssued& all_issued, bool add = false) {
  unsigned before = 0;
  pin_sums(sums);
  for (unsigned i = 0; i < stages; ++i) {
    wait(ring.full(), ring.parity);
    multiply_stage(T{}, sums, ring.a() + a_offset, ring.b(), add || i > 0);
    if (i > 0) {
      wait_for_products<1>();
      ring.release(before);
    }
    before = ring.stage;
    ring.advance();
  }
  all_issued();
  wait_for_products<0>();
  pin_sums(sums);
  ring.release(before);
}

template <class T, class Tile, unsigned Cluster>
__device__ inline void consume_tile(float (&sums)[Tile::blocks][Tile::sums],
                                    Ring<Tile, Cluster>& ring, unsigned a_offset, unsigned stages) {
  consume_tile<T>(sums, ring, a_offset, stages, [] {});
}

}  // namespace warpgauge::kernels::hopper
