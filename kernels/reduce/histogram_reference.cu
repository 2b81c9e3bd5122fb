// SPDX-License-Identifier: Apache-2.0
// No atomics: one block per bin reads all keys, each thread counts its own, and a tree adds them.
#include <warpgauge/cuda/check.hpp>
#include "kernels/reduce/histogram_arguments.hpp"

namespace warpgauge::kernels {

inline constexpr unsigned histogram_reference_threads = 1024;

__global__ __launch_bounds__(histogram_reference_threads) void histogram_reference_kernel(
    const std::int32_t* __restrict__ keys, double* __restrict__ expected, std::size_t n,
    BinOf bin_of) {
  __shared__ unsigned counts[histogram_reference_threads];
  unsigned count = 0;
#pragma unroll 8
  for (std::size_t i = threadIdx.x; i < n; i += histogram_reference_threads) {
    count += bin_of(keys[i]) == blockIdx.x ? 1U : 0U;
  }
  counts[threadIdx.x] = count;
  for (unsigned half = histogram_reference_threads / 2; half > 0; half /= 2) {
    __syncthreads();
    if (threadIdx.x < half) {
      counts[threadIdx.x] += counts[threadIdx.x + half];
    }
  }
  if (threadIdx.x == 0) {
    expected[blockIdx.x] = static_cast<double>(counts[0]);
  }
}

void histogram_reference(const std::int32_t* keys, double* expected, std::size_t n, BinOf bin_of,
                         cudaStream_t stream) {
  require_histogram("histogram_reference", n, {"keys", keys}, {"expected", expected});
  histogram_reference_kernel<<<histogram_bins, histogram_reference_threads, 0, stream>>>(
      keys, expected, n, bin_of);
  WARPGAUGE_CHECK(cudaGetLastError());
}

}  // namespace warpgauge::kernels
