// SPDX-License-Identifier: Apache-2.0
// One block: each thread sums a stride, then the block its threads. Bound by what one SM can load.
#include "kernels/arguments.hpp"
#include "kernels/launch_check.hpp"
#include "kernels/reduce.hpp"

namespace warpgauge::kernels {

inline constexpr unsigned sum_threads = 1024;

__global__ __launch_bounds__(sum_threads) void sum_reference_kernel(const float* __restrict__ in,
                                                                    double* __restrict__ expected,
                                                                    std::size_t n) {
  __shared__ double sums[sum_threads];
  double sum = 0;
#pragma unroll 16  // as many loads in flight: one SM then reads about as fast as it can
  for (std::size_t i = threadIdx.x; i < n; i += sum_threads) {
    sum += static_cast<double>(in[i]);
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
