// SPDX-License-Identifier: Apache-2.0
#include "kernels/reduce/histogram_arguments.hpp"

#include <warpgauge/cuda/check.hpp>

namespace warpgauge::kernels {

__global__ __launch_bounds__(histogram_bins) void clear_bins_kernel(std::int32_t* bins) {
  bins[threadIdx.x] = 0;
}

void require_histogram(const char* launcher, std::size_t n, const Array& keys, const Array& bins) {
  require_at_most(launcher, n, 2'147'483'647);
  if (n > 0) {
    require_arrays(launcher, {keys});
  }
  require_arrays(launcher, {bins});
}

void clear_bins(std::int32_t* bins, cudaStream_t stream) {
  clear_bins_kernel<<<1, histogram_bins, 0, stream>>>(bins);
  WARPGAUGE_CHECK(cudaGetLastError());
}

}  // namespace warpgauge::kernels
