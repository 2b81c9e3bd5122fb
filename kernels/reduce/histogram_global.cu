// SPDX-License-Identifier: Apache-2.0
// One atomic addition per key, in device memory: the obvious first version. Bound by the L2's
// atomic units, or for equal keys by the one unit that has their bin.
#include "kernels/launch_elements.cuh"
#include "kernels/reduce/histogram_arguments.hpp"

namespace warpgauge::kernels {

inline constexpr unsigned histogram_threads = 256;

__global__ __launch_bounds__(histogram_threads) void histogram_global_kernel(
    const std::int32_t* __restrict__ keys, std::int32_t* __restrict__ bins, std::size_t n,
    BinOf bin_of) {
  const std::size_t i = std::size_t{blockIdx.x} * histogram_threads + threadIdx.x;
  if (i < n) {
    atomicAdd(bins + bin_of(keys[i]), 1);
  }
}

void histogram_global(const std::int32_t* keys, std::int32_t* bins, std::size_t n, BinOf bin_of,
                      cudaStream_t stream) {
  require_histogram("histogram_global", n, {"keys", keys}, {"bins", bins});
  clear_bins(bins, stream);
  launch_elements({"histogram_global", n, histogram_threads}, {}, stream, histogram_global_kernel,
                  keys, bins, n, bin_of);
}

}  // namespace warpgauge::kernels
