// SPDX-License-Identifier: Apache-2.0
// The kernel of the wgmma rungs. The tensor cores keep about 14 bits of a sum of 8-bit products, so
// a consumer takes each 128 terms' sums, multiplies them by their scales and adds them in fp32.
#pragma once

#include <algorithm>

#include <warpgauge/cuda/current_device.hpp>
#include "kernels/gemm/hopper/l2_order.cuh"
#include "kernels/gemm/hopper/split_k.cuh"
#include "kernels/hopper/launch_clusters.hpp"
#include "kernels/quantized/arguments.hpp"
#include "kernels/quantized/hopper/scaled_consumer.cuh"

namespace warpgauge::kernels::hopper {

struct ScaledArguments {
  WgmmaArguments product;  ///< tile_rows and tile_columns count blocks' tiles
  const float* a_scales;
  const float* b_scales;
};

/// What the blocks of a cluster share. Those that share B lie one below the other, those that share
/// A side by side.
enum class Shares : std::uint8_t { b, a };

/// When a consumer issues products: once it has promoted the last ones, or before, so that the
/// tensor cores work while it promotes. That needs registers for the products of two stages.
enum class Issues : std::uint8_t { after_promoting, before_promoting };

/// A rung's tile, the order of tiles, and how the consumers work. Columns are multiplied in parts
/// of 128 or fewer: a part's products need registers beside the promoted sums. With splits, that
/// many blocks of a cluster have the same tile and divide its terms.
template <unsigned N, unsigned Stages, unsigned Cluster_, Shares Shared, Issues Issued,
          unsigned Splits_ = 1>
struct ScaledPlan {
  using Tile = WgmmaTile<128, N, Stages, 2, scale_block, true>;
  using Order = GroupOrder<Shared == Shares::b ? 8 : 1>;
  using Store = BoxStore<MatrixWriter, 1>;
  static constexpr unsigned cluster = Cluster_;
  static constexpr unsigned splits = Splits_;
  static constexpr unsigned sharing = cluster / splits;  ///< blocks with the same part of A or B
  static constexpr bool shares_a = Shared == Shares::a;
  static constexpr Issues issues = Issued;
  static constexpr unsigned part = N < 128 ? N : 128;
  static constexpr unsigned parts = N / part;
  static constexpr unsigned part_sums = part / 2;
  static constexpr unsigned part_bytes = part * box_row_bytes;  ///< of B, in a stage
  static constexpr unsigned cluster_rows = shares_a ? 1 : sharing;
  static constexpr unsigned cluster_columns = shares_a ? sharing : 1;
  static constexpr unsigned a_box_rows = shares_a ? Tile::m / sharing : Tile::m;
  static constexpr unsigned b_box_rows = shares_a ? Tile::n : Tile::template b_box_rows<cluster>;
  static constexpr unsigned threads = Tile::consumer_threads + warpgroup_threads;
  static constexpr unsigned shared_bytes = Tile::ring_bytes + Tile::consumers * Store::bytes;
  static_assert(Tile::blocks == 1);
  static_assert(Issued == Issues::after_promoting || parts == 1);
  static_assert(splits == 1 || (shares_a && parts == 1));

