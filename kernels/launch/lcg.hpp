// SPDX-License-Identifier: Apache-2.0
// out[i] = f(f(... f(in[i]))), f(x) = 1664525 x + 1013904223 modulo 2^32, `rounds` times: as much
// arithmetic an element as is asked for, with a result that has a closed form.
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

// Both below: in and out (expected) are arrays of n elements on the device that do not overlap;
// integers stand for their 32 bits, in two's complement. Asynchronous on stream, can be captured
// into a graph. n = 0 does nothing. Throw std::invalid_argument for a null or misaligned pointer or
// an n past 256 * (2^31 - 1), std::runtime_error for a refused launch.

/// Round by round, one element a thread: a multiplication and an addition a round, each waiting for
/// the one before. Bound by integer arithmetic from some ten rounds on.
void lcg_rounds(const std::int32_t* in, std::int32_t* out, std::size_t n, unsigned rounds,
                cudaStream_t stream);

/// The same by Lcg::repeated(), which does not go through the rounds.
void lcg_reference(const std::int32_t* in, double* expected, std::size_t n, unsigned rounds,
                   cudaStream_t stream);

}  // namespace warpgauge::kernels
