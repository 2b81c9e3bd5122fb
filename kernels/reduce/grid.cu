// SPDX-License-Identifier: Apache-2.0
#include "kernels/reduce/grid.cuh"
#include "kernels/set_up.hpp"
#include "kernels/sm_count.hpp"

namespace warpgauge::kernels {

GridReduction::GridReduction()
    : sms_(sm_count()),
      storage_("GridReduction", told_offset + std::size_t{sms_} * most_reduce_blocks_per_sm *
                                                  sizeof(unsigned long long)) {
  set_to_zero("GridReduction", storage_);
}

}  // namespace warpgauge::kernels
