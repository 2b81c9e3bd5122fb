// SPDX-License-Identifier: Apache-2.0
// The persistent kernel whose clusters divide the stages of some tiles evenly.
#pragma once

#include "kernels/gemm/hopper/l2_order.cuh"

namespace warpgauge::kernels::hopper {

/// Stages `first` to `first` + `stages` - 1 of a tile.
struct Segment {
  unsigned tile, first, stages;
};

/// What one cluster computes. The stages of the first `split.tiles` tiles form one sequence, of
/// which each cluster takes an equal range. Then it takes every `clusters`-th of the other tiles.
class Segments {
 public:
  __device__ Segments(const WgmmaArguments& arguments, unsigned tiles, unsigned cluster,
                      unsigned clusters, unsigned stages)
      : at_(first_stage(arguments, cluster, clusters, stages)),
        end_(first_stage(arguments, cluster + 1, clusters, stages)),
        tile_(arguments.split.tiles + cluster),
        tiles_(tiles),
        step_(clusters),
        stages_(stages) {}

  /// Where the range of a cluster begins in the sequence. No range is empty, and 32 bits count all
  /// stages: see split_of().
  static __device__ unsigned first_stage(const WgmmaArguments& arguments, unsigned cluster,
                                         unsigned clusters, unsigned stages) {
    const unsigned all = arguments.split.tiles * stages;
    return cluster * (all / clusters) + min(cluster, all % clusters);
  }

  /// Moves on; false at the end.
  __device__ bool next(Segment& segment) {
    if (at_ < end_) {
      segment.tile = at_ / stages_;
      segment.first = at_ % stages_;
      segment.stages = min(stages_ - segment.first, end_ - at_);
      at_ += segment.stages;
      return true;
    }
    segment = {tile_, 0, stages_};
    tile_ += step_;
    return segment.tile < tiles_;
  }

 private:
  unsigned at_, end_, tile_, tiles_, step_, stages_;
};

/// Partial sums of a consumer on their way to the consumer with the same rows in another cluster.
/// Only a cluster's first segment can begin inside a tile, so a consumer has one place, and only
/// the cluster with the tile's first stage reads it.
///
/// Hand-over: all threads store their sums; the warpgroup's barrier orders these stores before one
/// thread's release of `ready` at GPU scope. One thread of the reader acquires `ready`; its
/// warpgroup's barrier orders that before all loads. The reader then clears `ready`. Nothing writes
/// the place or `ready` again before the next launch, which the end of this one precedes.
template <class Tile>
struct PartialSums {
  static constexpr unsigned floats = Tile::blocks * Tile::sums * warpgroup_threads;
  float4* sums;
  unsigned* ready;

  __device__ PartialSums(const WgmmaArguments& arguments, unsigned block, unsigned warpgroup) {
    const std::size_t place = std::size_t{block} * Tile::consumers + warpgroup;
    sums = reinterpret_cast<float4*>(arguments.split.partial_sums + place * floats) +
           threadIdx.x % warpgroup_threads;
    ready = arguments.split.ready + place;
  }

  /// Calls use(four sums of this thread, their place) for those in rows of C: a warp has 16 rows of
  /// each block of 64.
  template <class Use>
  __device__ void for_each(float (&own)[Tile::blocks][Tile::sums], unsigned first_row,
                           unsigned rows, const Use& use) const {
    const unsigned row_of_warp = first_row + threadIdx.x % warpgroup_threads / 32 * 16;
#pragma unroll
    for (unsigned block = 0; block < Tile::blocks; ++block) {
      if (row_of_warp + block * wgmma_m < rows) {
#pragma unroll
        for (unsigned i = 0; i < Tile::sums; i += 4) {
          use(own[block] + i, sums + (block * Tile::sums + i) / 4 * warpgroup_threads);
        }
      }
    }
  }

  __device__ void publish(float (&own)[Tile::blocks][Tile::sums], unsigned first_row, unsigned rows,
                          unsigned barrier) const {
    for_each(own, first_row, rows, [](const float* from, float4* to) {
      __stcg(to, make_float4(from[0], from[1], from[2], from[3]));
    });
    synchronize_warpgroup(barrier);
    if (threadIdx.x % warpgroup_threads == 0) {
      asm volatile("st.release.gpu.global.u32 [%0], 1;" ::"l"(ready) : "memory");
    }
  }

