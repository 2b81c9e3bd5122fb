// SPDX-License-Identifier: Apache-2.0
// The kernel of the wgmma rungs. The tensor cores keep about 14 bits of a sum of 8-bit products, so
// a consumer takes each 128 terms' sums, multiplies them by their scales and adds them in fp32.
#pragma once

#include <algorithm>

#include <warpgauge/cuda/current_device.hpp>
#include "kernels/gemm/hopper/l2_order.cuh"
#include "kernels/hopper/launch_clusters.hpp"
#include "kernels/quantized/arguments.hpp"

namespace warpgauge::kernels::hopper {

struct ScaledArguments {
  WgmmaArguments product;  ///< tile_rows and tile_columns count blocks' tiles
  const float* a_scales;
  const float* b_scales;
};

/// What the blocks of a cluster share. Those that share B lie one below the other, those that share
/// A side by side.
enum class Shares : std::uint8_t { b, a };

/// A rung's tile, the order of tiles, and how the consumers work. Columns are multiplied in parts
/// of 128 or fewer: a part's products need registers beside the promoted sums.
template <unsigned N, unsigned Stages, unsigned Cluster_, Shares Shared, bool TakeTurns>
struct ScaledPlan {
  using Tile = WgmmaTile<128, N, Stages, 2, scale_block, true>;
  using Order = GroupOrder<Shared == Shares::b ? 8 : 1>;
  using Store = BoxStore<MatrixWriter, N == 64 ? 1 : 2>;
  static constexpr unsigned cluster = Cluster_;
  static constexpr bool shares_a = Shared == Shares::a;
  static constexpr bool takes_turns = TakeTurns;
  static constexpr unsigned part = N < 128 ? N : 128;
  static constexpr unsigned parts = N / part;
  static constexpr unsigned part_sums = part / 2;
  static constexpr unsigned part_bytes = part * box_row_bytes;  ///< of B, in a stage
  static constexpr unsigned cluster_rows = shares_a ? 1 : cluster;
  static constexpr unsigned cluster_columns = shares_a ? cluster : 1;
  static constexpr unsigned a_box_rows = shares_a ? Tile::m / cluster : Tile::m;
  static constexpr unsigned b_box_rows = shares_a ? Tile::n : Tile::template b_box_rows<cluster>;
  static constexpr unsigned threads = Tile::consumer_threads + warpgroup_threads;
  static constexpr unsigned shared_bytes = Tile::ring_bytes + Tile::consumers * Store::bytes;
  static_assert(Tile::blocks == 1 && shared_bytes <= 232'448);
};

/// load_stage() for blocks that share A: each loads a part of its rows into all of them.
template <class Plan>
__device__ inline void load_stage_sharing_a(const WgmmaArguments& arguments, unsigned stage,
                                            unsigned full, unsigned row, unsigned column,
                                            unsigned k, unsigned rank) {
  using Tile = typename Plan::Tile;
  arrive_and_expect(full, Tile::stage_bytes);
  const unsigned first = rank * Plan::a_box_rows;
  static_assert(Plan::a_box_rows % 8 == 0, "each part begins a pattern");
  load_box_into((1U << Plan::cluster) - 1, stage + first * box_row_bytes, arguments.a_map, k,
                row + first, full);
  load_box(stage + Tile::a_bytes, arguments.b_map, k, column, full);
}

/// Loads all stages of a tile. Call from a whole warp, see produce().
template <class Plan>
__device__ inline void produce_scaled(const WgmmaArguments& arguments,
                                      Ring<typename Plan::Tile, Plan::cluster>& ring, unsigned row,
                                      unsigned column, unsigned rank) {
  if constexpr (Plan::shares_a) {
    const unsigned stages = stages_of(arguments.k, Plan::Tile::terms);
#pragma unroll 1
    for (unsigned i = 0; i < stages; ++i) {
      ring.wait_until_empty();
      if (elect_one()) {
        load_stage_sharing_a<Plan>(arguments, ring.a(), ring.full(), row, column,
                                   i * Plan::Tile::terms, rank);
      }
      __syncwarp();
      ring.advance();
    }
  } else {
    produce_tile(arguments, ring, row, column, rank);
  }
}

/// The scales that a thread needs: of its two rows, and of each part of the columns.
template <unsigned Parts>
struct StageScales {
  float a[2];
  float b[Parts];
};

/// Where a thread finds its scales. Rows and columns outside the matrices take the last one's: what
/// they scale is zero and is not stored.
template <class Plan>
struct ScalePlaces {
  const float* a[2];
  const float* b[Plan::parts];

  __device__ ScalePlaces(const ScaledArguments& arguments, unsigned row, unsigned column,
                         unsigned stages) {
    const unsigned last_row = arguments.product.m - 1;
    const unsigned last_block = (arguments.product.n - 1) / scale_block;
#pragma unroll
    for (unsigned half = 0; half < 2; ++half) {
      a[half] = arguments.a_scales + min(row + half * 8, last_row);
    }
#pragma unroll
    for (unsigned part = 0; part < Plan::parts; ++part) {
      const unsigned block =
          min((column + part * Plan::part) / static_cast<unsigned>(scale_block), last_block);
      b[part] = arguments.b_scales + std::size_t{block} * stages;
    }
  }