  /// Stages per block. With splits, the last one's may lie behind the last term: zeros.
  static __device__ unsigned stages_of_block(unsigned k) {
    return (stages_of(k, Tile::terms) + splits - 1) / splits;
  }
};

/// load_stage() for blocks that share A: each loads a part of its rows into all that have the same
/// terms.
template <class Plan>
__device__ inline void load_stage_sharing_a(const WgmmaArguments& arguments, unsigned stage,
                                            unsigned full, unsigned row, unsigned column,
                                            unsigned k, unsigned rank) {
  using Tile = typename Plan::Tile;
  arrive_and_expect(full, Tile::stage_bytes);
  const unsigned first = rank % Plan::sharing * Plan::a_box_rows;
  const unsigned blocks = ((1U << Plan::sharing) - 1) << (rank / Plan::sharing * Plan::sharing);
  static_assert(Plan::a_box_rows % 8 == 0, "each part begins a pattern");
  load_box_into(blocks, stage + first * box_row_bytes, arguments.a_map, k, row + first, full);
  load_box(stage + Tile::a_bytes, arguments.b_map, k, column, full);
}

/// Loads all stages of a tile that this block multiplies. Call from a whole warp, see produce().
template <class Plan>
__device__ inline void produce_scaled(const WgmmaArguments& arguments,
                                      Ring<typename Plan::Tile, Plan::cluster>& ring, unsigned row,
                                      unsigned column, unsigned rank) {
  if constexpr (Plan::shares_a) {
    const unsigned stages = Plan::stages_of_block(arguments.k);
    const unsigned first = rank / Plan::sharing * stages;
#pragma unroll 1
    for (unsigned i = 0; i < stages; ++i) {
      ring.wait_until_empty();
      if (elect_one()) {
        load_stage_sharing_a<Plan>(arguments, ring.a(), ring.full(), row, column,
                                   (first + i) * Plan::Tile::terms, rank);
      }
      __syncwarp();
      ring.advance();
    }
  } else {
    produce_tile(arguments, ring, row, column, rank);
  }
}

/// Loads the scales of those stages. Call from a whole warp. Each thread's copies make one of the
/// arrivals that `full` expects. Those outside the matrices count as zeros.
template <class Plan>
__device__ inline void produce_scales(const ScaledArguments& arguments,
                                      Ring<typename Plan::Tile, Plan::cluster>& ring,
                                      StageScales<Plan>* scales, unsigned row, unsigned column,
                                      unsigned rank) {
  const WgmmaArguments& product = arguments.product;
  const unsigned all = stages_of(product.k, Plan::Tile::terms);
  const unsigned stages = Plan::stages_of_block(product.k);
  const unsigned first = rank / Plan::sharing * stages;
  const unsigned lane = threadIdx.x % 32;
  const float* a = arguments.a_scales + std::size_t{first} * product.m;
  const unsigned own_column = column + lane * Plan::part;
  const bool has_b = lane < Plan::parts && own_column < product.n;
  const float* b =
      arguments.b_scales + std::size_t{has_b ? own_column / unsigned{scale_block} : 0} * all;
#pragma unroll 1
  for (unsigned i = first; i < first + stages; ++i) {
    ring.wait_until_empty();
    StageScales<Plan>& to = scales[ring.stage];
#pragma unroll
    for (unsigned in_tile = lane; in_tile < Plan::Tile::m; in_tile += 32) {
      const bool exists = row + in_tile < product.m && i < all;
      copy_async<sizeof(float)>(to.a + in_tile, exists ? a + row + in_tile : arguments.a_scales,
                                exists);
    }
    if (lane < Plan::parts) {
      const bool exists = has_b && i < all;
      copy_async<sizeof(float)>(to.b + lane, exists ? b + i : b, exists);
    }
    arrive_after_copies(ring.full());
    a += product.m;
    ring.advance();
  }
}

template <class Plan>
__global__ __launch_bounds__(Plan::threads, 1) void scaled_gemm_kernel(
    const __grid_constant__ ScaledArguments arguments) {
  using Tile = typename Plan::Tile;
  using Store = typename Plan::Store;
  constexpr unsigned cluster = Plan::cluster;
  __shared__ StageScales<Plan> scales[Tile::stages];
  const WgmmaArguments& product = arguments.product;
  const unsigned memory = tile_memory();
  Ring<Tile, cluster> ring{memory + Tile::consumers * Store::bytes};
  const unsigned rank = cluster == 1 ? 0 : cluster_rank();
  const unsigned rows = product.tile_rows / Plan::cluster_rows;
  const unsigned columns = product.tile_columns / Plan::cluster_columns;
  const unsigned tiles = rows * columns;
  const unsigned step = gridDim.x / cluster;
  if (threadIdx.x == Tile::consumer_threads) {
    prefetch_maps(product);
  }
  ring.init(Tile::consumers, 1 + 32);  // copies with maps, and each thread that loads scales
  const auto for_each_tile = [&](const auto& use) {
    for (unsigned index = blockIdx.x / cluster; index < tiles; index += step) {
      const TilePlace place = Plan::Order::place(index, rows, columns);
      const unsigned in_cluster = rank % Plan::sharing;
      use((place.row * Plan::cluster_rows + (Plan::shares_a ? 0 : in_cluster)) * Tile::m,
          (place.column * Plan::cluster_columns + (Plan::shares_a ? in_cluster : 0)) * Tile::n);
    }
  };
  const unsigned warpgroup = warpgroup_index();
  if (warpgroup == Tile::consumers) {
    release_registers<producer_registers>();
    if (warp_index() == Tile::consumer_threads / 32) {
      for_each_tile([&](unsigned row, unsigned column) {
        produce_scaled<Plan>(product, ring, row, column, rank);
      });
      if constexpr (cluster > 1) {
        ring.drain();
      }
    } else if (warp_index() == Tile::consumer_threads / 32 + 1) {
      for_each_tile([&](unsigned row, unsigned column) {
        produce_scales<Plan>(arguments, ring, scales, row, column, rank);
      });
    }
    if constexpr (Plan::splits > 1) {
      exchange_in_cluster();
      exchange_in_cluster();
    }
  } else {
    claim_registers<consumer_registers>();
    const unsigned own_row = warpgroup * Tile::consumer_m;
    Consumer<Plan> consumer{
        .ring = ring,
        .scales = scales,
        .stages = Plan::stages_of_block(product.k),
        .a_offset = own_row * box_row_bytes,
        .row = own_row + threadIdx.x % warpgroup_threads / 32 * 16 + threadIdx.x % 32 / 4};
    for_each_tile([&](unsigned row, unsigned column) {
      float sums[Plan::parts][Plan::part_sums] = {};
      if constexpr (Plan::issues == Issues::before_promoting) {
        consumer.consume_ahead(sums);
      } else {
        consumer.consume_in_turn(sums);
      }
      if constexpr (Plan::splits > 1) {
        // The block's only tile: nothing uses its ring any more. See gemm_wgmma_split_k_kernel.
        const unsigned rows_of_c = min(Tile::m, product.m - row);
        synchronize_threads<Tile::consumer_threads>(3);
        pass_on_sums<Tile>(sums[0], ring.memory, rows_of_c);
        exchange_in_cluster();
        add_up_splits<__nv_bfloat16, Tile>(product, ring.memory, row, column, rows_of_c,
                                           {.count = Plan::splits,
                                            .own = rank / Plan::sharing,
                                            .first = rank % Plan::sharing,
                                            .step = Plan::sharing});
        exchange_in_cluster();
      } else {
#pragma unroll
        for (unsigned part = 0; part < Plan::parts; ++part) {
          Store::template store<__nv_bfloat16>(sums[part], product, row + own_row,
                                               column + part * Plan::part,
                                               memory + warpgroup * Store::bytes, 1 + warpgroup);
        }
      }
    });
    Store::finish();
  }
}

template <class Plan>
void launch_scaled(const char* launcher, ScaledRows a, ScaledTiles b, __nv_bfloat16* c,
                   GemmShape shape, cudaStream_t stream) {
  using Tile = typename Plan::Tile;
  if (shape.m == 0 || shape.n == 0) {
    return;
  }
  const Tiles clusters = require_scaled(launcher, a, b, c, shape, Tile::m * Plan::cluster_rows,
                                        Tile::n * Plan::cluster_columns);
  if constexpr (Plan::splits > 1) {  // whose clusters are all launched
    require_at_most(launcher, clusters.blocks(), max_grid_blocks / Plan::cluster);
  }
  require_wgmma(launcher);
  const ScaledArguments arguments{
      .product = {.a_map = tensor_map(launcher, a.values, shape.m, shape.k, Plan::a_box_rows, 1),
                  .b_map = tensor_map(launcher, b.values, shape.n, shape.k, Plan::b_box_rows, 1),
                  .c_map = tensor_map(launcher, c, shape.m, shape.n, wgmma_m, 2),
                  .c = c,
                  .m = static_cast<unsigned>(shape.m),
                  .n = static_cast<unsigned>(shape.n),
                  .k = static_cast<unsigned>(shape.k),
                  .tile_rows = clusters.rows * Plan::cluster_rows,
                  .tile_columns = clusters.columns * Plan::cluster_columns,
                  .split = {}},
      .a_scales = a.scales,
      .b_scales = b.scales};
  const unsigned at_once =
      Plan::splits > 1 ? clusters.blocks() : std::max(sm_count() / Plan::cluster, 1U);
  launch_clusters({.blocks = std::min(clusters.blocks(), at_once) * Plan::cluster,
                   .cluster = Plan::cluster,
                   .threads = Plan::threads,
                   .shared_bytes = Plan::shared_bytes},
                  scaled_gemm_kernel<Plan>, arguments, stream);
}

}  // namespace warpgauge::kernels::hopper
