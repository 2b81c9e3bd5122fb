// SPDX-License-Identifier: Apache-2.0
// One block: each thread sums a stride, then the block its threads. Bound by what one SM can load.
#include "kernels/arguments.hpp"
#include "kernels/launch_check.hpp"
#include "kernels/reduce.hpp"

namespace warpgauge::kernels {

inline constexpr unsigned sum_threads = 1024;
// Loads in flight a thread: 64 KiB an SM, which the latency of device memory (0.7 us) makes 90 GB/s
// of, most of the 64 bytes a cycle that an SM can take.
inline constexpr unsigned sum_loads = 16;

__global__ __launch_bounds__(sum_threads) void sum_reference_kernel(const float* __restrict__ in,
                                                                    double* __restrict__ expected,
                                                                    std::size_t n) {
  __shared__ double sums[sum_threads];
  double sum = 0;
  for (std::size_t first = threadIdx.x; first < n; first += std::size_t{sum_threads} * sum_loads) {
    float values[sum_loads];
#pragma unroll
    for (unsigned j = 0; j < sum_loads; ++j) {
      const std::size_t i = first + std::size_t{j} * sum_threads;
      values[j] = i < n ? in[i] : 0.0F;
    }
#pragma unroll
    for (unsigned j = 0; j < sum_loads; ++j) {
      sum += static_cast<double>(values[j]);
    }
  }
  sums[threadIdx.x] = sum;
  for (unsigned half = sum_threads / 2; half > 0; half /= 2) {
    __syncthreads();
    if (threadIdx.x < half) {
      sums[threadIdx.x] += sums[threadIdx.x + half];
    }
  }
  if (threadIdx.x == 0) {
    *expected = sums[0];
  }
}

void sum_reference(const float* in, double* expected, std::size_t n, cudaStream_t stream) {
  if (n > 0) {
    require_pointer("sum_reference", "in", in, alignof(float));
  }
  require_pointer("sum_reference", "expected", expected, alignof(double));
  sum_reference_kernel<<<1, sum_threads, 0, stream>>>(in, expected, n);
  check_launch("sum_reference");
}

}  // namespace warpgauge::kernels