  __device__ void add_to(float (&own)[Tile::blocks][Tile::sums], unsigned first_row, unsigned rows,
                         unsigned barrier) const {
    if (threadIdx.x % warpgroup_threads == 0) {
      unsigned is_ready = 0;
      while (is_ready == 0) {
        asm volatile("ld.acquire.gpu.global.u32 %0, [%1];"
                     : "=r"(is_ready)
                     : "l"(ready)
                     : "memory");
      }
      *ready = 0;
    }
    synchronize_warpgroup(barrier);
    for_each(own, first_row, rows, [](float* to, const float4* from) {
      const float4 part = __ldcg(from);
      to[0] += part.x;
      to[1] += part.y;
      to[2] += part.z;
      to[3] += part.w;
    });
  }
};

/// Registers per thread: stream-K's producer needs more than those of the other rungs.
inline constexpr unsigned stream_k_producer_registers = 40;
inline constexpr unsigned stream_k_consumer_registers = 232;

/// Each cluster computes its segments in order. A segment that begins inside a tile is published.
/// The cluster with a tile's first stage waits for the others' sums and adds them in the order of
/// their stages, so results do not depend on timing; then it stores the tile.
///
/// No wait can last forever: a cluster waits for the first segments of clusters that start before
/// it (ranges are numbered from the last cluster down, and hardware starts clusters in order of
/// their index), and first segments are published without waiting. With at most as many clusters
/// as run at once, a wait is short: the segment it waits for began with the launch.
template <class T, class Tile, class Store, class Order, unsigned Cluster>
__global__ __launch_bounds__(
    Tile::consumer_threads + warpgroup_threads,
    1) void gemm_wgmma_stream_k_kernel(const __grid_constant__ WgmmaArguments arguments) {
  const unsigned memory = tile_memory();
  Ring<Tile, Cluster> ring{memory + Tile::consumers * Store::bytes};
  const unsigned rank = Cluster == 1 ? 0 : cluster_rank();
  const unsigned rows = arguments.tile_rows / Cluster;
  const unsigned tiles = rows * arguments.tile_columns;
  const unsigned clusters = gridDim.x / Cluster;
  const unsigned cluster = clusters - 1 - blockIdx.x / Cluster;
  const unsigned stages = stages_of(arguments.k, Tile::terms);
  if (threadIdx.x == Tile::consumer_threads) {
    prefetch_maps(arguments);
  }
  ring.init();
  const unsigned warpgroup = threadIdx.x / warpgroup_threads;
  if (warpgroup == Tile::consumers) {
    if constexpr (Tile::consumers == 2) {
      release_registers<stream_k_producer_registers>();
    }
    if (warp_index() == Tile::consumer_threads / 32) {
      Segments segments(arguments, tiles, cluster, clusters, stages);
      Segment segment;
      while (segments.next(segment)) {
        const TilePlace place = Order::place(segment.tile, rows, arguments.tile_columns);
        produce(arguments, ring, (place.row * Cluster + rank) * Tile::m, place.column * Tile::n,
                rank, segment.first * Tile::terms, segment.stages);
      }
      if constexpr (Cluster > 1) {
        ring.drain();
      }
    }
  } else {
    if constexpr (Tile::consumers == 2) {
      claim_registers<stream_k_consumer_registers>();
    }
    const unsigned own_row = warpgroup * Tile::consumer_m;
    const unsigned barrier = 1 + warpgroup;
    float sums[Tile::blocks][Tile::sums] = {};
    Segments segments(arguments, tiles, cluster, clusters, stages);
    Segment segment;
    while (segments.next(segment)) {
      const TilePlace place = Order::place(segment.tile, rows, arguments.tile_columns);
      const unsigned row = (place.row * Cluster + rank) * Tile::m + own_row;
      consume_tile<T>(sums, ring, own_row * box_row_bytes, segment.stages);
      if (segment.first > 0) {
        PartialSums<Tile>(arguments, cluster * Cluster + rank, warpgroup)
            .publish(sums, row, arguments.m, barrier);
        continue;
      }
      if (segment.stages < stages) {
        const unsigned end = (segment.tile + 1) * stages;
        for (unsigned other = cluster + 1;
             Segments::first_stage(arguments, other, clusters, stages) < end; ++other) {
          PartialSums<Tile>(arguments, other * Cluster + rank, warpgroup)
              .add_to(sums, row, arguments.m, barrier);
        }
      }
#pragma unroll
      for (unsigned block = 0; block < Tile::blocks; ++block) {
        Store::template store<T>(sums[block], arguments, row + block * wgmma_m,
                                 place.column * Tile::n, memory + warpgroup * Store::bytes,
                                 barrier);
      }
    }
    Store::finish();
  }
}

}  // namespace warpgauge::kernels::hopper
