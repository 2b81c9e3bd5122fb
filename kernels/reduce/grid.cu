// SPDX-License-Identifier: Apache-2.0
#include <warpgauge/cuda/current_device.hpp>
#include "kernels/reduce/grid.cuh"

namespace warpgauge::kernels {

GridReduction::GridReduction()
    : sms_(sm_count()),
      storage_(zeroed<unsigned long long>(published_offset +
                                          std::size_t{sms_} * most_reduce_blocks_per_sm)) {}

}  // namespace warpgauge::kernels
