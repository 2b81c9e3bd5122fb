// SPDX-License-Identifier: Apache-2.0
// One launch of persistent blocks for all experts. Each warp finds the block's tiles itself: 32
// experts' numbers of tiles in its lanes, summed over the lanes. Bound by reading B if experts have
// few rows, by the wgmma rate if many; in between by the rows with which experts' last tiles are
// filled up.
#include <algorithm>
#include <type_traits>

#include <warpgauge/cuda/current_device.hpp>
#include "kernels/gemm/hopper/persistent.cuh"
#include "kernels/grouped/arguments.hpp"
#include "kernels/hopper/launch_clusters.hpp"

namespace warpgauge::kernels {
namespace hopper {

struct GroupedArguments {
  WgmmaArguments product;  ///< without extents in tiles: those depend on the offsets
  const std::int32_t* offsets;
  const float* scales;
  unsigned experts;
};

template <class T>
struct GroupedPlan {
  static constexpr bool is_e4m3 = std::is_same_v<T, __nv_fp8_e4m3>;
  using Product = std::conditional_t<is_e4m3, KMajor<T>, T>;
  using Tile = WgmmaTile<128, 256, 4, 2, box_row_bytes / sizeof(T), is_e4m3>;
  using Store = BoxStore<MatrixWriter, 2>;
  static constexpr unsigned threads = Tile::consumer_threads + warpgroup_threads;
  static constexpr unsigned shared_bytes = Tile::ring_bytes + Tile::consumers * Store::bytes;
  static constexpr unsigned b_box_rows = is_e4m3 ? Tile::n : Tile::terms;
  static_assert(Tile::blocks == 1 && shared_bytes <= 232'448);
};

/// A tile: rows from `row` on of an expert whose rows end at `end`.
struct ExpertTile {
  unsigned expert, row, end, column;
};

/// Finds tiles by ascending index: those of the first expert, column of tiles by column, then those
/// of the next. Call from whole warps. Lane i holds expert first + i.
template <unsigned M, unsigned N>
class ExpertTiles {
 public:
  __device__ explicit ExpertTiles(const GroupedArguments& arguments)
      : offsets_(arguments.offsets),
        experts_(arguments.experts),
        columns_((arguments.product.n + N - 1) / N) {
    load();
  }

  /// Sets `tile` to number `index`; false if there are fewer. `index` never descends.
  __device__ bool find(unsigned index, ExpertTile& tile) {
    for (;;) {
      const unsigned of_lanes = index - before_;
      const unsigned lanes = __ballot_sync(~0U, through_ > of_lanes);
      if (lanes != 0) {
        const int lane = __ffs(static_cast<int>(lanes)) - 1;
        const unsigned begin = __shfl_sync(~0U, begin_, lane);
        tile.end = __shfl_sync(~0U, end_, lane);
        const unsigned rows = row_tiles(begin, tile.end);
        const unsigned of_expert = of_lanes - (__shfl_sync(~0U, through_, lane) - rows * columns_);
        tile.expert = first_ + static_cast<unsigned>(lane);
        tile.row = begin + of_expert % rows * M;
        tile.column = of_expert / rows * N;
        return true;
      }
      before_ += __shfl_sync(~0U, through_, 31);
      first_ += 32;
      if (first_ >= experts_) {
        return false;
      }
      load();
    }
  }

 private:
  static __device__ unsigned row_tiles(unsigned begin, unsigned end) {
    return (end - begin + M - 1) / M;
  }

  __device__ void load() {
    const unsigned lane = threadIdx.x % 32;
    const unsigned expert = first_ + lane;
    begin_ = expert < experts_ ? static_cast<unsigned>(__ldg(offsets_ + expert)) : 0;
    end_ = expert < experts_ ? static_cast<unsigned>(__ldg(offsets_ + expert + 1)) : 0;
    through_ = row_tiles(begin_, end_) * columns_;
#pragma unroll
    for (unsigned distance = 1; distance < 32; distance *= 2) {
      const unsigned before = __shfl_up_sync(~0U, through_, distance);
      through_ += lane >= distance ? before : 0;
    }
  }