  __device__ StageScales<Plan::parts> of(unsigned stage, unsigned m) const {
    StageScales<Plan::parts> scales;
#pragma unroll
    for (unsigned half = 0; half < 2; ++half) {
      scales.a[half] = __ldg(a[half] + std::size_t{stage} * m);
    }
#pragma unroll
    for (unsigned part = 0; part < Plan::parts; ++part) {
      scales.b[part] = __ldg(b[part] + stage);
    }
    return scales;
  }
};

/// Barriers of the consumers' turns, besides those of BoxStore.
inline constexpr unsigned first_turn = 3;

/// Multiplies and promotes all stages of a tile. While a consumer promotes, the tensor cores work
/// for the other one, which needs its products to be issued by then. With turns, a consumer issues
/// a part's products only after the other one has issued its own: otherwise both may issue and wait
/// at the same times, and both promote while the tensor cores are idle.
template <class Plan>
__device__ inline void consume_scaled(float (&sums)[Plan::parts][Plan::part_sums],
                                      const ScaledArguments& arguments,
                                      Ring<typename Plan::Tile, Plan::cluster>& ring,
                                      unsigned warpgroup, unsigned row, unsigned column) {
  using In = __nv_fp8_e4m3;
  const unsigned stages = stages_of(arguments.product.k, Plan::Tile::terms);
  const unsigned lane_row = threadIdx.x % warpgroup_threads / 32 * 16 + threadIdx.x % 32 / 4;
  const ScalePlaces<Plan> places(arguments, row + lane_row, column, stages);
  StageScales<Plan::parts> next = places.of(0, arguments.product.m);
#pragma unroll
  for (auto& part : sums) {
#pragma unroll
    for (float& sum : part) {
      sum = 0;
    }
  }
  float products[1][Plan::part_sums] = {};
  for (unsigned i = 0; i < stages; ++i) {
    const StageScales<Plan::parts> scales = next;
    next = places.of(min(i + 1, stages - 1), arguments.product.m);  // a stage ahead
    wait(ring.full(), ring.parity);
    const std::uint64_t first_a =
        descriptor_a(ring.a() + warpgroup * Plan::Tile::consumer_m * box_row_bytes);
#pragma unroll
    for (unsigned part = 0; part < Plan::parts; ++part) {
      const std::uint64_t first_b = descriptor_a(ring.b() + part * Plan::part_bytes);
      if constexpr (Plan::takes_turns) {
        synchronize_threads<Plan::Tile::consumer_threads>(first_turn + warpgroup);
      }
      pin_sums(products);
      begin_products();
#pragma unroll
      for (unsigned step = 0; step < box_row_bytes / 32; ++step) {
        multiply_async<In>(products[0], first_a + step * a_step, first_b + step * a_step, step > 0);
      }
      commit_products();
      if constexpr (Plan::takes_turns) {
        arrive_at_threads<Plan::Tile::consumer_threads>(first_turn + (warpgroup ^ 1));
      }
      wait_for_products<0>();
      pin_sums(products);
      if (part == Plan::parts - 1) {
        ring.release(ring.stage);
      }
      const float factors[2]{scales.a[0] * scales.b[part], scales.a[1] * scales.b[part]};
#pragma unroll
      for (unsigned sum = 0; sum < Plan::part_sums; ++sum) {
        sums[part][sum] += products[0][sum] * factors[sum / 2 % 2];
      }
    }
    ring.advance();
  }
}

template <class Plan>
__global__ __launch_bounds__(Plan::threads, 1) void scaled_gemm_kernel(
    const __grid_constant__ ScaledArguments arguments) {
  using Tile = typename Plan::Tile;
  using Store = typename Plan::Store;
  constexpr unsigned cluster = Plan::cluster;
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
  ring.init();
  const auto for_each_tile = [&](const auto& use) {
    for (unsigned index = blockIdx.x / cluster; index < tiles; index += step) {
      const TilePlace place = Plan::Order::place(index, rows, columns);
      use((place.row * Plan::cluster_rows + (Plan::shares_a ? 0 : rank)) * Tile::m,
          (place.column * Plan::cluster_columns + (Plan::shares_a ? rank : 0)) * Tile::n);
    }
  };
  const unsigned warpgroup = threadIdx.x / warpgroup_threads;
  if (warpgroup == Tile::consumers) {
    release_registers<producer_registers>();
    if (warp_index() == Tile::consumer_threads / 32) {
      for_each_tile([&](unsigned row, unsigned column) {
        produce_scaled<Plan>(product, ring, row, column, rank);
      });
      if constexpr (cluster > 1) {
        ring.drain();
      }
    }
  } else {
    claim_registers<consumer_registers>();
    if (Plan::takes_turns && warpgroup == 1) {
      arrive_at_threads<Tile::consumer_threads>(first_turn);  // the first turn is consumer 0's
    }
    float sums[Plan::parts][Plan::part_sums];
    for_each_tile([&](unsigned row, unsigned column) {
      const unsigned own_row = row + warpgroup * Tile::consumer_m;
      consume_scaled<Plan>(sums, arguments, ring, warpgroup, own_row, column);
#pragma unroll
      for (unsigned part = 0; part < Plan::parts; ++part) {
        Store::template store<__nv_bfloat16>(sums[part], product, own_row,
                                             column + part * Plan::part,
                                             memory + warpgroup * Store::bytes, 1 + warpgroup);
      }
    });
    if (Plan::takes_turns && warpgroup == 0) {
      synchronize_threads<Tile::consumer_threads>(first_turn);  // takes the last arrival
    }
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
  const unsigned at_once = std::max(sm_count() / Plan::cluster, 1U);
  launch_clusters({.blocks = std::min(clusters.blocks(), at_once) * Plan::cluster,
                   .cluster = Plan::cluster,
                   .threads = Plan::threads,
                   .shared_bytes = Plan::shared_bytes},
                  scaled_gemm_kernel<Plan>, arguments, stream);
}

}  // namespace warpgauge::kernels::hopper
