// SPDX-License-Identifier: Apache-2.0
// The operations of the family elementwise by name, and how far their results may lie from the
// exact ones.
#pragma once

#include <type_traits>

#include <warpgauge/cuda/elements.hpp>
#include "kernels/elementwise/elementwise.hpp"

namespace warpgauge {

/// As names of benchmarks have it.
template <class Op>
inline constexpr const char* operation_name = nullptr;
template <>
inline constexpr const char* operation_name<kernels::Copy> = "copy";
template <>
inline constexpr const char* operation_name<kernels::Scale> = "scale";
template <>
inline constexpr const char* operation_name<kernels::Square> = "square";
template <>
inline constexpr const char* operation_name<kernels::Pow2> = "pow";
template <>
inline constexpr const char* operation_name<kernels::Affine> = "affine";
template <>
inline constexpr const char* operation_name<kernels::Axpy> = "axpy";
template <>
inline constexpr const char* operation_name<kernels::Chain> = "chain_fused";
template <>
inline constexpr const char* operation_name<kernels::Gelu> = "gelu";
template <>
inline constexpr const char* operation_name<kernels::GeluTanh> = "gelu_tanh";

// How far a result in float may lie from the exact one, for |x| < 1.5: one rounding where nothing
// else is said. kernels/elementwise/elementwise_test.hpp derives the others.
inline constexpr double u = unit_roundoff<float>;
template <class Op>
inline constexpr Tolerance in_float{.relative = u};
template <>
inline constexpr Tolerance in_float<kernels::Copy>{};
template <>
inline constexpr Tolerance in_float<kernels::Pow2>{.relative = 8 * u};
template <>
inline constexpr Tolerance in_float<kernels::Chain>{.absolute = 4.5 * u};
template <>
inline constexpr Tolerance in_float<kernels::Gelu>{.absolute = 3 * u, .relative = 2 * u};
template <>
inline constexpr Tolerance in_float<kernels::GeluTanh> = in_float<kernels::Gelu>;
// a x and the sum; |a x| <= 0.75 * 1.5.
template <>
inline constexpr Tolerance in_float<kernels::Axpy>{.absolute = 1.125 * u, .relative = u};

/// That, and the rounding to Out, where there is one.
template <class Op, class In, class Out>
constexpr Tolerance tolerance() {
  constexpr bool exact =
      std::is_same_v<Out, float> || (std::is_same_v<Op, kernels::Copy> && std::is_same_v<In, Out>);
  constexpr double stored = exact ? 0 : unit_roundoff<Out>;
  return {.absolute = in_float<Op>.absolute * (1 + stored),
          .relative = in_float<Op>.relative * (1 + stored) + stored};
}

}  // namespace warpgauge