  const std::int32_t* offsets_;
  unsigned experts_, columns_;
  unsigned first_ = 0;              ///< expert of lane 0
  unsigned before_ = 0;             ///< tiles of the experts before it
  unsigned begin_, end_, through_;  ///< the lane's expert: its rows; tiles up to and including it
};

/// Loads all stages of a tile. Call from a whole warp, see produce().
template <class Plan>
__device__ inline void produce_expert_tile(const WgmmaArguments& arguments,
                                           Ring<typename Plan::Tile>& ring,
                                           const ExpertTile& tile) {
  using Tile = typename Plan::Tile;
  const unsigned stages = stages_of(arguments.k, Tile::terms);
  const unsigned b_row = tile.expert * (Plan::is_e4m3 ? arguments.n : arguments.k);
#pragma unroll 1
  for (unsigned i = 0; i < stages; ++i) {
    ring.wait_until_empty();
    if (elect_one()) {
      const unsigned k = i * Tile::terms;
      arrive_and_expect(ring.full(), Tile::stage_bytes);
      load_box(ring.a(), arguments.a_map, k, tile.row, ring.full());
      if constexpr (Plan::is_e4m3) {
        load_box(ring.b(), arguments.b_map, k, b_row + tile.column, ring.full());
      } else {
#pragma unroll
        for (unsigned box = 0; box < Tile::b_boxes; ++box) {
          load_box(ring.b() + box * b_box_bytes, arguments.b_map, tile.column + box * box_columns,
                   b_row + k, ring.full());
        }
      }
    }
    __syncwarp();
    ring.advance();
  }
}

/// Stores the rows before `end` from registers: a box would also write to the next expert's rows.
template <unsigned Sums>
__device__ inline void store_rows_before(unsigned end, const float (&sums)[Sums],
                                         const WgmmaArguments& arguments, unsigned first_row,
                                         unsigned first_column) {
  const unsigned lane = threadIdx.x % 32;
  const unsigned row = first_row + threadIdx.x % warpgroup_threads / 32 * 16 + lane / 4;
  const unsigned column = first_column + lane % 4 * 2;
#pragma unroll
  for (unsigned half = 0; half < 2; ++half) {
    if (row + half * 8 < end) {
      auto* const to = static_cast<__nv_bfloat16*>(arguments.c) +
                       (std::size_t{row} + half * 8) * arguments.n + column;
#pragma unroll
      for (unsigned j = 0; j < Sums / 4; ++j) {
        if (column + j * 8 < arguments.n) {
          *reinterpret_cast<unsigned*>(to + j * 8) =
              round_two<__nv_bfloat16>(sums[j * 4 + half * 2], sums[j * 4 + half * 2 + 1]);
        }
      }
    }
  }
}

/// For a consumer whose rows are all past the expert's end: releases the stages of a tile unread.
template <class Tile>
__device__ inline void pass_stages(Ring<Tile>& ring, unsigned stages) {
#pragma unroll 1
  for (unsigned i = 0; i < stages; ++i) {
    wait(ring.full(), ring.parity);
    ring.release(ring.stage);
    ring.advance();
  }
}

template <class T>
__global__ __launch_bounds__(GroupedPlan<T>::threads, 1) void grouped_gemm_wgmma_kernel(
    const __grid_constant__ GroupedArguments arguments) {
  using Plan = GroupedPlan<T>;
  using Tile = typename Plan::Tile;
  using Store = typename Plan::Store;
  const WgmmaArguments& product = arguments.product;
  const unsigned memory = tile_memory();
  Ring<Tile> ring{memory + Tile::consumers * Store::bytes};
  if (threadIdx.x == Tile::consumer_threads) {
    prefetch_maps(product);
  }
  ring.init();
  const unsigned warpgroup = threadIdx.x / warpgroup_threads;
  if (warpgroup == Tile::consumers) {
    release_registers<producer_registers>();
    if (warp_index() == Tile::consumer_threads / 32) {
      ExpertTiles<Tile::m, Tile::n> tiles(arguments);
      ExpertTile tile;
      for (unsigned index = blockIdx.x; tiles.find(index, tile); index += gridDim.x) {
        produce_expert_tile<Plan>(product, ring, tile);
      }
    }
  } else {
    claim_registers<consumer_registers>();
    const unsigned stages = stages_of(product.k, Tile::terms);
    float sums[Tile::blocks][Tile::sums] = {};
    ExpertTiles<Tile::m, Tile::n> tiles(arguments);
    ExpertTile tile;
    for (unsigned index = blockIdx.x; tiles.find(index, tile); index += gridDim.x) {
      const unsigned row = tile.row + warpgroup * Tile::consumer_m;
      if (row >= tile.end) {
        pass_stages(ring, stages);
        continue;
      }
      consume_tile<typename Plan::Product>(sums, ring, warpgroup * Tile::consumer_m * box_row_bytes,
                                           stages);
      if constexpr (Plan::is_e4m3) {
        const float scale = __ldg(arguments.scales + tile.expert);
#pragma unroll
        for (float& sum : sums[0]) {
          sum *= scale;
        }
      }
      if (row + wgmma_m <= tile.end) {
        Store::template store<__nv_bfloat16>(sums[0], product, row, tile.column,
                                             memory + warpgroup * Store::bytes, 1 + warpgroup);
      } else {
        store_rows_before(tile.end, sums[0], product, row, tile.column);
      }
    }
    Store::finish();
  }
}

}  // namespace hopper

template <class T>
void grouped_gemm_wgmma(GroupedInputs<T> inputs, __nv_bfloat16* c, GroupedShape shape,
                        cudaStream_t stream) {
  using namespace hopper;
  using Plan = GroupedPlan<T>;
  if (shape.rows == 0 || shape.n == 0) {
    return;
  }
  constexpr const char* launcher = "grouped_gemm_wgmma";
  const Tiles most_tiles =
      require_grouped(launcher, inputs, c, shape, Plan::Tile::m, Plan::Tile::n);
  require_wgmma(launcher);
  const std::size_t b_rows = shape.experts * (Plan::is_e4m3 ? shape.n : shape.k);
  const std::size_t b_columns = Plan::is_e4m3 ? shape.k : shape.n;
  const GroupedArguments arguments{
      .product = {.a_map =
                      tensor_map(launcher, inputs.a, shape.rows, shape.k, Plan::Tile::m, sizeof(T)),
                  .b_map = tensor_map(launcher, inputs.b, b_rows, b_columns, Plan::b_box_rows,
                                      sizeof(T)),
                  .c_map = tensor_map(launcher, c, shape.rows, shape.n, wgmma_m, 2),
                  .c = c,
                  .m = static_cast<unsigned>(shape.rows),
                  .n = static_cast<unsigned>(shape.n),
                  .k = static_cast<unsigned>(shape.k),
                  .tile_rows = 0,
                  .tile_columns = 0,
                  .split = {}},
      .offsets = inputs.offsets,
      .scales = inputs.scales,
      .experts = static_cast<unsigned>(shape.experts)};
  launch_clusters({.blocks = std::min(most_tiles.blocks(), sm_count()),
                   .cluster = 1,
                   .threads = Plan::threads,
                   .shared_bytes = Plan::shared_bytes},
                  grouped_gemm_wgmma_kernel<T>, arguments, stream);
}

template void grouped_gemm_wgmma(GroupedInputs<__nv_bfloat16>, __nv_bfloat16*, GroupedShape,
                                 cudaStream_t);
template void grouped_gemm_wgmma(GroupedInputs<__nv_fp8_e4m3>, __nv_bfloat16*, GroupedShape,
                                 cudaStream_t);

}  // namespace warpgauge::kernels
