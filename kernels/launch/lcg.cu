// SPDX-License-Identifier: Apache-2.0
// One dependent chain per thread. With enough warps to hide its latency, the multipliers bound it.
#include "kernels/launch/lcg.hpp"

#include "kernels/launch_elements.cuh"

namespace warpgauge::kernels {

inline constexpr unsigned lcg_threads = 256;

Lcg Lcg::repeated(std::uint64_t rounds) const noexcept {
  // By squaring: two such functions, one after the other, are again such a function.
  const auto then = [](Lcg one, Lcg other) {
    return Lcg{one.multiplier * other.multiplier,
               one.increment * other.multiplier + other.increment};
  };
  Lcg result{1, 0};
  for (Lcg power = *this; rounds != 0; rounds /= 2, power = then(power, power)) {
    if (rounds % 2 != 0) {
      result = then(result, power);
    }
  }
  return result;
}

__global__ __launch_bounds__(lcg_threads) void lcg_rounds_kernel(
    const std::int32_t* __restrict__ in, std::int32_t* __restrict__ out, std::size_t n,
    unsigned rounds, Lcg one) {
  const std::size_t i = std::size_t{blockIdx.x} * lcg_threads + threadIdx.x;
  if (i >= n) {
    return;
  }
  auto x = static_cast<std::uint32_t>(in[i]);
#pragma unroll 16
  for (unsigned round = 0; round < rounds; ++round) {
    x = x * one.multiplier + one.increment;
  }
  out[i] = static_cast<std::int32_t>(x);
}

__global__ __launch_bounds__(lcg_threads) void lcg_reference_kernel(
    const std::int32_t* __restrict__ in, double* __restrict__ expected, std::size_t n, Lcg all) {
  const std::size_t i = std::size_t{blockIdx.x} * lcg_threads + threadIdx.x;
  if (i < n) {
    const std::uint32_t x = static_cast<std::uint32_t>(in[i]) * all.multiplier + all.increment;
    expected[i] = static_cast<double>(static_cast<std::int32_t>(x));
  }
}

void lcg_rounds(const std::int32_t* in, std::int32_t* out, std::size_t n, unsigned rounds,
                cudaStream_t stream) {
  launch_elements({"lcg_rounds", n, lcg_threads}, {{"in", in}, {"out", out}}, stream,
                  lcg_rounds_kernel, in, out, n, rounds, Lcg{});
}

void lcg_reference(const std::int32_t* in, double* expected, std::size_t n, unsigned rounds,
                   cudaStream_t stream) {
  launch_elements({"lcg_reference", n, lcg_threads}, {{"in", in}, {"expected", expected}}, stream,
                  lcg_reference_kernel, in, expected, n, Lcg{}.repeated(rounds));
}

}  // namespace warpgauge::kernels
