// SPDX-License-Identifier: Apache-2.0
#include "kernels/reduce_grid.cuh"
#include "kernels/sm_count.hpp"

namespace warpgauge::kernels {

GridReduction::GridReduction()
    : sms_(sm_count()),
      storage_("GridReduction", told_offset + std::size_t{sms_} * most_reduce_blocks_per_sm *
                                                  sizeof(unsigned long long)) {
  check_status("GridReduction: cudaMemset", cudaMemset(storage_.data(), 0, storage_.bytes()));
  // It is over before any stream uses the storage, also one that does not wait for the default one.
  check_status("GridReduction: cudaStreamSynchronize", cudaStreamSynchronize(cudaStreamLegacy));
}

}  // namespace warpgauge::kernels
