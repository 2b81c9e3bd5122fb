// SPDX-License-Identifier: Apache-2.0
// A consumer of scaled products: it multiplies the stages of a tile and promotes their sums.
#pragma once

#include "kernels/gemm/hopper/tiles.cuh"

namespace warpgauge::kernels::hopper {

/// The scales of a stage: of the tile's rows and of each part of its columns. They travel through
/// the ring like the values: loaded by the consumers, they would be a stage ahead at most, less
/// than device memory's latency.
template <class Plan>
struct StageScales {
  float a[Plan::Tile::m];
  float b[Plan::parts];
};

/// Starts multiplying 64 rows of A by a part of B.
template <unsigned Sums>
__device__ inline void issue_products(float (&products)[1][Sums], unsigned a, unsigned b) {
  const std::uint64_t first_a = descriptor_a(a);
  const std::uint64_t first_b = descriptor_a(b);
  pin_sums(products);
  begin_products();
#pragma unroll
  for (unsigned step = 0; step < box_row_bytes / 32; ++step) {
    multiply_async<__nv_fp8_e4m3>(products[0], first_a + step * a_step, first_b + step * a_step,
                                  step > 0);
  }
  commit_products();
}

/// Adds products, which are complete, to the sums, scaled by the factors of the thread's two rows.
template <unsigned Sums>
__device__ inline void promote(float (&sums)[Sums], float (&products)[1][Sums],
                               const float (&factors)[2]) {
  pin_sums(products);
#pragma unroll
  for (unsigned sum = 0; sum < Sums; ++sum) {
    sums[sum] += products[0][sum] * factors[sum / 2 % 2];
  }
}

/// What a consumer knows of its tile.
template <class Plan>
struct Consumer {
  static constexpr unsigned sums = Plan::part_sums;
  Ring<typename Plan::Tile, Plan::cluster>& ring;
  const StageScales<Plan>* scales;
  unsigned stages;
  unsigned a_offset;  ///< of its rows, in a stage
  unsigned row;       ///< of this thread, in the tile

  /// Multiplies and promotes one part after the other. The tensor cores have work only as long as
  /// the other consumer's products are incomplete.
  __device__ void consume_in_turn(float (&to)[Plan::parts][sums]) {
    float products[1][sums] = {};
#pragma unroll 1
    for (unsigned i = 0; i < stages; ++i) {
      wait(ring.full(), ring.parity);
      const StageScales<Plan>& of_stage = scales[ring.stage];
      const float rows[2]{of_stage.a[row], of_stage.a[row + 8]};
      float columns[Plan::parts];
#pragma unroll
      for (unsigned part = 0; part < Plan::parts; ++part) {
        columns[part] = of_stage.b[part];
      }
      __syncwarp();  // one thread releases the stage for its warp, which has read the scales
#pragma unroll
      for (unsigned part = 0; part < Plan::parts; ++part) {
        issue_products(products, ring.a() + a_offset, ring.b() + part * Plan::part_bytes);
        wait_for_products<0>();
        if (part == Plan::parts - 1) {
          ring.release(ring.stage);
        }
        promote(to[part], products, {rows[0] * columns[part], rows[1] * columns[part]});
      }
      ring.advance();
    }
  }

  /// Waits for a stage and issues its products.
  __device__ void issue(float (&products)[1][sums], float (&factors)[2]) {
    wait(ring.full(), ring.parity);
    issue_products(products, ring.a() + a_offset, ring.b());
    const StageScales<Plan>& of_stage = scales[ring.stage];
    factors[0] = of_stage.a[row] * of_stage.b[0];
    factors[1] = of_stage.a[row + 8] * of_stage.b[0];
    __syncwarp();  // one thread releases the stage for its warp, which has read the scales
    ring.advance();
  }

  /// Issues the products of each stage before it promotes those of the stage before.
  __device__ void consume_ahead(float (&to)[1][sums]) {
    float even[1][sums] = {};
    float odd[1][sums] = {};
    float even_factors[2];
    float odd_factors[2] = {};
    unsigned before = ring.stage;
    const auto finish = [&](float(&products)[1][sums], const float(&factors)[2], bool is_stage) {
      if (is_stage) {
        ring.release(before);
        before = before + 1 == Plan::Tile::stages ? 0 : before + 1;
      }
      promote(to[0], products, factors);
    };
    for (unsigned left = stages;;) {
      issue(even, even_factors);
      wait_for_products<1>();
      finish(odd, odd_factors, left < stages);  // at first zeros, so that the loop has no prologue
      if (--left == 0) {
        wait_for_products<0>();
        finish(even, even_factors, true);
        return;
      }
      issue(odd, odd_factors);
      wait_for_products<1>();
      finish(even, even_factors, true);
      if (--left == 0) {
        wait_for_products<0>();
        finish(odd, odd_factors, true);
        return;
      }
    }
  }
};

}  // namespace warpgauge::kernels::hopper
