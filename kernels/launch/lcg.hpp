// SPDX-License-Identifier: Apache-2.0
// out[i] = f(f(... f(in[i]))), f(x) = 1664525 x + 1013904223 modulo 2^32, `rounds` times: any
// amount of arithmetic per element, with a result in closed form.
#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>
#include <cstdint>

namespace warpgauge::kernels {

/// The generator (Knuth and Lewis, in Press et al. 1992, "Numerical Recipes in C", 7.1, "An Even
/// Quicker Generator").
struct Lcg {
  std::uint32_t multiplier = 1664525;
  std::uint32_t increment = 1013904223;

  /// `rounds` rounds in one: x * multiplier + increment is f applied that often.
  Lcg repeated(std::uint64_t rounds) const noexcept;
};

// Both below: in and out (expected) are device arrays of n elements that do not overlap; integers
// stand for their 32 bits, in two's complement. Asynchronous on stream; can be captured into a
// graph. n = 0 does nothing. Throw std::invalid_argument for a null or misaligned pointer or an n
// above 256 * (2^31 - 1), std::runtime_error for a refused launch.

/// Round by round, one element per thread. A round is a multiplication and an addition, and waits
/// for the one before. Bound by integer arithmetic from about ten rounds on.
void lcg_rounds(const std::int32_t* in, std::int32_t* out, std::size_t n, unsigned rounds,
                cudaStream_t stream);

/// The same by Lcg::repeated(), which does not loop over the rounds.
void lcg_reference(const std::int32_t* in, double* expected, std::size_t n, unsigned rounds,
                   cudaStream_t stream);

}  // namespace warpgauge::kernels
