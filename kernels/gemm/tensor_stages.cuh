// SPDX-License-Identifier: Apache-2.0
// How the tensor-core rungs go through k, stages ahead of what is multiplied.
#pragma once

#include <cstddef>

#include "kernels/gemm/async.cuh"

namespace warpgauge::kernels {

/// Goes through `terms` terms of k, a stage of Tile::k after the other. copy_stage(stage, slot)
/// begins to copy a stage; do_step(slot, step, next, free) loads the fragments of a step of the
/// stage in `slot`, multiplies those of the step before, and begins to copy its slice of stage
/// `next` to slot `free`, past the end too. The fragments of the last step are left to multiply,
/// and its last copies to wait for.
template <class Tile, unsigned Steps, class CopyStage, class DoStep>
__device__ inline void go_through_stages(std::size_t terms, const CopyStage& copy_stage,
                                         const DoStep& do_step) {
  static_assert(Steps % 2 == 0, "the two sets of fragments alternate across stages");
  const std::size_t stages = (terms + Tile::k - 1) / Tile::k;
#pragma unroll
  for (unsigned stage = 0; stage < Tile::stages - 1; ++stage) {
    copy_stage(stage, stage);
    commit_copies();
  }
  unsigned read = 0;
  unsigned write = Tile::stages - 1;
  for (std::size_t stage = 0; stage < stages; ++stage) {
    // This stage has arrived, and nobody reads the one before it any more: its last fragments are
    // in registers, and multiplied while this one's first ones are on their way.
    wait_for_copies<Tile::stages - 2>();
    __syncthreads();
#pragma unroll
    for (unsigned step = 0; step < Steps; ++step) {
      do_step(read, step, stage + Tile::stages - 1, write);
    }
    commit_copies();
    write = read;
    read = read + 1 == Tile::stages ? 0 : read + 1;
  }
}

}  // namespace warpgauge::kernels
