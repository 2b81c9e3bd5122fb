// SPDX-License-Identifier: Apache-2.0
// What the rungs for Hopper share on the device: how a stage of A and B lies in shared memory, is
// loaded and multiplied, and the ring of stages between one producer and its consumers.
#pragma once

#include "kernels/gemm/copies.cuh"
#include "kernels/gemm/hopper/k_major.cuh"
#include "kernels/gemm/hopper/launch.hpp"
#include "kernels/gemm/hopper/ptx.cuh"
#include "kernels/gemm/hopper/wgmma.cuh"

namespace warpgauge::kernels::hopper {

/// What a block makes of C, how many stages of 128 bytes a row of A lie in shared memory, and how
/// many warpgroups multiply, each as many rows. A stage of B is as large row-major, 64 terms of N
/// columns, as K-major, N columns of 128 bytes.
template <unsigned M, unsigned N, unsigned Stages, unsigned Consumers, unsigned StageK = stage_k,
          bool BIsKMajor = false>
struct WgmmaTile {
  static constexpr unsigned m = M, n = N, stages = Stages, consumers = Consumers;
  static constexpr unsigned terms = StageK;  ///< of a stage
  static constexpr bool b_is_k_major = BIsKMajor;
  static constexpr unsigned consumer_m = M / Consumers;
  static constexpr unsigned consumer_threads = Consumers * warpgroup_threads;
  static constexpr unsigned blocks = consumer_m / wgmma_m;  ///< of 64 rows, of a consumer
  static constexpr unsigned sums = N / 2;                   ///< of a thread, of each of them
  static constexpr unsigned a_bytes = M * box_row_bytes;
  static constexpr unsigned b_boxes = N / box_columns;
  static constexpr unsigned stage_bytes = a_bytes + b_boxes * b_box_bytes;
  static constexpr unsigned ring_bytes = Stages * (stage_bytes + 2 * barrier_bytes);
  static_assert(M % (Consumers * wgmma_m) == 0 && N % box_columns == 0);
  static_assert(stage_bytes % pattern_bytes == 0, "the swizzle is a function of the address");
};

/// The block's dynamic shared memory, which begins a pattern of the swizzle.
__device__ inline unsigned tile_memory() {
  extern __shared__ __align__(1024) unsigned char wgmma_memory[];
  return shared_address(wgmma_memory);
}

/// Begins to load the tiles of A and B with terms from k on into `stage`, by one thread, for all of
/// which `full` then waits. Blocks of a cluster lie one below the other: they share B, of which
/// each loads its part into all of them, so that it is read once from the L2.
///
/// Hand-over, copies to consumers: `full` has one arrival, here, which announces all bytes of the
/// stage, this block's and those from its cluster. (Bytes outside of the matrices count, too, as
/// zeros are written for them.) Its phase ends, and consumers go on, once all are written. Bytes
/// from the cluster may come before the arrival: they belong to the same phase, for that of the
/// turn before has ended before this block's consumers released the stage, which the sender waited
/// for.
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
    constexpr unsigned own_boxes = Tile::b_boxes / Cluster;
    static_assert(own_boxes * Cluster == Tile::b_boxes);
#pragma unroll
    for (unsigned i = 0; i < own_boxes; ++i) {
      const unsigned box = rank * own_boxes + i;
      load_b(box * b_box_bytes, column + box * box_columns, k);
    }
  }
}

/// The stages in shared memory, each with a barrier that it is full and one that it is empty; one
/// thread, or warp, has a copy of its own that says where it is.
///
/// Hand-over, consumers to copies: each warp of each consumer of the cluster arrives at `empty` of
/// every block whose copies write to its stages, once wgmma.wait_group has told that its wgmmas of
/// that stage are complete, and so have read it. The producer waits for that phase before it loads
/// again. Reads and writes are both made through the async proxy, so no proxy fence is due, and no
/// ordinary loads or stores are, so that barriers need no wider scope than they have.
template <class Tile, unsigned Cluster = 1>
struct Ring {
  unsigned memory;
  unsigned stage = 0;
  unsigned parity = 0;  ///< of the phase of `full` that fills the stage in this turn

  __device__ unsigned a() const { return memory + stage * Tile::stage_bytes; }
  __device__ unsigned b() const { return a() + Tile::a_bytes; }
  __device__ unsigned full() const { return full_of(stage); }
  __device__ unsigned full_of(unsigned which) const {
    return memory + Tile::stages * Tile::stage_bytes + which * barrier_bytes;
  }
  __device__ unsigned empty_of(unsigned which) const { return full_of(Tile::stages + which); }

  /// By all threads of the cluster, before all else. `consumers`: warpgroups that read a stage.
  __device__ void init(unsigned consumers = Tile::consumers) const {
    if (threadIdx.x == 0) {
      for (unsigned i = 0; i < Tile::stages; ++i) {
        init_barrier(full_of(i), 1);
        init_barrier(empty_of(i), Cluster * consumers * (warpgroup_threads / 32));
      }
      fence_barriers();
    }
    if constexpr (Cluster == 1) {
      __syncthreads();
    } else {
      synchronize_cluster();  // others write and arrive here
    }
  }

  __device__ void advance() {
    if (++stage == Tile::stages) {
      stage = 0;
      parity ^= 1;
    }
  }

  /// As `count` advances.
  __device__ void skip(unsigned count) {
    const unsigned to = stage + count;
    parity ^= to / Tile::stages % 2;
    stage = to % Tile::stages;
  }

  /// For the producer: until the stage may be written. In the first turn that is at once: the phase
  /// before a barrier's first counts as ended.
  __device__ void wait_until_empty() const { wait(empty_of(stage), parity ^ 1); }

  /// For the producer of a cluster, at its end: until all arrivals at this block's barriers are in,
  /// also those of others, which must not find its shared memory gone.
  __device__ void drain() {
    for (unsigned i = 0; i < Tile::stages; ++i) {
      wait_until_empty();
      advance();
    }
  }

  /// For consumers, by whole warps.
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

/// Stages that hold `terms` terms.
__device__ inline unsigned stages_of(unsigned terms, unsigned of_stage = stage_k) {
  return (terms + of_stage - 1) / of_stage;
}

/// Loads all stages of a tile, by one thread.
template <class Tile, unsigned Cluster>
__device__ inline void produce_tile(const WgmmaArguments& arguments, Ring<Tile, Cluster>& ring,
                                    unsigned row, unsigned column, unsigned rank = 0) {
  for (unsigned k = 0; k < arguments.k; k += Tile::terms) {
    ring.wait_until_empty();
    load_stage<Tile, Cluster>(arguments, ring.a(), ring.full(), row, column, k, rank);
    ring.advance();
  }
}

/// Multiplies all stages of a tile, by a warpgroup whose rows of A begin at a_offset in each. One
/// group of wgmmas stays in flight: while it runs, the next is issued, and the stage of the one
/// before is released. all_issued() is called once the last one is issued.
template <class T, class Tile, unsigned Cluster, class AllIssued>
__device__ inline void consume_tile(float (&sums)[Tile::blocks][Tile::sums],
                                    Ring<Tile, Cluster>& ring, unsigned a_offset, unsigned stages,
                                    const AllIssued& all_issued) {
  unsigned before = 0;
  pin_sums(sums);
  for (unsigned i = 0; i < stages; ++i) {
    wait(ring.full(), ring.parity);
    multiply_stage(T{}, sums, ring.a() + a_offset, ring.b(), i > 0);
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
