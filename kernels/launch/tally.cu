// SPDX-License-Identifier: Apache-2.0
// One addition to device memory: bound by the launch, and by one round trip to the L2.
#include "kernels/launch/tally.hpp"

#include <warpgauge/cuda/arguments.hpp>
#include <warpgauge/cuda/check.hpp>

namespace warpgauge::kernels {

__global__ void tally_kernel(unsigned long long* count, unsigned long long step) {
  *count += step;
}

void tally(unsigned long long* count, unsigned long long step, cudaStream_t stream) {
  require_pointer("tally", "count", count, alignof(unsigned long long));
  tally_kernel<<<1, 1, 0, stream>>>(count, step);
  WARPGAUGE_CHECK(cudaGetLastError());
}

}  // namespace warpgauge::kernels
