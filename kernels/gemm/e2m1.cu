// SPDX-License-Identifier: Apache-2.0
// Numbers of 4 bits as e4m3, which holds them exactly: for the reference of their products. Bound
// by device memory; checks nothing but itself.
#include "kernels/gemm/cublaslt.hpp"
#include "kernels/launch_elements.cuh"

namespace warpgauge::kernels {

inline constexpr unsigned unpack_threads = 256;

/// e2m1 has a sign, two bits of exponent with bias 1, and one of the significand; e4m3 four with
/// bias 7, and three. The one subnormal number, 0.5, is normal in e4m3.
__device__ inline std::uint8_t e4m3_of(unsigned e2m1) {
  const unsigned sign = (e2m1 & 8U) << 4U;
  const unsigned rest = e2m1 & 7U;
  const unsigned magnitude = rest == 0 ? 0 : rest == 1 ? 6U << 3U : (rest << 2U) + (6U << 3U);
  return static_cast<std::uint8_t>(sign | magnitude);
}

__global__ __launch_bounds__(unpack_threads) void unpack_kernel(const E2m1Pair* pairs,
                                                                __nv_fp8_e4m3* numbers,
                                                                std::size_t count) {
  const std::size_t i = std::size_t{blockIdx.x} * unpack_threads + threadIdx.x;
  if (i < count) {
    numbers[2 * i].__x = e4m3_of(pairs[i].bits & 15U);
    numbers[2 * i + 1].__x = e4m3_of(pairs[i].bits >> 4U);
  }
}

void unpack(const E2m1Pair* pairs, __nv_fp8_e4m3* numbers, std::size_t pairs_count,
            cudaStream_t stream) {
  launch_elements({"unpack", pairs_count, unpack_threads}, {{"pairs", pairs}, {"numbers", numbers}},
                  stream, unpack_kernel, pairs, numbers, pairs_count);
}

}  // namespace warpgauge::kernels
