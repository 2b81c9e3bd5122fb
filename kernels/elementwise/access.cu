// SPDX-License-Identifier: Apache-2.0
// Copies whose reads do not match the memory's 32-byte sectors. Bound by the loads in flight, like
// the scalar copy; if a stride leaves most of each sector unused, by the sectors moved.
#include <limits>
#include <stdexcept>
#include <string>

#include "kernels/elementwise/launchers.hpp"
#include "kernels/launch_elements.cuh"

namespace warpgauge::kernels {

inline constexpr std::size_t cache_line_bytes = 128;

__global__ __launch_bounds__(block_threads) void copy_strided_kernel(const float* __restrict__ in,
                                                                     float* __restrict__ out,
                                                                     std::size_t n,
                                                                     std::size_t stride) {
  const std::size_t i = std::size_t{blockIdx.x} * block_threads + threadIdx.x;
  if (i < n) {
    out[i] = in[i * stride];
  }
}

__global__ __launch_bounds__(block_threads) void copy_misaligned_kernel(
    const float* __restrict__ in, float* __restrict__ out, std::size_t n) {
  const std::size_t i = std::size_t{blockIdx.x} * block_threads + threadIdx.x;
  if (i < n) {
    out[i] = in[i + 1];
  }
}

void require_stride(const char* launcher, std::size_t n, std::size_t stride) {
  if (n == 0) {
    return;
  }
  if (stride == 0) {
    throw std::invalid_argument(std::string(launcher) + ": the stride is 0");
  }
  require_at_most(launcher, n, std::numeric_limits<std::size_t>::max() / sizeof(float) / stride);
}

void copy_strided(const float* in, float* out, std::size_t n, std::size_t stride,
                  cudaStream_t stream) {
  require_stride("copy_strided", n, stride);
  launch_elements({"copy_strided", n, block_threads}, {{"in", in}, {"out", out}}, stream,
                  copy_strided_kernel, in, out, n, stride);
}

void copy_misaligned(const float* in, float* out, std::size_t n, cudaStream_t stream) {
  launch_elements({"copy_misaligned", n, block_threads},
                  {{"in", in, cache_line_bytes}, {"out", out}}, stream, copy_misaligned_kernel, in,
                  out, n);
}

}  // namespace warpgauge::kernels
